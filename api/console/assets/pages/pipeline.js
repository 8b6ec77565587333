/** How the service works: readiness, what waits, what went wrong, and making the tables anew. For operators. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { bytes, number, plural, time } from "../format.js";
import { letters } from "../parts/letters.js";
import { poll, renew } from "../parts/polling.js";
import { replaying } from "../parts/replaying.js";
import { badge } from "../parts/states.js";
import { table } from "../parts/tables.js";

const LOOK_MS = 2000;
const LETTERS = 100;

export async function pipeline(view) {
  const { api, signal } = view;
  const place = el("div");
  const look = async () => {
    const [status, dead, replay] = await Promise.all([
      api.get("admin/status", {}, signal),
      api.get("admin/dlq", { limit: LETTERS }, signal),
      api.get("admin/replay", {}, signal).catch(elsewhere),
    ]);
    renew(place, { status, dead: dead.letters, replay }, (shown) => parts(view, shown, act));
  };
  /** Do something, say what became of it, and look again. */
  const act = async (does) => {
    await view.app.attempt(does);
    await look();
  };
  await look();
  poll(signal, LOOK_MS, look);
  return [place, replaying.start(view, act)];
}

/** A process that only answers runs no replays; others do. */
function elsewhere(error) {
  if (error.status !== 503) throw error;
  return null;
}

function parts(view, { status, dead, replay }, act) {
  return [
    ready(status),
    replaying.progress(view, replay, act),
    amounts(status),
    letters(view, dead, status.deadLetters, act),
    failures(status),
    waiting(status),
    lag(status),
  ];
}

function ready({ notReady, version, bus }) {
  const said = notReady.length === 0 ? badge("ready", "good") : badge("not ready", "bad");
  const reasons = notReady.map(({ part, reason }) => el("li", {}, `${part}: ${reason}`));
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
  const title = behind === 0 ? "Every record is handled" : `${plural(behind, "record")} not handled yet`;
  return el("section", {}, el("h2", {}, "Lag"), table(title, columns, stages));
}

function failures({ failures: rows }) {
  if (rows.length === 0) return null;
  const columns = [
    { name: "Document", show: (row) => el("a", { href: to(["ns", row.namespace, "documents", row.id]) }, `${row.namespace}/${row.id}`) },
    { name: "Why", show: (row) => row.error },
    { name: "When", show: (row) => time(row.updatedAt) },
  ];
  return el("section", {}, el("h2", {}, "Documents that could not be read"), table("The newest", columns, rows));
}

function waiting({ waiting: rows, waitingCount: count }) {
  if (count === 0) return null;
  const shown = rows.map((one) => el("li", {}, `${one.namespace}/${one.id}: ${one.error}`));
  return el("section", {}, el("h2", {}, `Memories of ${plural(count, "document")} wait`), el("ul", {}, shown));
}
