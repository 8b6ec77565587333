/** The memory graph: people, places and things with their memories and relations, now or at an earlier time. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { moment, plural, time } from "../format.js";
import { correctionButtons } from "../parts/corrections.js";
import { field } from "../parts/forms.js";
import { badge, noContent } from "../parts/placeholders.js";

const STEPS = 200;
const NAMES_LISTED = 30;

export async function graph(page) {
  const { api, namespace, signal } = page;
  const answer = await api.get(path("ns", namespace, "explain", "graph"), {}, signal);
  if (answer.memories.length === 0) return [noContent(page, "No memories yet", "The graph is drawn as soon as the namespace has memories.")];
  const about = el("aside.about.card", { "aria-live": "polite" }, el("p.muted", {}, "Select a memory to read it, or a name to see what is known of it."));
  const place = el("div.canvas", { role: "img", "aria-label": `Graph of ${plural(answer.memories.length, "memory", "memories")}. The list of memories has the same as text.` });
  // Loaded with this page alone: half of all the console's scripts.
  const { GraphView } = await import("../parts/graph-view.js");
  if (signal.aborted) return [];
  const view = new GraphView(place, answer, (chosen) => refill(about, chosen === null ? el("p.muted", {}, "Nothing is selected.") : details(chosen, answer, page)));
  signal.addEventListener("abort", () => view.destroy());
  return [summary(answer, namespace), el("div.row", {}, finder(view), slider(view, answer)), el("div.graph-page", {}, place, about), legend(), nameList(answer, namespace)];
}

function summary({ memories, names, total }, namespace) {
  const shown = memories.length < total ? `The newest ${plural(memories.length, "memory", "memories")} of ${total}` : plural(total, "memory", "memories");
  return el("p.muted", {}, `${shown}, ${plural(names.length, "name")}. `, el("a", { href: to(["ns", namespace, "memories"]) }, "As a list"));
}

function finder(view) {
  const input = el("input", { type: "search", "data-find": true, autocomplete: "off", dir: "auto" });
  input.addEventListener("input", () => view.highlight(input.value.trim().toLowerCase()));
  return field("Find in the graph", input);
}

/** Slider from the first memory to now; what had not come yet or had ended is faded. */
function slider(view, { memories }) {
  const first = Math.min(...memories.map((row) => Date.parse(row.createdAt)));
  const now = Date.now();
  const input = el("input", { type: "range", min: "0", max: String(STEPS), value: String(STEPS) });
  const said = el("output", {}, "now");
  input.addEventListener("input", () => {
    const at = first + ((now - first) * input.valueAsNumber) / STEPS;
    refill(said, input.valueAsNumber === STEPS ? "now" : moment(new Date(at).toISOString()));
    view.showAt(input.valueAsNumber === STEPS ? now : at);
  });
  const control = field("As of", input);
  control.append(said);
  return control;
}

function details(chosen, answer, page) {
  const { app, namespace } = page;
  if (chosen.name !== undefined) {
    const rows = chosen.memories.map((at) => answer.memories[at]);
    return [el("h2", { dir: "auto" }, chosen.name), el("ul", {}, rows.map((row) => el("li", { dir: "auto" }, link(row, namespace))))];
  }
  const ended = chosen.endedAt ? [badge("ended", "warn"), " ", time(chosen.endedAt)] : badge("current", "good");
  const source = chosen.document ? el("p", {}, el("a", { href: to(["ns", namespace, "documents", chosen.document], { memory: chosen.id }) }, "The sentence in its document")) : null;
  return [
    el("h2", { dir: "auto" }, chosen.memory),
    el("p", {}, ended, " · formed ", time(chosen.createdAt)),
    source,
    el("p", {}, el("a", { href: to(["ns", namespace, "memories", chosen.id]) }, "Versions and relations")),
    chosen.endedAt ? null : el("div.row", {}, correctionButtons(page, chosen, () => app.show())),
  ];
}

function link(row, namespace) {
  return el("a", { href: to(["ns", namespace, "memories", row.id]) }, row.memory);
}

function legend() {
  const kinds = [["updates", "replaces"], ["extends", "adds to"], ["derives", "follows from"]];
  return el("p.muted", {}, "Lines: ", kinds.map(([kind, says]) => [badge(says, kind), " "]), "thin lines lead to the names in a memory; what has ended is faded.");
}

/** The names as text, for those who don't see the picture. */
function nameList({ names }, namespace) {
  if (names.length === 0) return null;
  const items = names.slice(0, NAMES_LISTED).map(({ name, memories }) => el("li", {}, el("a", { href: to(["ns", namespace, "memories"], { q: name }), dir: "auto" }, name), ` ${memories.length}`));
  return el("details", {}, el("summary", {}, "People, places and things"), names.length > NAMES_LISTED ? el("p.muted", {}, `The ${NAMES_LISTED} that most memories name.`) : null, el("ul", {}, items));
}
