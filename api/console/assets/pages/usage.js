/** Monthly usage and quotas of keys. */

import { el } from "../dom.js";
import { number } from "../format.js";
import { field, form } from "../parts/forms.js";
import { empty } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";

export async function usage({ app, api, query, signal }) {
  const shown = await api.get("admin/usage", { month: query.get("month") }, signal);
  return [choice(app, shown.month), total(shown), shown.keys.length === 0 ? nothing(shown.month) : byKey(shown)];
}

function choice(app, month) {
  const input = el("input", { type: "month", value: month, required: true, pattern: "[0-9]{4}-[0-9]{2}", "data-find": true });
  return form(() => app.go(["usage"], { month: input.value }), { class: "row" }, field("Month (UTC)", input), el("button", { type: "submit" }, "Show"));
}

function total({ documents, searches }) {
  const rows = [["Documents", documents], ["Searches", searches]].filter(([, used]) => used !== null);
  if (rows.length === 0) return null;
  return el("dl.tiles", {}, rows.map(([name, used]) => el("div", {}, el("dt", {}, name), el("dd", {}, meter(name, used)))));
}

function nothing(month) {
  return empty("No usage", `No key within the scope of yours asked for anything in ${month}.`);
}

function byKey({ keys, month }) {
  const columns = [
    { name: "Key", show: (row) => [row.name, ...budgets(row)] },
    { name: "Documents", show: (row) => meter(`Documents of ${row.name}`, row.documents) },
    { name: "Searches", show: (row) => meter(`Searches of ${row.name}`, row.searches) },
    { name: "Requests per minute", align: "number", show: (row) => (row.rateLimit === null ? "no limit" : number(row.rateLimit)) },
    { name: "Id", show: (row) => el("code", {}, row.id) },
  ];
  return table(`In ${month}, by key`, columns, keys);
}

/** What a key added and was answered, as far as it has a budget of it. */
function budgets({ bytes, tokens }) {
  const named = [["bytes", bytes], ["tokens", tokens]].filter(([, { limit }]) => limit !== null);
  return named.map(([unit, { used, limit }]) => el("div", {}, `${number(used)} of ${number(limit)} ${unit}`));
}

/** Usage as a number and a share of the quota. */
function meter(name, { used, limit }) {
  if (limit === null) return number(used);
  const share = el("meter", { min: "0", max: String(Math.max(1, limit)), value: String(used), high: String(limit * 0.9), "aria-label": name });
  return [`${number(used)} of ${number(limit)} `, share];
}
