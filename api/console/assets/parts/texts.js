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

/** Where a span of the service stands in a JavaScript string: the one counts characters, the other halves of some. */
export function stretch(text, { start, end }) {
  const from = unit(text, 0, start);
  return [from, unit(text, from, end - start)];
}

/** So many characters further on. */
function unit(text, at, characters) {
  for (; characters > 0 && at < text.length; characters -= 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}
