/** Design: the tokens of the style sheet in both schemes, and the elements that pages are made of. */

import { el } from "../dom.js";
import { icon } from "../icons.js";
import { card } from "../parts/cards.js";
import { button, checkbox, field, select } from "../parts/forms.js";
import { badge, empty, failure } from "../parts/placeholders.js";
import { similarity } from "../parts/search-result.js";
import { table } from "../parts/tables.js";

const COLOUR = /^light-dark\(/;
const USES = {
  "--ground": "behind everything",
  "--surface": "cards, tables, controls",
  "--raised": "what is pointed at, code",
  "--ink": "text",
  "--muted": "text that may be passed over",
  "--line": "between rows, around cards",
  "--control": "around controls",
  "--accent": "links, the main action, the current page",
  "--on-accent": "text on the accent",
  "--accent-soft": "behind what is current",
  "--good": "done, holds",
  "--warn": "waits, unsure",
  "--bad": "failed, deletes",
  "--mark": "behind what a search matched",
};
/** How a token that is no colour is shown, by the beginning of its name. */
const SAMPLES = { "--space": "width", "--radius": "borderRadius", "--control-height": "height", "--row": "height" };
const TEXTS = ["--small", "--normal", "--large", "--title", "--figure"];
const FONTS = ["--sans", "--mono"];

export async function design() {
  const tokens = readTokens();
  const colours = tokens.filter(([, value]) => COLOUR.test(value));
  const sizes = tokens.filter(([name]) => sampleOf(name) !== undefined);
  const written = tokens.filter(([name]) => TEXTS.includes(name) || FONTS.includes(name));
  return [
    el("p.muted", {}, "What the console looks like is decided by these tokens of style.css. Theme and Density, at the left, change them."),
    section("Colours", table("In both schemes", [
      { name: "Token", show: ([name]) => el("code", {}, name) },
      { name: "Light", show: ([name]) => swatch(name, "light") },
      { name: "Dark", show: ([name]) => swatch(name, "dark") },
      { name: "For", align: "free", show: ([name]) => USES[name] ?? `behind ${name.replace(/^--|-soft$/g, "")}` },
    ], colours)),
    section("Text", table("Sizes and fonts", [
      { name: "Token", show: ([name]) => el("code", {}, name) },
      { name: "Value", align: "free", show: ([, value]) => value },
      { name: "Sample", align: "free", show: ([name]) => styled("span", FONTS.includes(name) ? "fontFamily" : "fontSize", name, "User lives in Porto") },
    ], written)),
    section("Spaces and shapes", table("Smaller when compact", [
      { name: "Token", show: ([name]) => el("code", {}, name) },
      { name: "Value", show: ([, value]) => value },
      { name: "Sample", show: ([name]) => styled("span.sample", sampleOf(name), name) },
    ], sizes)),
    section("Elements", el("div.two", {}, actions(), states(), controls(), el("div", {}, empty("Nothing here yet", "Says why, and what to do.", button("The next step", () => {}, { class: "primary" })), failure({ message: "It failed", details: "Says why, and what to do." })))),
  ];
}

/** Custom properties of the root in the order of the style sheet: names with values. */
function readTokens() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const { style } = rules.find((rule) => rule.selectorText === ":root");
  return [...style].filter((name) => name.startsWith("--")).map((name) => [name, style.getPropertyValue(name).trim()]);
}

function sampleOf(name) {
  const kind = Object.keys(SAMPLES).find((beginning) => name.startsWith(beginning));
  return kind && SAMPLES[kind];
}

function section(title, ...content) {
  return el("section", {}, el("h2", {}, title), content);
}

function styled(tag, property, token, text = null) {
  const node = el(tag, {}, text);
  node.style[property] = `var(${token})`;
  return node;
}

function swatch(token, scheme) {
  const node = styled("span.swatch", "background", token);
  node.style.colorScheme = scheme;
  return node;
}

function actions() {
  return card("Actions", el("div.row", {}, button("Main", () => {}, { class: "primary" }), el("button", { type: "button" }, icon("edit"), "Other"), button("Deletes", () => {}, { class: "danger" }), button("Quiet", () => {}, { class: "quiet" })));
}

function states() {
  return card("States", el("p", {}, [["done", "good"], ["waiting", "warn"], ["failed", "bad"], ["kind", "plain"], ["chosen", "accent"]].map(([word, tone]) => [badge(word, tone), " "]), similarity(0.82)));
}

function controls() {
  return card("Controls", el("div.stack", {}, field("Text", el("input", { type: "text", autocomplete: "off" }), "A hint stands below."), field("Choice", select({ one: "One", other: "Another" }, "one")), checkbox("Yes or no", true).node));
}
