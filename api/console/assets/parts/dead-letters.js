/** Dead letters: list, view, redrive, drop. */

import { el } from "../dom.js";
import { bytes, number, plural, time } from "../format.js";
import { showDialog, confirmAction } from "./dialogs.js";
import { button } from "./forms.js";
import { failure, loading } from "./placeholders.js";
import { table } from "./tables.js";

/** The section of dead letters. `counts`: by topic; `act` runs an action and refreshes the page. */
export function deadLetters(view, rows, counts, act) {
  const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
  if (count === 0) return el("section", {}, el("h2", {}, "Dead letters"), el("p.muted", {}, "No dead letters."));
  const { api } = view;
  const columns = [
    { name: "Record", show: (row) => el("code", {}, breakable(row.id)) },
    { name: "Stage", show: (row) => row.stage },
    { name: "Error", show: (row) => row.error },
    { name: "Attempts", align: "number", show: (row) => number(row.attempts) },
    { name: "Set aside", show: (row) => time(row.deadLetteredAt) },
    { name: "Actions", show: (row) => choices(api, row, act) },
  ];
  const all = () => act(async () => `${plural((await api.post("admin/dlq/redrive")).redriven, "record")} retried.`);
  return el(
    "section",
    {},
    el("h2", {}, "Dead letters"),
    el("p.muted", {}, "Records that could not be processed are kept here. Remove the cause, then retry them."),
    el("div.row", {}, button("Retry all", all)),
    table(`${plural(count, "record")} in the dead-letter queue`, columns, rows),
  );
}

function choices(api, row, act) {
  const query = { id: row.id };
  const back = () => act(async () => `${plural((await api.post("admin/dlq/redrive", undefined, query)).redriven, "record")} retried.`);
  const drop = async () => {
    const text = "The record will not be processed. This cannot be undone.";
    if (!(await confirmAction(`Drop ${row.id}?`, text, "Drop"))) return;
    await act(async () => `${plural((await api.delete("admin/dlq", { query })).dropped, "record")} dropped.`);
  };
  return el("div.row", {}, [
    button("View", () => show(api, row.id), { "aria-label": `View ${row.id}` }),
    button("Retry", back, { "aria-label": `Retry ${row.id}` }),
    button("Drop", drop, { id: `drop-${row.id}`, "aria-label": `Drop ${row.id}`, class: "danger" }),
  ]);
}

/** Show a dead letter with headers and payload. */
function show(api, id) {
  return showDialog("Dead letter", (close) => {
    const place = el("div", {}, loading("the record"));
    api.get("admin/dlq/record", { id }).then(
      (letter) => place.replaceChildren(...all(letter)),
      (error) => place.replaceChildren(failure(error)),
    );
    return [place, el("div.actions", {}, button("Close", () => close(null), { autofocus: true }))];
  });
}

function all({ id, stage, error, errorType, key, headers, size, encoding, payload }) {
  const facts = [["Record", id], ["Stage", stage], ["Error", `${error} (${errorType})`], ["Key", key], ["Size", bytes(size)], ...Object.entries(headers)];
  return [
    el("dl.facts", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h3", {}, encoding === "utf-8" ? "Payload" : "Payload (base64)"),
    el("pre.document", { tabindex: "0" }, indented(payload)),
  ];
}

/** Allow line breaks between the parts of an id. */
function breakable(id) {
  return id.split(/(?<=[./])/).flatMap((part) => [part, el("wbr")]);
}

function indented(payload) {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
