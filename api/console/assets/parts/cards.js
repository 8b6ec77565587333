/** Sections drawn as cards. */

import { el } from "../dom.js";

/** `link`: stands at the right of the heading. */
export function card(heading, content, { link = null, ...attributes } = {}) {
  return el("section.card", attributes, el("header", {}, el("h2", {}, heading), link), content);
}
