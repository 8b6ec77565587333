/** One memory among its relations, and who states it: the graph of a namespace, walked one memory at a time. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { moment, time } from "../format.js";
import { sure } from "../parts/dialogs.js";
import { events } from "../parts/events.js";
import { flags } from "../parts/flags.js";
import { button } from "../parts/forms.js";
import { graph } from "../parts/graph.js";

export async function memory(view) {
  const { api, namespace, id, signal, rights } = view;
  const shown = await api.get(path("ns", namespace, "explain", "memories", id), {}, signal);
  return [
    graph(shown, (one) => to(["ns", namespace, "memories", one])),
    el("section", {}, el("h2", {}, "This memory"), facts(shown)),
    el("section", {}, el("h2", {}, "Who says so"), el("ul.plain.passages", {}, shown.statements.map((one) => el("li.result", {}, statement(one, shown.id, namespace))))),
    shown.notes.map((note) => el("p.muted", {}, note)),
    rights.writes(namespace) && !shown.isForgotten
      ? el("div.actions", {}, button("Forget this memory", () => forget(view, shown), { class: "danger" }))
      : null,
  ];
}

function facts({ id, version, forgottenAt, forgetReason, expiresAt, ...kind }) {
  const rows = [
    ["It is", flags(kind)],
    ["Version", String(version)],
    forgottenAt ? ["Forgotten", [time(forgottenAt), forgetReason ? `: ${forgetReason}` : null]] : null,
    expiresAt ? ["Holds until", moment(expiresAt)] : null,
    ["Id", el("code", {}, id)],
  ];
  return el("dl.facts", {}, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A document that states it, with the words, and what was done to it on the way. */
function statement({ document, span, since, date, events: log }, id, namespace) {
  const source = document
    ? el("a", { href: to(["ns", namespace, "documents", document.id], { memory: id }) }, document.title ?? document.id)
    : "A document that is gone";
  return [
    span ? el("blockquote", {}, span.text) : null,
    el("p.muted", {}, source, date ? `, of ${date}` : "", ", since ", time(since)),
    el("details", {}, el("summary", {}, "Events in the log"), events(log)),
  ];
}

async function forget({ app, api, namespace }, { id, memory: text }) {
  if (!(await sure("Forget this?", `“${text}”. Its history stays, and is shown on request.`, "Forget"))) return;
  await app.attempt(async () => {
    await api.delete(path("ns", namespace, "memories"), { body: { ids: [id] } });
    await app.show();
    return "It is forgotten.";
  });
}
