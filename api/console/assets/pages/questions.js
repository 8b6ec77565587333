/** Standing questions: ask to be told, see how deliveries go, and mend them. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { confirmAction, secretDialog } from "../parts/dialogs.js";
import { actionForm, button, field, submit } from "../parts/forms.js";
import { panel } from "../parts/panel.js";
import { badge, empty } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";

const TONES = { active: "good", paused: "plain", failing: "warn", stopped: "bad" };
const LONGEST = { query: "1000", url: "2048" };

export async function questions(view) {
  const { questions: rows } = await view.api.get(path("ns", view.namespace, "explain", "questions"), {}, view.signal);
  if (!view.rights.writes(view.namespace)) return [listed(view, rows)];
  const ask = panel("Ask a question", () => askForm(view), { primary: true, symbol: "plus" });
  view.head("Standing questions", ask.button);
  return [ask.node, listed(view, rows)];
}

function listed(view, rows) {
  if (rows.length === 0) return empty("No standing questions", "Ask one, and a webhook tells your application when a new memory answers it.");
  return table(
    plural(rows.length, "standing question"),
    [
      { name: "Question", align: "free", show: (row) => el("bdi", {}, row.query) },
      { name: "Receiver", align: "free", show: (row) => el("code", {}, row.url) },
      { name: "State", align: "free", show: state },
      ...(view.rights.writes(view.namespace) ? [{ name: "Actions", show: (row) => choices(view, row) }] : []),
    ],
    rows,
  );
}

function state({ status, error, retryAt, delivered, deliveredAt, waiting, deadLetters }) {
  return el(
    "div",
    {},
    badge(status, TONES[status]),
    ` ${plural(delivered, "delivery", "deliveries")}`,
    deliveredAt ? [", the last ", time(deliveredAt)] : null,
    waiting > 0 ? `, ${waiting} waiting` : null,
    error ? el("p.muted", {}, error, retryAt ? [" Next attempt ", time(retryAt), "."] : null) : null,
    deadLetters.length > 0 ? el("p.muted", {}, `${plural(deadLetters.length, "dead letter")}: ${deadLetters.at(-1).error}`) : null,
  );
}

function choices(view, row) {
  const at = path("ns", view.namespace, "explain", "questions", row.id);
  const act = (work, said) => () =>
    view.app.attempt(async () => {
      await work();
      await view.app.show();
      return said;
    });
  const remove = async () => {
    const sure = await confirmAction("Delete this question?", "Its receiver gets no more notifications, and waiting ones are dropped.", "Delete");
    if (sure) await act(() => view.api.delete(at), "Question deleted.")();
  };
  const label = (word) => ({ "aria-label": `${word}: ${row.query}` });
  const letters = (action, said) => act(() => view.api.post(`${at}/dead-letters`, { action }), said);
  return el(
    "div.row",
    {},
    button("Test", () => test(view, at), label("Test")),
    row.status === "paused"
      ? button("Resume", act(() => view.api.patch(at, { paused: false })), label("Resume"))
      : button("Pause", act(() => view.api.patch(at, { paused: true })), label("Pause")),
    row.deadLetters.length > 0
      ? [
          button("Send again", letters("redeliver", "Sending again."), label("Send again")),
          button("Discard", letters("discard", "Discarded."), label("Discard")),
        ]
      : null,
    button("Delete", remove, { class: "danger", ...label("Delete") }),
  );
}

function test(view, at) {
  return view.app.attempt(async () => {
    const { delivered, error } = await view.api.post(`${at}/test`);
    return delivered ? "The receiver took the test." : `Not delivered. ${error}`;
  });
}

function askForm(view) {
  const query = el("input", { type: "text", required: true, maxlength: LONGEST.query, dir: "auto", autocomplete: "off" });
  const url = el("input", { type: "url", required: true, maxlength: LONGEST.url, autocomplete: "off", placeholder: "https://" });
  const ask = async () => {
    const { secret } = await view.api.post(path("ns", view.namespace, "explain", "questions"), { query: query.value, url: url.value });
    await secretDialog("Keep this secret", "Deliveries are signed with it, and it is shown only now.", secret);
    await view.app.show();
  };
  return actionForm(ask, { class: "stack" }, field("Question", query, "As you would search for it."), field("Receiver", url, "It gets a signed POST for each new memory that answers."), submit("Ask"));
}
