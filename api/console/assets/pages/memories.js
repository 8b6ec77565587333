/** The memories of a namespace, by meaning, state, kind, source and time; correcting and forgetting them. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { icon } from "../icons.js";
import { correctionButtons } from "../parts/corrections.js";
import { forgetMemories } from "../parts/forget-dialog.js";
import { actionForm, button, field, form, select, submit } from "../parts/forms.js";
import { memoryBadges } from "../parts/memory-badges.js";
import { panel } from "../parts/panel.js";
import { empty, noContent } from "../parts/placeholders.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const FOUND = 50;
/** Low, because a list is looked through: what is about it only in part is shown below. */
const LEAST_SIMILARITY = 0.1;
/** Documents offered as sources. */
const SOURCES = 100;
const FILTERS = ["state", "kind", "document", "since", "until"];
const STATES = { "": "Current", replaced: "Replaced", forgotten: "Forgotten or ended", all: "All" };
const KINDS = { "": "All kinds", "long-term": "Long-term", recent: "Recent", stated: "Stated in a document", inferred: "Inferred from others" };

export async function memories(view) {
  const { app, api, rights, namespace, query, signal, head } = view;
  const chosen = { q: query.get("q") ?? "", ...Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""])) };
  const [found, sources] = await Promise.all([
    chosen.q === "" ? listPage(api, namespace, chosen, query.get("page") ?? 1, signal) : similar(api, namespace, chosen, signal),
    api.post(path("ns", namespace, "list", "documents"), { include: { memoryCount: false } }, { limit: SOURCES }, signal),
  ]);
  const isFiltered = FILTERS.some((name) => chosen[name] !== "");
  const filters = panel("Filter", filterForm(app, namespace, chosen, sources.documents), { open: isFiltered });
  const forget = rights.forgets(namespace) ? panel("Forget by description", () => forgetting(view)) : null;
  head("Memories", filters.button, forget?.button);
  const address = (page) => to(["ns", namespace, "memories"], { ...chosen, page });
  return [
    forget?.node,
    filters.node,
    finder(app, namespace, chosen),
    (found.pagination?.totalItems ?? found.memories.length) > 0 ? listed(found, view, chosen.q) : isFiltered || chosen.q !== "" ? noMatch(namespace, chosen.q) : nothing(view),
    found.pagination ? pager(found.pagination, address) : null,
  ];
}

/** Without a state, the current memories. */
function listPage(api, namespace, { state, kind, document, since, until }, page, signal) {
  const wanted = { state: state === "all" ? null : state || "current", kind, document, since: midnight(since), until: midnight(until, 1) };
  return api.get(path("ns", namespace, "explain", "memories"), { ...wanted, page, limit: PER_PAGE }, signal);
}

/** The beginning of a local day, or of the one so many days later. */
function midnight(day, later = 0) {
  if (!day) return null;
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return at.toISOString();
}

/** The memories that a search finds, most similar first. */
async function similar(api, namespace, chosen, signal) {
  const forgotten = ["all", "forgotten"].includes(chosen.state);
  const body = { query: chosen.q, searchMode: "memories", limit: FOUND, threshold: LEAST_SIMILARITY, include: { forgotten, documents: true } };
  const { results } = await api.post(path("ns", namespace, "search"), body, undefined, signal);
  // A search never finds what was replaced: what is not current was forgotten.
  return { memories: results.map((row) => ({ ...row, isForgotten: !row.isLatest })).filter((row) => matches(row, chosen)) };
}

function matches(row, { state, kind, document, since, until }) {
  const at = row.system.updatedAt;
  const kinds = { "long-term": row.isStatic, recent: !row.isStatic, inferred: row.isInference, stated: !row.isInference };
  return (
    (state !== "forgotten" || row.isForgotten) && state !== "replaced" &&
    (!kind || kinds[kind]) &&
    (!document || row.included?.document?.id === document) &&
    (!since || at >= midnight(since)) &&
    (!until || at < midnight(until, 1))
  );
}

function finder(app, namespace, chosen) {
  const input = el("input", { type: "search", value: chosen.q, maxlength: "2000", "data-find": true, autocomplete: "off", dir: "auto", placeholder: "In your own words" });
  const show = () => app.go(["ns", namespace, "memories"], { ...chosen, q: input.value.trim() });
  return form(show, { role: "search", class: "row" }, field("Find memories about", input), el("button", { type: "submit" }, icon("search"), "Find"));
}

function filterForm(app, namespace, chosen, documents) {
  const controls = {
    state: select(STATES, chosen.state),
    kind: select(KINDS, chosen.kind),
    document: select({ "": "All documents", ...Object.fromEntries(documents.map((row) => [row.id, row.title ?? row.id])) }, chosen.document),
    since: el("input", { type: "date", value: chosen.since }),
    until: el("input", { type: "date", value: chosen.until }),
  };
  const show = () => app.go(["ns", namespace, "memories"], { q: chosen.q, ...Object.fromEntries(FILTERS.map((name) => [name, controls[name].value])) });
  for (const control of Object.values(controls)) control.addEventListener("change", show);
  const clear = button("Clear", () => app.go(["ns", namespace, "memories"], { q: chosen.q }));
  return el(
    "div.row",
    {},
    field("State", controls.state),
    field("Kind", controls.kind),
    field("Source", controls.document),
    field("From", controls.since),
    field("To", controls.until),
    FILTERS.some((name) => chosen[name] !== "") ? clear : null,
  );
}

function noMatch(namespace, wanted) {
  const all = el("a.button", { href: to(["ns", namespace, "memories"]) }, "Show all");
  return empty("No matching memory", wanted === "" ? "No memory matches the filter." : `No memory that matches is about “${wanted}”.`, all);
}

function nothing(view) {
  return noContent(
    view,
    "No memories yet",
    "Memories are formed from documents, when the namespace has been quiet for a while: mostly from what people say about themselves, unless a language model is configured.",
  );
}

function listed({ memories: rows, pagination, isComplete }, view, wanted) {
  const { app, namespace, rights } = view;
  const columns = [
    { name: "Memory", show: (row) => el("a", { href: to(["ns", namespace, "memories", row.id]), dir: "auto" }, row.memory) },
    { name: "State", align: "whole", show: (row) => memoryBadges(row) },
    { name: "Version", align: "number", show: (row) => String(row.version ?? "") },
    { name: "Changed", show: (row) => time(row.system.updatedAt) },
  ];
  if (rights.corrects(namespace)) columns.push({ name: "Actions", show: (row) => el("details.menu-of-row", {}, el("summary", { "aria-label": `Correct ${row.memory}` }, "Correct"), el("div.row", {}, correctionButtons(view, row, () => app.show()))) });
  const newest = isComplete === false ? " among the newest" : "";
  const title = pagination ? `${plural(pagination.totalItems, "memory", "memories")}${newest}` : `${plural(rows.length, "memory", "memories")} about “${wanted}”, most similar first`;
  return table(title, columns, rows);
}

function forgetting(view) {
  const { app, api, namespace } = view;
  const query = el("input", { required: true, maxlength: "2000", autocomplete: "off" });
  const look = async () => {
    const { matches } = await api.delete(path("ns", namespace, "memories", "semantic"), { body: { query: query.value, dryRun: true } });
    if (matches.length === 0) app.say("No matching memories.");
    else if (await forgetMemories(view, matches)) await app.show();
  };
  return actionForm(look, { class: "row" }, field("What to forget", query, "Describe it. You see the matches before anything is forgotten."), submit("Preview", {}));
}
