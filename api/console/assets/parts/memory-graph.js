/** Graph of a memory: earlier and later versions, extensions and inferences. */

import { el, svg } from "../dom.js";
import { badge } from "./placeholders.js";
import { describeReason } from "./reason.js";

const SAYS = {
  "extends to": "Extends",
  "extends from": "Extended by",
  "derives to": "Derived from",
  "derives from": "Derived memories",
};

/** Draw the graph. `centre`: an explained memory; `address`: from an id to the address of that memory's page. */
export function memoryGraph(centre, address) {
  const middle = el("div.node.centre", { "aria-current": "true" }, el("p", { dir: "auto" }, centre.memory), el("footer.muted", {}, `version ${centre.version}`));
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const made = centre.relations.map((one) => ({ ...one, node: node(one, address) })).sort((one, other) => (one.version ?? 0) - (other.version ?? 0));
  const of = (kind, direction) => made.filter((one) => one.kind === kind && one.direction === direction).map((one) => one.node);
  const [earlier, later] = [of("updates", "to"), of("updates", "from")];
  const shown = el(
    "div.graph",
    {},
    lines,
    lane("Earlier versions", earlier, "No earlier versions."),
    el("section.lane", {}, el("h2", {}, "This version"), middle, beside(of)),
    lane("Later versions", later, "No later versions."),
  );
  const draw = () => drawn(shown, lines, [...earlier.map((one) => [one, middle]), ...later.map((one) => [middle, one])]);
  new ResizeObserver(draw).observe(shown);
  return shown;
}

function beside(of) {
  return Object.entries(SAYS).map(([relation, title]) => {
    const nodes = of(...relation.split(" "));
    return nodes.length > 0 ? [el("h3", {}, title), list(nodes)] : null;
  });
}

function lane(title, nodes, nothing) {
  return el("section.lane", {}, el("h2", {}, title), nodes.length > 0 ? list(nodes) : el("p.muted", {}, nothing));
}

function list(nodes) {
  return el("ul.plain", {}, nodes.map((one) => el("li", {}, one)));
}

function node({ id, memory, kind, version, isForgotten, reason }, address) {
  const footer = el(
    "footer.muted",
    {},
    badge(kind, kind),
    kind === "updates" && version ? ` version ${version}` : "",
    isForgotten ? [" ", badge("forgotten", "bad")] : null,
    el("p.reason", { dir: "auto" }, describeReason(reason)),
  );
  if (memory === undefined) return el("div.node", {}, el("p.muted", {}, "Deleted memory"), footer);
  return el("a.node", { href: address(id) }, el("p", { dir: "auto" }, memory), footer);
}

/** Draw a curve between the facing edges of each pair that stands side by side. */
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
