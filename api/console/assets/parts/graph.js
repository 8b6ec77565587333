/** A memory between its earlier and later versions, with what extends or was derived beside it; lines join them. */

import { el, svg } from "../dom.js";
import { badge } from "./states.js";
import { time } from "../format.js";

/** `related`: the family of the interface; `address`: from an id to where it is shown. */
export function graph(centre, related, address) {
  const middle = el("div.node.centre", { "aria-current": "true" }, el("p", {}, centre.memory), el("footer.muted", {}, `version ${centre.version}`));
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const earlier = related.parents.map((one) => node(one, address, `version ${one.version}`));
  const later = related.children.map((one) => node(one, address, `version ${one.version}`));
  const beside = related.siblings.map((one) => node(one, address, ""));
  const shown = el(
    "div.graph",
    {},
    lines,
    lane("Earlier versions", earlier.reverse(), "Nothing was replaced by it."),
    el("section.lane", {}, el("h2", {}, "Here"), middle, beside.length > 0 ? el("h3", {}, "Extends or follows from each other") : null, list(beside)),
    lane("Later versions", later, "Nothing has replaced it."),
  );
  const draw = () => drawn(shown, lines, [...earlier.map((one) => [one, middle]), ...later.map((one) => [middle, one])]);
  new ResizeObserver(draw).observe(shown);
  return shown;
}

function lane(title, nodes, nothing) {
  return el("section.lane", {}, el("h2", {}, title), nodes.length > 0 ? list(nodes) : el("p.muted", {}, nothing));
}

function list(nodes) {
  return nodes.length > 0 ? el("ul.plain", {}, nodes.map((one) => el("li", {}, one))) : null;
}

function node(one, address, note) {
  return el(
    "a.node",
    { href: address(one.id) },
    el("p", {}, one.memory),
    el("footer.muted", {}, badge(one.relation, one.relation), ` ${note} `, time(one.system.updatedAt)),
  );
}

/** From the right edge of one to the left edge of the other, where they stand side by side. */
function drawn(shown, lines, pairs) {
  const frame = shown.getBoundingClientRect();
  lines.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  const curves = pairs.map(([from, to]) => {
    const [left, right] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
    if (right.left <= left.right) return null;
    const [x, y] = [left.right - frame.left, left.top + left.height / 2 - frame.top];
    const [u, v] = [right.left - frame.left, right.top + right.height / 2 - frame.top];
    const bend = (x + u) / 2;
    return svg("path", { d: `M${x} ${y}C${bend} ${y} ${bend} ${v} ${u} ${v}` });
  });
  lines.replaceChildren(...curves.filter(Boolean));
}
