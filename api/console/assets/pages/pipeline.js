/** State of the service, for operators: readiness, lag, failures, dead letters, replay. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { bytes, number, plural, time } from "../format.js";
import { deadLetters } from "../parts/dead-letters.js";
import { poll, renew } from "../parts/polling.js";
import { pipelineFlow } from "../parts/pipeline-flow.js";
import { replaying } from "../parts/replay.js";
import { badge } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";

const LOOK_MS = 2000;
const LETTERS = 100;

export async function pipeline(view) {
  const { api, signal } = view;
  const place = el("div");
  let before = null;
  const look = async () => {
    const [status, dead, replay] = await Promise.all([
      api.get("admin/status", {}, signal),
      api.get("admin/dlq", { limit: LETTERS }, signal),
      api.get("admin/replay", {}, signal).catch(elsewhere),
    ]);
    renew(place, { status, dead: dead.deadLetters, replay, before }, (shown) => parts(view, shown, act));
    before = status.stages;
  };
  /** Run an action, show its message, refresh. */
  const act = async (does) => {
    await view.app.attempt(does);
    await look();
  };
  await look();
  poll(signal, LOOK_MS, look);
  return [place, replaying.start(view, act)];
}

/** Handle 503: processes without a pipeline run no replays. */
function elsewhere(error) {
  if (error.status !== 503) throw error;
  return null;
}

function parts(view, { status, dead, replay, before }, act) {
  return [
    ready(status),
    replaying.progress(view, replay, act),
    pipelineFlow(status.stages, dead, before),
    amounts(status),
    deadLetters(view, dead, status.deadLetters, act),
    failures(status),
    waiting(status),
    lag(status),
  ];
}

function ready({ healthIssues, version, bus }) {
  const said = healthIssues.length === 0 ? badge("ready", "good") : badge("not ready", "bad");
  const reasons = healthIssues.map(({ part, reason }) => el("li", {}, `${part}: ${reason}`));
  return el("section", {}, el("p", {}, said, ` recollect ${version}, log: ${bus}`), reasons.length > 0 ? el("ul", {}, reasons) : null);
}

function amounts({ namespaces, documents, chunks, memories, disk }) {
  const rows = [
    ["Namespaces", number(namespaces)],
    ...Object.entries(documents).map(([status, count]) => [`Documents ${status}`, number(count)]),
    ["Passages", number(chunks)],
    ["Memories", number(memories)],
    ["Tables", bytes(disk.tables)],
    ["Log", bytes(disk.log)],
    ["Free on disk", bytes(disk.free)],
  ];
  return el("dl.tiles", {}, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function lag({ stages }) {
  const behind = stages.reduce((sum, one) => sum + one.lag, 0);
  const columns = [
    { name: "Stage", show: (row) => row.stage },
    { name: "Topic", show: (row) => el("code", {}, row.topic) },
    { name: "Lag", align: "number", show: (row) => (row.lag > 0 ? badge(number(row.lag), "warn") : "0") },
  ];
  const title = behind === 0 ? "All records processed" : `${plural(behind, "record")} waiting`;
  return el("details", {}, el("summary", {}, "Every stage with its topic"), table(title, columns, stages));
}

function failures({ failures: rows }) {
  if (rows.length === 0) return null;
  const columns = [
    { name: "Document", show: (row) => el("a", { href: to(["ns", row.namespace, "documents", row.id]) }, el("bdi", {}, row.title ?? row.id)) },
    { name: "Namespace", show: (row) => row.namespace },
    { name: "Error", align: "free", show: (row) => row.error },
    { name: "When", show: (row) => time(row.updatedAt) },
  ];
  return el("section", {}, el("h2", {}, "Failed documents"), table("The newest", columns, rows));
}

function waiting({ delayed: rows, delayedCount: count }) {
  if (count === 0) return null;
  const shown = rows.map((one) => el("li", {}, `${one.namespace}/${one.id}: ${one.error}`));
  return el("section", {}, el("h2", {}, `Memory extraction is delayed for ${plural(count, "document")}`), el("ul", {}, shown));
}
