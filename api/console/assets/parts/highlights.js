/** Spans of texts. */

/** Convert a span of code points into one of UTF-16 units. */
export function toStringSpan(text, { start, end }) {
  const from = unit(text, 0, start);
  return [from, unit(text, from, end - start)];
}

/** Advance by a number of code points. */
function unit(text, at, characters) {
  for (; characters > 0 && at < text.length; characters -= 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}
