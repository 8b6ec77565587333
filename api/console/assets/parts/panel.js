/** A part of a page that a button opens: the button stands beside the page's name, the panel above its content. */

import { el, freshId } from "../dom.js";
import { icon } from "../icons.js";

/** `name`: a class of the panel. `content`: a node, or a function that builds it when it is first opened. Returns the button and the panel. */
export function panel(label, content, { open = false, primary = false, symbol = null, name = null } = {}) {
  const node = el(`section.card.panel${name ? `.${name}` : ""}`, { id: freshId("panel"), hidden: !open, "aria-label": label });
  const fill = () => {
    if (!node.hasChildNodes()) node.append(...[typeof content === "function" ? content() : content].flat());
  };
  const button = el(
    primary ? "button.primary" : "button",
    { type: "button", "aria-expanded": String(open), "aria-controls": node.id, on: { click: () => show(node.hidden) } },
    symbol ? icon(symbol) : null,
    label,
  );
  const show = (shown) => {
    if (shown) fill();
    node.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    if (shown) node.querySelector("input, textarea, select")?.focus();
  };
  if (open) fill();
  return { button, node, show };
}
