/** Namespaces of the key, with counts. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { number, time } from "../format.js";
import { field, form } from "../parts/forms.js";
import { panel } from "../parts/panel.js";
import { empty } from "../parts/placeholders.js";
import { barChart } from "../parts/bar-chart.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 20;
const DAYS = 30;

export async function namespaces({ app, api, rights, head, query, signal }) {
  const wanted = query.get("q") ?? "";
  const answer = await api.get("ns", { q: wanted, page: query.get("page") ?? 1, limit: PER_PAGE }, signal);
  const rows = answer.namespaces;
  const isEmpty = answer.pagination.totalItems === 0;
  if (isEmpty && wanted === "") return [beginning(app)];
  const names = rows.map((row) => row.namespace);
  const growth = names.length > 0 ? await api.get("admin/growth", { namespace: names, days: DAYS }, signal) : { namespaces: [] };
  const create = !rights.writer ? null : panel("Create a namespace", () => opener(app), { primary: true, symbol: "plus" });
  head("Namespaces", create?.button);
  return [
    create?.node,
    finder(app, wanted),
    isEmpty
      ? empty("No matching namespace", `None that your key opens has “${wanted}” in its name.`)
      : listed(rows, growth),
    pager(answer.pagination, (page) => to(["namespaces"], { q: wanted, page })),
  ];
}

function finder(app, wanted) {
  const input = el("input", { type: "search", value: wanted, maxlength: "100", "data-find": true, name: "q" });
  return form(() => app.go(["namespaces"], { q: input.value.trim() }), { role: "search", class: "row" }, field("Find a namespace", input), el("button", { type: "submit" }, "Find"));
}

function listed(rows, growth) {
  const grown = new Map(growth.namespaces.map((one) => [one.namespace, one]));
  return table(
    "Namespaces, newest first",
    [
      { name: "Namespace", show: (row) => el("a", { href: to(["ns", row.namespace, "search"]) }, row.namespace) },
      { name: "Documents", align: "number", show: (row) => number(row.documentCount) },
      { name: "Memories", align: "number", show: (row) => number(row.memoryCount) },
      { name: `Last ${DAYS} days`, show: (row) => added(grown.get(row.namespace)) },
      { name: "Created", show: (row) => time(row.system.createdAt) },
    ],
    rows,
  );
}

/** Documents added per day. */
function added(growth) {
  const documents = growth?.documents ?? [];
  const sum = documents.reduce((all, one) => all + one, 0);
  return sum === 0 ? el("span.muted", {}, "nothing new") : [barChart(documents), ` +${number(sum)}`];
}

function opener(app) {
  const name = el("input", { required: true, maxlength: "100", pattern: "[a-zA-Z0-9_:\\-]+", autocomplete: "off", spellcheck: "false" });
  return form(
    () => app.go(["ns", name.value, "documents"]),
    { class: "row" },
    field("Name", name, "Letters, digits, _ : and -. It exists from its first document on."),
    el("button.primary", { type: "submit" }, "Create"),
  );
}

function beginning(app) {
  if (!app.rights.writer) return empty("Nothing to see yet", "No namespace that your key opens has content.");
  return empty("No namespaces yet", "A namespace holds the documents and memories of one person, team or project. Name one, then add a text, a file or a URL.", opener(app));
}
