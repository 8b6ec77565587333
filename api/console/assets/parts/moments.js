/** Asking about a past moment, and what an answer about one can't show. */

import { el } from "../dom.js";
import { moment } from "../format.js";

/** A field for it, in the visitor's own time. `iso`: what stands there first, if anything. */
export function momentInput(iso) {
  return el("input", { type: "datetime-local", step: "1", max: local(Date.now()), value: iso ? local(iso) : null });
}

/** As the interface has it; null where nothing is chosen. */
export function momentOf(input) {
  return input.value ? new Date(input.value).toISOString() : null;
}

function local(when) {
  const at = new Date(when);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Of an answer: which moment it is of, and what it can't show of it; nothing where it is of now. */
export function asItWas({ asOf, limits }) {
  if (asOf === undefined) return null;
  return el("div.state.past", {}, el("p", {}, `As it was on ${moment(asOf)}.`), limits.says.map((one) => el("p.muted", {}, one)));
}
