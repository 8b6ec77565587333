/** Drawing of a memory graph with cytoscape.js, in the console's colours. */

import { shortened } from "../format.js";
import { GraphLabels } from "./graph-labels.js";
import { placeNodes } from "./graph-layout.js";
import { GraphSketch } from "./graph-sketch.js";
import cytoscape from "../vendor/cytoscape.js";

const LABEL_CHARACTERS = 32;
const FIT_PADDING = 40;
/** Pause of the slider after which the graph is styled anew, which takes longer than a frame. */
const SETTLED_MS = 150;
/** Largest graph that forces arrange, which takes the square of its size in time; others are laid out on spirals. */
const ARRANGED = 150;
const ARRANGEMENT = { name: "cose", animate: false, randomize: false, fit: false, idealEdgeLength: () => 60, nodeRepulsion: () => 120_000, nodeOverlap: 40, componentSpacing: 60, gravity: 0.4, numIter: 800 };
const WIDTH_TO_HEIGHT = 1.15;
/** Room of a memory that stands alone, with its label. */
const ROW = { width: 300, height: 50 };

/** The picture in a place of the page; `choose` gets a memory or a name of the answer, or null. */
export class GraphView {
  #graph;
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #theme = new MutationObserver(() => this.#restyle());
  #restyle = () => {
    this.#graph.style(styles());
    this.#sketch.forgetColours();
    this.#labels.draw();
  };

  constructor(place, answer, choose) {
    this.#place = place;
    this.#graph = cytoscape({
      elements: elements(answer),
      layout: { name: "preset" },
      style: styles(),
      minZoom: 0.05,
      maxZoom: 4,
      pixelRatio: 1,
      textureOnViewport: true,
      hideEdgesOnViewport: true,
      boxSelectionEnabled: false,
      autoungrabify: true,
    });
    if (this.#graph.nodes().length <= ARRANGED) arrange(this.#graph);
    this.#graph.on("dragpan scrollzoom pinchzoom", () => (this.#moved = true));
    this.#graph.on("tap", (event) => choose(event.target === this.#graph ? null : (event.target.data("item") ?? null)));
    this.#scheme.addEventListener("change", this.#restyle);
    this.#theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    // The place has no size before it is on the page.
    this.#sizes = new ResizeObserver(() => this.#fit(place));
    this.#sizes.observe(place);
    this.#sketch = new GraphSketch(this.#graph, answer);
    this.#labels = new GraphLabels(this.#graph);
    this.#style(Date.now());
  }

  #sizes;
  #place;
  #sketch;
  #labels;
  #settling = null;
  #mounted = false;
  /** Whether somebody chose a part of the picture, which another size of the window then keeps. */
  #moved = false;

  #fit(place) {
    if (place.clientWidth === 0) return;
    if (!this.#mounted) this.#graph.mount(place);
    this.#graph.resize();
    if (!this.#moved) this.#graph.fit(undefined, FIT_PADDING);
    if (!this.#mounted) this.#labels.mount(place);
    this.#mounted = true;
    this.#labels.draw();
  }

  /** Fade what had not come yet or had ended at a time (milliseconds): as a sketch while the time changes. */
  showAt(at) {
    this.#sketch.draw(this.#place, at);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#style(at);
      this.#sketch.remove();
      this.#labels.draw();
    }, SETTLED_MS);
  }

  /** Only what changes is styled anew. */
  #style(at) {
    this.#ends ??= this.#graph.edges().map((edge) => ({ edge, ends: [edge.source().id(), edge.target().id()] }));
    this.#times ??= this.#graph.nodes(".memory").map((node) => ({ node, id: node.id(), ...timesOf(node.data("item")) }));
    const phases = new Map(this.#times.map(({ id, from, until }) => [id, from > at ? "future" : until <= at ? "ended" : "present"]));
    this.#graph.batch(() => {
      for (const { node, id } of this.#times) this.#enter(node, phases.get(id));
      for (const { edge, ends } of this.#ends) {
        const met = ends.map((id) => phases.get(id)).filter((phase) => phase !== undefined);
        this.#enter(edge, met.includes("future") ? "future" : met.every((phase) => phase === "ended") ? "ended" : "present");
      }
    });
  }

  #ends = null;
  #times = null;
  #phases = new Map();

  #enter(element, phase) {
    const before = this.#phases.get(element.id()) ?? "present";
    if (before === phase) return;
    this.#phases.set(element.id(), phase);
    element.removeClass(before).addClass(phase);
  }

  /** Mark the nodes whose text has these words; none without words. */
  highlight(words) {
    this.#graph.batch(() => {
      for (const node of this.#graph.nodes()) node.toggleClass("found", words !== "" && node.data("text").includes(words));
    });
    this.#labels.draw();
    const found = this.#graph.nodes(".found");
    if (found.length === 0) return;
    this.#moved = true;
    this.#graph.animate({ fit: { eles: found, padding: 80 }, duration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200 });
  }

  destroy() {
    clearTimeout(this.#settling);
    this.#labels.destroy();
    this.#sizes.disconnect();
    this.#scheme.removeEventListener("change", this.#restyle);
    this.#theme.disconnect();
    this.#graph.destroy();
  }
}

/** Let forces place what belongs together; memories without names and relations stand in rows below. */
function arrange(graph) {
  const alone = graph.nodes().filter((node) => node.degree() === 0);
  const joined = graph.elements().difference(alone);
  if (joined.nonempty()) joined.layout(ARRANGEMENT).run();
  widen(joined.nodes());
  const { x1, y2, w } = joined.nonempty() ? joined.boundingBox() : { x1: 0, y2: 0, w: ROW.width * Math.sqrt(alone.length) };
  const columns = Math.max(1, Math.floor(w / ROW.width));
  for (const [at, node] of alone.toArray().entries()) {
    node.position({ x: x1 + (at % columns) * ROW.width, y: y2 + (1 + Math.floor(at / columns)) * ROW.height });
  }
}

/** Stretch a narrow arrangement to the shape of its place, which also gives labels room. */
function widen(nodes) {
  const { w, h } = nodes.boundingBox();
  const by = Math.max(1, (WIDTH_TO_HEIGHT * h) / (w || 1));
  if (h > 0 && by < 4) nodes.positions((node) => ({ x: node.position().x * by, y: node.position().y }));
}

function timesOf({ createdAt, endedAt }) {
  return { from: Date.parse(createdAt), until: endedAt ? Date.parse(endedAt) : Infinity };
}

function elements({ memories, relations, names }) {
  const points = placeNodes(memories.length, names);
  return [
    ...names.map((item, at) => ({ group: "nodes", classes: "name", position: points.names[at], data: { id: `n${at}`, label: item.name, weight: item.memories.length, text: item.name.toLowerCase(), size: 24 + 6 * Math.sqrt(item.memories.length), item } })),
    ...memories.map((item, at) => ({ group: "nodes", classes: "memory", position: points.memories[at], data: { id: `m${at}`, label: labelOf(item.memory), weight: Date.parse(item.createdAt) / Date.now(), text: item.memory.toLowerCase(), item } })),
    ...names.flatMap((item, at) => item.memories.map((memory) => ({ group: "edges", classes: "names", data: { id: `n${at}-m${memory}`, source: `n${at}`, target: `m${memory}` } }))),
    ...relations.map(({ source, target, kind }) => ({ group: "edges", classes: kind, data: { id: `m${source}-${kind}-m${target}`, source: `m${source}`, target: `m${target}` } })),
  ];
}

/** The beginning of a memory. `User: ` comes before statements in other languages: every label would begin with it. */
function labelOf(text) {
  return shortened(text.replace(/^User: /, ""), LABEL_CHARACTERS);
}

/** Styles in the colours of the page, which cytoscape can't read from its stylesheet. */
function styles() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const [ink, accent, muted, warn, good] = ["ink", "accent", "muted", "warn", "good"].map(colour);
  probe.remove();
  return [
    { selector: ".memory", style: { "background-color": muted, width: 10, height: 10 } },
    { selector: ".name", style: { "background-color": accent, width: "data(size)", height: "data(size)" } },
    { selector: "edge", style: { width: 1, "line-color": muted, opacity: 0.35, "curve-style": "haystack" } },
    { selector: ".updates", style: { width: 2, opacity: 0.8, "line-color": warn } },
    { selector: ".extends", style: { width: 2, opacity: 0.8, "line-color": good } },
    { selector: ".derives", style: { width: 2, opacity: 0.8, "line-color": accent } },
    { selector: ".memory.ended", style: { opacity: 0.35 } },
    { selector: "edge.ended", style: { opacity: 0.15 } },
    { selector: ".memory.future", style: { opacity: 0.08 } },
    { selector: "edge.future", style: { opacity: 0.02 } },
    { selector: ".found", style: { "background-color": warn, width: 22, height: 22 } },
    { selector: ":selected", style: { "border-width": 3, "border-color": ink } },
  ];
}
