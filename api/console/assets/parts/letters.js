/** Dead letters: records that could not be handled. Looking at them, handing them back, letting go of them. */

import { el } from "../dom.js";
import { bytes, number, plural, time } from "../format.js";
import { ask, sure } from "./dialogs.js";
import { button } from "./forms.js";
import { failure, loading } from "./states.js";
import { table } from "./tables.js";

/** `counts`: by topic; `act` does something and looks again. */
export function letters(view, rows, counts, act) {
  const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
  if (count === 0) return el("section", {}, el("h2", {}, "Dead letters"), el("p.muted", {}, "There are none: every record could be handled."));
  const { api } = view;
  const columns = [
    { name: "Record", show: (row) => el("code", {}, breakable(row.id)) },
    { name: "Stage", show: (row) => row.stage },
    { name: "Why", show: (row) => row.error },
    { name: "Attempts", align: "number", show: (row) => number(row.attempts) },
    { name: "Parked", show: (row) => time(row.parkedAt) },
    { name: "Do", show: (row) => choices(api, row, act) },
  ];
  const all = () => act(async () => `${plural((await api.post("admin/dlq/replay")).replayed, "record")} handed back.`);
  return el(
    "section",
    {},
    el("h2", {}, "Dead letters"),
    el("div.row", {}, button("Hand all back", all, { id: "letters-all" })),
    table(`${plural(count, "record")} could not be handled`, columns, rows),
  );
}

function choices(api, row, act) {
  const query = { id: row.id };
  const back = () => act(async () => `${plural((await api.post("admin/dlq/replay", undefined, query)).replayed, "record")} handed back.`);
  const drop = async () => {
    const text = "What it says is not handled any more. This cannot be undone.";
    if (!(await sure(`Let go of ${row.id}?`, text, "Let go"))) return;
    await act(async () => `${plural((await api.delete("admin/dlq", { query })).dropped, "record")} let go of.`);
  };
  return el("div.row", {}, [
    button("Look", () => show(api, row.id), { id: `look-${row.id}`, "aria-label": `Look at ${row.id}` }),
    button("Hand back", back, { id: `back-${row.id}`, "aria-label": `Hand back ${row.id}` }),
    button("Let go", drop, { id: `drop-${row.id}`, "aria-label": `Let go of ${row.id}`, class: "danger" }),
  ]);
}

/** All of one. */
function show(api, id) {
  return ask("Dead letter", (close) => {
    const place = el("div", {}, loading("the record"));
    api.get("admin/dlq/letter", { id }).then(
      (letter) => place.replaceChildren(...all(letter)),
      (error) => place.replaceChildren(failure(error)),
    );
    return [place, el("div.actions", {}, button("Close", () => close(null), { autofocus: true }))];
  });
}

function all({ id, stage, error, errorType, key, headers, size, encoding, payload }) {
  const facts = [["Record", id], ["Stage", stage], ["Why", `${error} (${errorType})`], ["Key", key], ["Size", bytes(size)], ...Object.entries(headers)];
  return [
    el("dl.facts", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("h3", {}, encoding === "utf-8" ? "What it holds" : "What it holds, in base64"),
    el("pre.document", { tabindex: "0" }, indented(payload)),
  ];
}

/** May be broken where its parts end, rather than within a word. */
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
