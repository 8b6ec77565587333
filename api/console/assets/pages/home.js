/** Home: what came in, what needs attention, what is new; first steps while there is nothing. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { day, number, plural, time } from "../format.js";
import { icon } from "../icons.js";
import { barChart } from "../parts/bar-chart.js";
import { card } from "../parts/cards.js";
import { NAMES } from "../parts/connect-source.js";
import { firstSteps } from "../parts/first-steps.js";
import { field, form, select } from "../parts/forms.js";
import { badge, empty } from "../parts/placeholders.js";
import { runOutcome } from "../parts/sync-run.js";
import { table } from "../parts/tables.js";

const NAMESPACES = 50;
const DAYS = 30;
const SOURCES = 5;
const ACTIVE = 4;
const NEW_MEMORIES = 8;
const CHART = { width: 360, height: 56 };

export async function home(view) {
  const { app, api, rights, signal } = view;
  const { namespaces, pagination } = await api.get("ns", { limit: NAMESPACES }, signal);
  if (namespaces.length === 0) return [rights.writer ? firstSteps(view) : nothing()];
  const names = namespaces.map((row) => row.namespace);
  const growth = await api.get("admin/growth", { namespace: names, days: DAYS }, signal);
  const [status, sources, memories] = await Promise.all([
    rights.operator ? api.get("admin/status", {}, signal) : null,
    api.get("connectors", { limit: SOURCES }, signal),
    newMemories(view, mostActive(growth)),
  ]);
  return [
    asking(app, names),
    amounts(namespaces, pagination, growth),
    el(
      "div.two",
      {},
      newest(memories, names.length > 1),
      el("div.stack", {}, status ? attention(status) : null, cameIn(growth), status ? speed(status.searches) : null),
    ),
    sources.connectors.length > 0 ? connected(sources) : null,
  ];
}

function nothing() {
  return empty("Nothing to see yet", "No namespace that your key opens has content.");
}

/** A question about one of the namespaces, answered on its search page. */
function asking(app, names) {
  const question = el("input", { type: "search", required: true, "data-find": true, autocomplete: "off", dir: "auto", placeholder: "Where do I live?" });
  const place = select(Object.fromEntries(names.map((name) => [name, name])), app.namespace ?? names[0]);
  const choice = field("In namespace", place);
  choice.classList.add("short");
  return el(
    "div.card.hero",
    {},
    form(
      () => app.go(["ns", place.value, "search"], { q: question.value }),
      { role: "search", class: "row" },
      field("Ask what is remembered", question),
      choice,
      el("button.primary", { type: "submit" }, icon("search"), "Search"),
    ),
  );
}

function amounts(rows, pagination, growth) {
  const sum = (pick) => rows.reduce((all, row) => all + pick(row), 0);
  const today = (kind) => growth.namespaces.reduce((all, row) => all + row[kind].at(-1), 0);
  const partly = pagination.totalItems > rows.length ? ` in the newest ${number(rows.length)}` : "";
  const tiles = [
    [`Documents${partly}`, number(sum((row) => row.documentCount)), `${number(today("documents"))} new today`],
    [`Memories${partly}`, number(sum((row) => row.memoryCount)), `${number(today("memories"))} formed today`],
    ["Namespaces", el("a", { href: to(["namespaces"]) }, number(pagination.totalItems)), null],
  ];
  return el("dl.tiles.wide", {}, tiles.map(([name, value, note]) => el("div", {}, el("dt", {}, name), el("dd", {}, value, note ? el("small.muted", {}, ` ${note}`) : null))));
}

function cameIn(growth) {
  const chart = (kind) => {
    const days = growth.days.map((_, at) => growth.namespaces.reduce((all, row) => all + row[kind][at], 0));
    const all = days.reduce((sum, count) => sum + count, 0);
    return [el("h3", {}, kind === "documents" ? `${plural(all, "document")} came in` : `${plural(all, "memory", "memories")} were formed`), barChart(days, { ...CHART, labels: growth.days })];
  };
  const axis = el("p.axis.muted", {}, el("span", {}, day(growth.days[0])), el("span", {}, "today (UTC)"));
  return card(`The last ${DAYS} days`, ["documents", "memories"].map(chart).concat(axis), { class: "card chart" });
}

function speed({ count, median, p99, bounds, byBucket }) {
  const used = byBucket.findLastIndex((searches) => searches > 0) + 1;
  const heading = "Search speed";
  if (count === 0) return card(heading, el("p.muted", {}, "No search since the service started."), { class: "card chart" });
  const labels = bounds.map((bound) => `up to ${number(bound)} ms`).concat(`over ${number(bounds.at(-1))} ms`);
  return card(
    heading,
    [
      el("h3", {}, `${plural(count, "search", "searches")} since the start: half within ${within(median, bounds)}, 99 % within ${within(p99, bounds)}`),
      barChart(byBucket.slice(0, used), { ...CHART, labels }),
      el("p.axis.muted", {}, el("span", {}, labels[0]), el("span", {}, labels[used - 1])),
    ],
    { class: "card chart" },
  );
}

/** A quantile at the last bound lies somewhere above it. */
function within(milliseconds, bounds) {
  return milliseconds === bounds.at(-1) ? `more than ${number(milliseconds)} ms` : `${number(milliseconds)} ms`;
}

/** What waits and what failed, with the way to mend it. */
function attention({ documents, stages, failures, delayedCount, deadLetters, healthIssues }) {
  const behind = stages.reduce((sum, row) => sum + row.lag, 0);
  const letters = Object.values(deadLetters).reduce((sum, count) => sum + count, 0);
  const items = [
    ...healthIssues.map(({ part, reason }) => [badge("not ready", "bad"), ` ${part}: ${reason}`]),
    ...failures.map((row) => [badge("failed", "bad"), " ", el("a", { href: to(["ns", row.namespace, "documents", row.id]) }, el("bdi", {}, row.title ?? row.id)), ` in ${row.namespace}: ${row.error}`]),
    documents.failed > failures.length ? [badge("failed", "bad"), ` ${plural(documents.failed, "document")} in all, the newest above. `, el("a", { href: to(["pipeline"]) }, "Show")] : null,
    letters > 0 ? [badge("dead letters", "bad"), ` ${plural(letters, "record")} could not be processed. `, el("a", { href: to(["pipeline"]) }, "Look and retry")] : null,
    delayedCount > 0 ? [badge("delayed", "warn"), ` Memories of ${plural(delayedCount, "document")} wait for the language model. `, el("a", { href: to(["pipeline"]) }, "Why")] : null,
    behind > 0 ? [badge("working", "warn"), ` ${plural(behind, "record")} waiting in the pipeline. `, el("a", { href: to(["pipeline"]) }, "Show")] : null,
  ].filter(Boolean);
  return card(
    "Needs attention",
    items.length === 0 ? el("p", {}, badge("all well", "good"), " Nothing waits and nothing has failed.") : el("ul.plain.passages", {}, items.map((item) => el("li", {}, item))),
  );
}

/** The namespaces with the latest new memories. */
function mostActive(growth) {
  const last = (row) => row.memories.findLastIndex((count) => count > 0);
  return growth.namespaces.filter((row) => last(row) >= 0).sort((left, right) => last(right) - last(left)).slice(0, ACTIVE).map((row) => row.namespace);
}

async function newMemories({ api, signal }, names) {
  const lists = names.map(async (namespace) => {
    const { memories } = await api.post(path("ns", namespace, "list", "memories"), {}, { limit: NEW_MEMORIES }, signal);
    return memories.map((row) => ({ ...row, namespace }));
  });
  const rows = (await Promise.all(lists)).flat();
  return rows.sort((left, right) => right.system.updatedAt.localeCompare(left.system.updatedAt)).slice(0, NEW_MEMORIES);
}

/** `areSeveral`: memories of several namespaces are named with theirs. */
function newest(memories, areSeveral) {
  if (memories.length === 0) return card("New memories", el("p.muted", {}, "None yet. They are formed from documents when a namespace has been quiet for a while."));
  const rows = memories.map((row) =>
    el("li", {}, el("span", {}, el("a", { href: to(["ns", row.namespace, "memories", row.id]), dir: "auto" }, row.memory), areSeveral ? [" ", el("span.muted", {}, row.namespace)] : null), time(row.system.updatedAt)),
  );
  return card("New memories", el("ul.list", {}, rows), { link: el("a", { href: to(["ns", memories[0].namespace, "memories"]) }, areSeveral ? `All of ${memories[0].namespace}` : "All") });
}

function connected({ connectors: rows, pagination }) {
  const columns = [
    { name: "Source", show: (row) => el("a", { href: to(["ns", row.namespace, "connectors", row.id]) }, NAMES[row.provider]) },
    { name: "Namespace", align: "free", show: (row) => row.namespace },
    { name: "Documents", align: "number", show: (row) => number(row.documentCount) },
    { name: "Newest run", align: "free", show: (row) => runOutcome(row) },
    { name: "Last success", show: (row) => time(row.system.lastSuccessfulSyncAt) },
  ];
  return card("Sources", table(plural(pagination.totalItems, "source"), columns, rows), { link: el("a", { href: to(["connectors"]) }, "All") });
}
