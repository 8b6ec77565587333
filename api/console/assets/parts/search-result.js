/** A search result: text, similarity, source. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge } from "./placeholders.js";
import { toStringSpan } from "./highlights.js";
import { pageLabel } from "./page-label.js";
import { excerpt } from "./rich-text.js";

const KINDS = { parents: "Updates or derives from", children: "Updated or extended by", siblings: "Related" };

export function searchResult(one, { namespace, scale }) {
  const isMemory = one.memory !== undefined;
  return el(
    "article.result",
    {},
    el(
      "header",
      {},
      similarity(one.similarity),
      badge(isMemory ? "Memory" : "Passage", isMemory ? "accent" : "plain"),
      isMemory && !one.isLatest ? badge("Forgotten", "bad") : null,
      one.isInference ? badge("Inferred") : null,
    ),
    highlighted(one, isMemory ? "text" : one.included?.document?.type),
    el("footer.muted", {}, source(one, namespace, isMemory), " · ", time(one.system.updatedAt)),
    chips(one.metadata),
    relatives(one.included?.related, namespace),
    explanation(one, scale),
  );
}

/** The text with what the search matches in it marked. */
function highlighted(one, type) {
  const text = one.memory ?? one.chunk;
  return excerpt(text, type, one.highlights.map((span) => toStringSpan(text, span)));
}

/** Similarity from 0 to 1, as a bar and a number. */
export function similarity(value) {
  const bar = el("span.bar", { "aria-hidden": "true" }, el("span", {}));
  bar.firstChild.style.width = `${Math.round(value * 100)}%`;
  return el("span.similarity", { title: "Similarity, from 0 to 1" }, bar, el("strong", {}, value.toFixed(2)));
}

function source(one, namespace, isMemory) {
  const from = one.included?.document;
  const place = isMemory ? { memory: one.id } : { chunk: one.id };
  const document = from ? el("a", { href: to(["ns", namespace, "documents", from.id], place), dir: "auto" }, from.title ?? from.id) : "a deleted document";
  const itself = isMemory ? [" · ", el("a", { href: to(["ns", namespace, "memories", one.id]) }, "Its versions and relations")] : null;
  const page = isMemory || !from ? null : pageLabel(from.type, one.metadata);
  return ["From ", document, page ? `, ${page}` : null, itself];
}

export function chips(metadata) {
  const pairs = Object.entries(metadata ?? {});
  if (pairs.length === 0) return null;
  return el("ul.chips", { "aria-label": "Metadata" }, pairs.map(([name, value]) => el("li", {}, el("bdi", {}, name), ": ", el("bdi", {}, [value].flat().join(", ")))));
}

function relatives(related, namespace) {
  if (!related) return null;
  const groups = Object.entries(KINDS).filter(([kind]) => related[kind].length > 0);
  const link = (one) => el("a", { href: to(["ns", namespace, "memories", one.id]), dir: "auto" }, one.memory);
  return groups.map(([kind, name]) =>
    el(
      "section.relatives",
      {},
      el("h3", {}, name),
      el("ul", {}, related[kind].map((one) => el("li", {}, badge(one.relation, one.relation), " ", link(one)))),
    ),
  );
}

/** Score breakdown: contribution of each ranking signal. */
function explanation({ explanation: { contributions, rawScore }, similarity: value }, { midpoint, width }) {
  const largest = Math.max(...contributions.map((one) => Math.abs(one.score)));
  const rows = contributions.map((one) => [el("dt", {}, one.signal), el("dd", {}, contribution(one.score, largest), " ", one.description)]);
  const sum = `Total ${rawScore.toFixed(2)}. Scaled with midpoint ${midpoint} and width ${width}: ${value.toFixed(2)}.`;
  return el("details.why", {}, el("summary", {}, `Score breakdown (${value.toFixed(2)})`), el("dl.facts", {}, rows), el("p.muted", {}, sum));
}

function contribution(score, largest) {
  const bar = el("span.bar", { "aria-hidden": "true" }, el("span", { class: score < 0 ? "less" : null }));
  bar.firstChild.style.width = `${(100 * Math.abs(score)) / largest}%`;
  return el("span.similarity", {}, bar, el("strong", {}, `${score < 0 ? "−" : "+"}${Math.abs(score).toFixed(2)}`));
}
