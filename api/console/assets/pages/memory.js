/** A memory with its versions, relations and sources, and what a person can do about it. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { moment, time } from "../format.js";
import { correctionButtons } from "../parts/corrections.js";
import { forgetMemories } from "../parts/forget-dialog.js";
import { button } from "../parts/forms.js";
import { eventList } from "../parts/log-events.js";
import { memoryBadges } from "../parts/memory-badges.js";
import { memoryGraph } from "../parts/memory-graph.js";
import { sentence } from "../parts/rich-text.js";

export async function memory(view) {
  const { api, app, namespace, id, signal, head } = view;
  const shown = await api.get(path("ns", namespace, "explain", "memories", id), {}, signal);
  const redact = async () => { if (await forgetMemories(view, [shown])) app.go(["ns", namespace, "memories"]); };
  const after = (changed) => app.go(["ns", namespace, "memories", changed ?? id]);
  head(shown.memory, ...correctionButtons(view, shown, after), view.rights.corrects(namespace) ? button("Take its sentence out", () => app.attempt(redact), { class: "danger", title: "Forget it, and remove the sentence from its documents" }) : null);
  return [
    facts(shown),
    memoryGraph(shown, (one) => to(["ns", namespace, "memories", one])),
    el("section", {}, el("h2", {}, "Where it comes from"), el("ul.plain.passages", {}, shown.statements.map((one) => el("li.result", {}, statement(one, shown.id, namespace))))),
    shown.notes.map((note) => el("p.muted", {}, note)),
  ];
}

function facts({ id, version, forgottenAt, forgetReason, expiresAt, ...kind }) {
  return el(
    "p",
    {},
    memoryBadges(kind),
    el("span.muted", {}, ` version ${version}`),
    forgottenAt ? [" · forgotten ", time(forgottenAt), forgetReason ? ` (${forgetReason})` : null] : null,
    expiresAt ? ` · ends ${moment(expiresAt)}` : null,
    el("span.muted", {}, " · id ", el("code", {}, id)),
  );
}

/** A source document with the supporting words and its events. */
function statement({ document, span, since, date, events: log }, id, namespace) {
  const source = document
    ? el("a", { href: to(["ns", namespace, "documents", document.id], { memory: id }), dir: "auto" }, document.title ?? (span ? document.id : "A correction"))
    : "Deleted document";
  return [
    span ? sentence(span.text) : null,
    el("p.muted", {}, source, date ? `, of ${date.slice(0, 10)}` : "", ", since ", time(since)),
    el("details", {}, el("summary", {}, "Events in the log"), eventList(log)),
  ];
}
