/** Choices of how the console looks, kept in this browser: colour scheme and density. */

import { el } from "./dom.js";

const THEMES = { system: "System", light: "Light", dark: "Dark" };
const DENSITIES = { comfortable: "Comfortable", compact: "Compact" };

export const themeSwitch = () => appearanceSwitch("theme", "Theme", THEMES);
export const densitySwitch = () => appearanceSwitch("density", "Density", DENSITIES);

/** The first of the `choices` is what holds while nothing is chosen. */
function appearanceSwitch(name, label, choices) {
  const kept = `recollect.${name}`;
  const [usual] = Object.keys(choices);
  const chosen = localStorage.getItem(kept) ?? usual;
  const apply = () => {
    const { dataset } = document.documentElement;
    if (choice.value === usual) {
      localStorage.removeItem(kept);
      delete dataset[name];
    } else {
      localStorage.setItem(kept, choice.value);
      dataset[name] = choice.value;
    }
  };
  const options = Object.entries(choices).map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  const choice = el("select", { id: name, on: { change: apply } }, options);
  return el("div.inline", {}, el("label", { for: name }, label), choice);
}
