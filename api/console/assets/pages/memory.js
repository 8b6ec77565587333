/** One memory among its relations: the graph of a namespace, walked one memory at a time. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { sure } from "../parts/dialogs.js";
import { flags } from "../parts/flags.js";
import { button } from "../parts/forms.js";
import { graph } from "../parts/graph.js";
import { chips } from "../parts/results.js";
import { problem } from "../parts/states.js";

const NEIGHBOURS = 12;

export async function memory(view) {
  const { api, namespace, id, signal, rights } = view;
  const options = { include: "related,documents", relatedLimit: NEIGHBOURS };
  const shown = await api.get(path("ns", namespace, "memories", id), options, signal);
  const { related, document } = shown.included;
  return [
    graph(shown, related, (one) => to(["ns", namespace, "memories", one])),
    el("section", {}, el("h2", {}, "This memory"), facts(shown, document, namespace), chips(shown.metadata)),
    rights.writes(namespace) && !shown.isForgotten
      ? el("div.actions", {}, button("Forget this memory", () => forget(view, shown), { class: "danger" }))
      : null,
  ];
}

function facts({ id, version, system, ...kind }, document, namespace) {
  const source = document
    ? el("a", { href: to(["ns", namespace, "documents", document.id], { memory: id }) }, document.title ?? document.id)
    : "A document that is gone";
  const rows = [
    ["It is", flags(kind)],
    ["Version", String(version)],
    ["From", source],
    ["Formed", time(system.createdAt)],
    ["Changed", time(system.updatedAt)],
    ["Id", el("code", {}, id)],
  ];
  return el("dl.facts", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

async function forget({ app, api, namespace }, { id, memory: text }) {
  if (!(await sure("Forget this?", `“${text}”. Its history stays, and is shown on request.`, "Forget"))) return;
  try {
    await api.delete(path("ns", namespace, "memories"), { body: { ids: [id] } });
    app.say("It is forgotten.");
    await app.show();
  } catch (error) {
    app.say(problem(error));
  }
}
