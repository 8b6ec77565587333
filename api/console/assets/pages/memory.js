/** A memory with its relations and sources. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { moment, time } from "../format.js";
import { confirmAction } from "../parts/dialogs.js";
import { eventList } from "../parts/log-events.js";
import { memoryBadges } from "../parts/memory-badges.js";
import { button } from "../parts/forms.js";
import { memoryGraph } from "../parts/memory-graph.js";

export async function memory(view) {
  const { api, namespace, id, signal, rights } = view;
  const shown = await api.get(path("ns", namespace, "explain", "memories", id), {}, signal);
  return [
    memoryGraph(shown, (one) => to(["ns", namespace, "memories", one])),
    el("section", {}, el("h2", {}, "This memory"), facts(shown)),
    el("section", {}, el("h2", {}, "Supporting documents"), el("ul.plain.passages", {}, shown.statements.map((one) => el("li.result", {}, statement(one, shown.id, namespace))))),
    shown.notes.map((note) => el("p.muted", {}, note)),
    rights.writes(namespace) && !shown.isForgotten
      ? el("div.actions", {}, button("Forget this memory", () => forget(view, shown), { class: "danger" }))
      : null,
  ];
}

function facts({ id, version, forgottenAt, forgetReason, expiresAt, ...kind }) {
  const rows = [
    ["Type", memoryBadges(kind)],
    ["Version", String(version)],
    forgottenAt ? ["Forgotten", [time(forgottenAt), forgetReason ? `: ${forgetReason}` : null]] : null,
    expiresAt ? ["Expires", moment(expiresAt)] : null,
    ["Id", el("code", {}, id)],
  ];
  return el("dl.facts", {}, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A source document with the supporting words and its events. */
function statement({ document, span, since, date, events: log }, id, namespace) {
  const source = document
    ? el("a", { href: to(["ns", namespace, "documents", document.id], { memory: id }) }, document.title ?? document.id)
    : "Deleted document";
  return [
    span ? el("blockquote", {}, span.text) : null,
    el("p.muted", {}, source, date ? `, of ${date}` : "", ", since ", time(since)),
    el("details", {}, el("summary", {}, "Events in the log"), eventList(log)),
  ];
}

async function forget({ app, api, namespace }, { id, memory: text }) {
  if (!(await confirmAction("Forget this?", `“${text}”. Its history stays, and is shown on request. Passages that say it are still found: change or delete the supporting documents to remove them.`, "Forget"))) return;
  await app.attempt(async () => {
    await api.delete(path("ns", namespace, "memories"), { body: { ids: [id] } });
    await app.show();
    return "Memory forgotten.";
  });
}
