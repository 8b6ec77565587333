/** Form controls with labels. */

import { el, freshId, refill } from "../dom.js";
import { problem } from "./placeholders.js";

/** A control below its label; `hint` is read with it. */
export function field(label, control, hint) {
  control.id ||= freshId("field");
  const note = hint ? el("p.hint", { id: `${control.id}-hint` }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return el("div.field", {}, el("label", { for: control.id }, label), control, note);
}

/** `options`: value to name. */
export function select(options, chosen, attributes = {}) {
  const made = Object.entries(options).map(([value, name]) => el("option", { value, selected: value === chosen }, name));
  return el("select", attributes, made);
}

export function checkbox(label, checked, attributes = {}) {
  const box = el("input", { type: "checkbox", checked, ...attributes });
  return { box, node: el("label.check", {}, box, el("span", {}, label)) };
}

export function button(label, click, attributes = {}) {
  return el("button", { type: "button", ...attributes, on: { click } }, label);
}

/** Button that copies a text and says how it went; none where the page is not secure, to which browsers give no clipboard. */
export function copyButton(read) {
  if (!navigator.clipboard) return [];
  const said = el("span.muted", { role: "status" });
  const copy = async () => {
    const told = await navigator.clipboard.writeText(read()).then(() => "Copied.", () => "Not allowed by the browser: select it instead.");
    refill(said, told);
  };
  return [button("Copy", copy), said];
}

/** A form that calls `done` instead of sending itself, once at a time. */
export function form(done, attributes, ...children) {
  const made = el("form", { novalidate: false, ...attributes }, children);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (made.getAttribute("aria-busy") === "true") return;
    made.setAttribute("aria-busy", "true");
    try {
      await done();
    } finally {
      made.removeAttribute("aria-busy");
    }
  });
  return made;
}

/** Form that shows its error below itself. */
export function actionForm(act, attributes, ...children) {
  const trouble = el("p.trouble", { role: "alert" });
  const done = async () => {
    trouble.replaceChildren();
    try {
      await act();
    } catch (error) {
      trouble.append(problem(error));
    }
  };
  return form(done, attributes, ...children, trouble);
}

/** Submit button. */
export function submit(label, attributes = { class: "primary" }) {
  return el("div", {}, el("button", { type: "submit", ...attributes }, label));
}

/** Values of the filled controls by name; numbers as numbers. */
export function filledValues(controls) {
  const filled = Object.entries(controls).filter(([, control]) => control.value !== "");
  return Object.fromEntries(filled.map(([name, control]) => [name, control.type === "number" ? control.valueAsNumber : control.value]));
}
