/** One document: what it says, with the passage one came for, and what was made of it. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { chips } from "../parts/results.js";
import { badge, empty } from "../parts/states.js";
import { places, withSpans } from "../parts/texts.js";

const TONES = { done: "good", failed: "bad" };

export async function document({ api, namespace, id, query, signal }) {
  const shown = await api.get(path("ns", namespace, "document", id), { include: "chunks,memories" }, signal);
  return [
    el("h2", {}, shown.title ?? shown.id),
    facts(shown),
    shown.system.error ? el("p.trouble", { role: "alert" }, shown.system.error) : null,
    chips(shown.metadata),
    shown.summary ? el("p", {}, shown.summary) : null,
    text(shown, query.get("chunk")),
    memories(shown, query.get("memory")),
  ];
}

function facts({ id, type, system, chunks }) {
  return el(
    "p.muted",
    {},
    badge(system.status, TONES[system.status] ?? "warn"),
    system.dreamingStatus === "dreaming" ? badge("memories to come", "warn") : null,
    ` ${type}, ${plural(chunks.length, "passage")}, added `,
    time(system.createdAt),
    ", id ",
    el("code", {}, id),
  );
}

function text({ content, chunks }, wanted) {
  if (content === null) return empty("No text yet", "It is shown when the document has been read.");
  const found = places(content, chunks.map((one) => one.content));
  const spans = found.filter((place, at) => place !== null && chunks[at].id === wanted);
  const shown = el("div.document", { tabindex: "0", role: "region", "aria-label": "Text" }, withSpans(content, spans));
  const mark = shown.querySelector("mark");
  if (mark) requestAnimationFrame(() => mark.scrollIntoView({ block: "center" }));
  return shown;
}

function memories({ memories: known }, wanted) {
  if (known.length === 0) return null;
  return el(
    "section",
    {},
    el("h2", {}, "What is remembered of it"),
    el("ul.plain", {}, known.map((one) =>
      el("li", { class: one.id === wanted ? "wanted" : null }, one.memory))),
  );
}
