/** DOM construction. Texts become text nodes, never markup, as the content security policy demands. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: `el("p.muted", { id: "x", on: { click } }, "text", node, null)`.
 * Of the attributes, null, undefined and false are left out and true is set empty; so are such children.
 */
export function el(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  if (classes.length > 0) node.className = classes.join(" ");
  return filled(node, attributes, children);
}

/** Create an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace a node's children. */
export function refill(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

/** Replace a node's children. What is there again, by its name, keeps the focus and stays open; a lost focus goes to the heading of the page. */
export function rebuild(node, ...children) {
  const focused = node.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const opened = new Set([...node.querySelectorAll("details[open] > summary")].map(nameOf));
  refill(node, ...children);
  for (const summary of node.querySelectorAll("summary")) summary.parentElement.open ||= opened.has(nameOf(summary));
  if (focused === null) return;
  [...node.querySelectorAll(FOCUSABLE)].find((one) => nameOf(one) === focused)?.focus({ preventScroll: true });
  if (document.activeElement === document.body) document.querySelector("main h1")?.focus({ preventScroll: true });
}

/** Show a node in a place, unless its like is there, which would be announced again. */
export function showOnce(place, made) {
  if (!place.firstChild?.isEqualNode(made)) rebuild(place, made);
}

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";
const nameOf = (node) => [node.localName, node.getAttribute("href"), node.ariaLabel ?? node.labels?.[0]?.textContent ?? node.textContent].join(" ");

function filled(node, attributes, children) {
  node.append(...present(children));
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : name === "dir" ? directionOf(value, node.textContent) : value);
    }
  }
  return node;
}

/** Memories may begin with the English word for their subject: those in Arabic or Hebrew run from the right all the same. */
const RIGHT_TO_LEFT = /^User: \P{L}*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;

function directionOf(value, text) {
  return value === "auto" && RIGHT_TO_LEFT.test(text) ? "rtl" : value;
}

function present(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
}

let count = 0;

/** An id that no other element has. */
export function freshId(prefix) {
  count += 1;
  return `${prefix}-${count}`;
}
