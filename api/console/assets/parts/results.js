/** One result of a search: what it says, how well it fits, where it comes from. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge } from "./states.js";
import { withWords } from "./texts.js";

const KINDS = { parents: "Replaces or follows from", children: "Replaced or extended by", siblings: "Beside it" };

export function result(one, { namespace, body, scale }) {
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
    el("p.text", {}, withWords(one.memory ?? one.chunk, body.query)),
    el("footer.muted", {}, source(one, namespace, isMemory), " · ", time(one.system.updatedAt)),
    chips(one.metadata),
    relatives(one.included?.related, namespace),
    why(one, scale),
  );
}

/** A bar and its number: 0 to 1. */
export function similarity(value) {
  const bar = el("span.bar", { "aria-hidden": "true" }, el("span", {}));
  bar.firstChild.style.width = `${Math.round(value * 100)}%`;
  return el("span.similarity", { title: "Similarity, from 0 to 1" }, bar, el("strong", {}, value.toFixed(2)));
}

function source(one, namespace, isMemory) {
  const from = one.included?.document;
  const place = isMemory ? { memory: one.id } : { chunk: one.id };
  const document = from ? el("a", { href: to(["ns", namespace, "documents", from.id], place) }, from.title ?? from.id) : "a document that is gone";
  const itself = isMemory ? [" · ", el("a", { href: to(["ns", namespace, "memories", one.id]) }, "Its versions and relations")] : null;
  return ["From ", document, itself];
}

export function chips(metadata) {
  const pairs = Object.entries(metadata ?? {});
  if (pairs.length === 0) return null;
  return el("ul.chips", { "aria-label": "Metadata" }, pairs.map(([name, value]) => el("li", {}, `${name}: ${[value].flat().join(", ")}`)));
}

function relatives(related, namespace) {
  if (!related) return null;
  const groups = Object.entries(KINDS).filter(([kind]) => related[kind].length > 0);
  const link = (one) => el("a", { href: to(["ns", namespace, "memories", one.id]) }, one.memory);
  return groups.map(([kind, name]) =>
    el(
      "section.relatives",
      {},
      el("h3", {}, name),
      el("ul", {}, related[kind].map((one) => el("li", {}, badge(one.relation, one.relation), " ", link(one)))),
    ),
  );
}

/** What its score is made of: each part of the ranking with what it gave or took. */
function why({ why: { parts, raw }, similarity: value }, { middle, width }) {
  const most = Math.max(...parts.map((one) => Math.abs(one.score)));
  const rows = parts.map((one) => [el("dt", {}, one.part), el("dd", {}, gift(one.score, most), " ", one.says)]);
  const sum = `Together ${raw.toFixed(2)}. On the scale of this service, with its middle at ${middle} and a width of ${width}, that is ${value.toFixed(2)}.`;
  return el("details.why", {}, el("summary", {}, `Why ${value.toFixed(2)}`), el("dl.facts", {}, rows), el("p.muted", {}, sum));
}

function gift(score, most) {
  const bar = el("span.bar", { "aria-hidden": "true" }, el("span", { class: score < 0 ? "less" : null }));
  bar.firstChild.style.width = `${(100 * Math.abs(score)) / most}%`;
  return el("span.similarity", {}, bar, el("strong", {}, `${score < 0 ? "−" : "+"}${Math.abs(score).toFixed(2)}`));
}
