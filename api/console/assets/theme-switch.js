/** Switch between light, dark and the system's colour scheme. */

import { el } from "./dom.js";

const KEPT = "recollect.theme";
const NAMES = { system: "System", light: "Light", dark: "Dark" };

export function themeSwitch() {
  const chosen = localStorage.getItem(KEPT) ?? "system";
  const choice = el(
    "select",
    { id: "theme", on: { change: () => apply(choice.value) } },
    Object.entries(NAMES).map(([value, name]) => el("option", { value, selected: value === chosen }, name)),
  );
  return el("div.inline", {}, el("label", { for: "theme" }, "Theme"), choice);
}

function apply(theme) {
  if (theme === "system") {
    localStorage.removeItem(KEPT);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEPT, theme);
    document.documentElement.dataset.theme = theme;
  }
}
