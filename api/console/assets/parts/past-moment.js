/** Queries about a past moment and their limitations. */

import { el } from "../dom.js";
import { moment } from "../format.js";

/** Input for a moment in local time. `iso`: initial value. */
export function momentInput(iso) {
  return el("input", { type: "datetime-local", step: "1", max: local(Date.now()), value: iso ? local(iso) : null });
}

/** Chosen moment in ISO 8601; null if none. */
export function readMoment(input) {
  return input.value ? new Date(input.value).toISOString() : null;
}

function local(when) {
  const at = new Date(when);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Notice with an answer's moment and limitations; null for the present. */
export function pastMomentNotice({ asOf, limitations }) {
  if (asOf === undefined) return null;
  return el("div.state.past", {}, el("p", {}, `As of ${moment(asOf)}.`), limitations.notes.map((one) => el("p.muted", {}, one)));
}
