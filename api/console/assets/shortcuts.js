/** Keyboard shortcuts. Single keys can be switched off for users of speech input. */

import { el } from "./dom.js";
import { entriesFor } from "./navigation.js";
import { showDialog } from "./parts/dialogs.js";
import { checkbox } from "./parts/forms.js";

const OFF = "recollect.shortcuts-off";
const TYPING = "input, textarea, select, dialog, [contenteditable]";
const WAIT_MS = 1500;

/** Handle `g` and a page's letter, `/` (focus the search field) and `?` (list of shortcuts). */
export function listenForShortcuts(app) {
  let went = -Infinity;
  addEventListener("keydown", (event) => {
    const mine = !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest?.(TYPING);
    if (!mine || app.who === null || localStorage.getItem(OFF)) return;
    if (event.timeStamp - went < WAIT_MS) {
      went = -Infinity;
      const entry = [...entriesFor(app)].find((one) => one.key === event.key);
      if (entry) app.go(entry.parts);
    } else if (event.key === "g") {
      went = event.timeStamp;
    } else if (event.key === "/") {
      event.preventDefault();
      globalThis.document.querySelector("[data-find]")?.focus();
    } else if (event.key === "?") {
      showShortcuts(app);
    }
  });
}

export function showShortcuts(app) {
  const on = checkbox("Use these shortcuts", !localStorage.getItem(OFF));
  on.box.addEventListener("change", () => {
    if (on.box.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "yes");
  });
  const entries = [...entriesFor(app)].map((one) => [["g", one.key], one.name]);
  const rows = [...entries, [["/"], "Go to the search field"], [["?"], "Show this"], [["Esc"], "Close a dialog"]];
  return showDialog("Keyboard shortcuts", (close) => [
    el("dl.keys", {}, rows.map(([keys, what]) => [el("dt", {}, keys.map((one) => el("kbd", {}, one))), el("dd", {}, what)])),
    on.node,
    el("div.actions", {}, el("button", { type: "button", autofocus: true, on: { click: () => close(null) } }, "Close")),
  ]);
}
