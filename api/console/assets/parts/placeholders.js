/** Placeholders: loading, empty, failed; and badges. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";

export function loading(what) {
  return el("div.state", { role: "status", "aria-busy": "true" }, el("span.spinner", { "aria-hidden": "true" }), `Loading ${what}…`);
}

/** Placeholder of an empty list: reason and possible actions. */
export function empty(title, text, ...actions) {
  return el("div.state", {}, el("h2", {}, title), el("p.muted", {}, text), actions);
}

/** Placeholder of a namespace without documents, with the way to the first one. */
export function noContent({ namespace, rights }, title = "Nothing is stored here yet", text = `${namespace} exists from its first document on.`) {
  const add = el("a.button.primary", { href: to(["ns", namespace, "documents"]) }, icon("plus"), "Add documents");
  return empty(title, text, rights.writes(namespace) ? add : null);
}

/** Pause between tries while an error that may pass is on the page. */
const AGAIN_MS = 3000;

/** Error with an optional retry button. */
export function failure(error, retry) {
  const isFault = error.status === undefined;
  const again = retry && ![403, 404].includes(error.status) ? el("button", { type: "button", on: { click: retry } }, "Try again") : null;
  if (again && error.isPassing) {
    const trying = setInterval(() => (again.isConnected ? retry() : clearInterval(trying)), AGAIN_MS);
  }
  return el(
    "div.state.failure",
    { role: "alert" },
    el("h2", {}, isFault ? "This can't be shown" : error.message),
    el("p", {}, isFault ? `The address was mistyped or cut off, or the console has a fault: ${error.message}.` : error.details || hint(error)),
    again,
  );
}

/** One-line error message, for forms. */
export function problem(error) {
  return `${error.message}. ${error.details || hint(error)}`.trim();
}

function hint(error) {
  if (error.status === 403) return "Ask whoever issued your key for one with more rights.";
  if (error.status === undefined) return "The console has a fault: the browser's developer tools say more.";
  return "";
}

/** Badge: a word with a colour that does not carry the meaning alone. */
export function badge(text, tone = "plain") {
  return el(`span.badge.${tone}`, {}, text);
}
