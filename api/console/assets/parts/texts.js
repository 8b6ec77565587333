/** Texts with places in them marked. */

import { el } from "../dom.js";

const WORD = /[\p{L}\p{N}]{3,}/gu;

/** The text with the words of a question marked. */
export function withWords(text, question) {
  const words = [...new Set((question.match(WORD) ?? []).map((one) => one.toLowerCase()))];
  if (words.length === 0) return [text];
  const spans = [...text.matchAll(WORD)]
    .filter((found) => words.includes(found[0].toLowerCase()))
    .map((found) => [found.index, found.index + found[0].length]);
  return withSpans(text, spans);
}

/** The text with these spans (from, to; in order) marked. */
export function withSpans(text, spans) {
  const parts = [];
  let at = 0;
  for (const [from, to] of spans) {
    if (from < at) continue;
    parts.push(text.slice(at, from), el("mark", {}, text.slice(from, to)));
    at = to;
  }
  return [...parts, text.slice(at)];
}

/** Where each passage of a document stands in its text: passages follow each other and may overlap. null: nowhere. */
export function places(text, passages) {
  let from = 0;
  return passages.map((passage) => {
    const at = text.indexOf(passage, from);
    if (at < 0) return null;
    from = at + 1;
    return [at, at + passage.length];
  });
}
