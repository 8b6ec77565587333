/** What stands where data will be, is not, or could not be had. */

import { el } from "../dom.js";

export function loading(what) {
  return el("div.state", { role: "status", "aria-busy": "true" }, el("span.spinner", { "aria-hidden": "true" }), `Loading ${what}…`);
}

/** Nothing there: says why, and what to do about it. */
export function empty(title, text, ...actions) {
  return el("div.state", {}, el("h2", {}, title), el("p.muted", {}, text), actions);
}

/** What went wrong. `retry`: what a button for it does. */
export function failure(error, retry) {
  return el(
    "div.state.failure",
    { role: "alert" },
    el("h2", {}, error.message),
    el("p", {}, error.details || hint(error)),
    retry && error.status !== 403 ? el("button", { type: "button", on: { click: retry } }, "Try again") : null,
  );
}

/** One line of it, for beside a form. */
export function problem(error) {
  return `${error.message}. ${error.details || hint(error)}`.trim();
}

function hint(error) {
  if (error.status === 403) return "Ask whoever issued your key for one with more rights.";
  if (error.status === undefined) return "The console has a fault: the browser's developer tools say more.";
  return "";
}

/** A word in a colour that does not carry the meaning alone. */
export function badge(text, tone = "plain") {
  return el(`span.badge.${tone}`, {}, text);
}
