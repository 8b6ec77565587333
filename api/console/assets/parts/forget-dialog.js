/** Dialog that forgets memories, if wanted with the sentences that state them. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural } from "../format.js";
import { showDialog } from "./dialogs.js";
import { button } from "./forms.js";

const SHOWN = 20;
const STAYS = "Forgetting hides: the history stays, and is shown on request. Passages that say it are still found until their sentences are taken out.";

/** Show memories and their sentences, and do what is chosen; false: nothing. */
export async function forgetMemories({ app, api, namespace, rights }, memories) {
  const ids = memories.map((one) => one.id);
  const redactions = path("ns", namespace, "explain", "redactions");
  const planned = rights.corrects(namespace) ? await api.post(redactions, { ids, dryRun: true }) : { documents: [], matches: [], errors: [] };
  const all = [...memories, ...planned.matches.filter((one) => !ids.includes(one.id))];
  const chosen = await showDialog(`Forget ${plural(memories.length, "memory", "memories")}?`, (close) => [
    words(memories.map((one) => one.memory)),
    el("p.muted", {}, STAYS),
    planned.documents.length > 0 ? [el("h3", {}, "Sentences that say it"), planned.documents.map((one) => sentences(one))] : null,
    all.length > memories.length ? [el("h3", {}, "With the sentences go also"), words(all.slice(memories.length).map((one) => one.memory))] : null,
    planned.errors.map((one) => el("p.muted", {}, `“${memories.find(({ id }) => id === one.id).memory}” keeps its sentence. ${one.error}.`)),
    el(
      "div.actions",
      {},
      button("Cancel", () => close(null), { autofocus: true }),
      button("Forget", () => close("forget"), { class: "danger" }),
      planned.documents.length > 0 ? button("Forget and take the sentences out", () => close("redact"), { class: "danger" }) : null,
    ),
  ]);
  if (chosen === null) return false;
  const { count } = await (chosen === "redact" ? api.post(redactions, { ids }) : api.delete(path("ns", namespace, "memories"), { body: { ids } }));
  app.say(`Forgotten: ${count}${chosen === "redact" ? ", with their sentences" : ""}.`);
  return true;
}

function words(texts) {
  const more = texts.length > SHOWN ? el("li", {}, `and ${texts.length - SHOWN} more`) : null;
  return el("ul", {}, texts.slice(0, SHOWN).map((one) => el("li", { dir: "auto" }, one)), more);
}

function sentences({ id, title, sentences: said, deleted }) {
  return [el("p", {}, el("bdi", {}, title ?? id), deleted ? " says nothing else, and is deleted:" : ":"), said.map((one) => el("blockquote", { dir: "auto" }, one))];
}
