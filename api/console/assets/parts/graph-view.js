/** Drawing of a memory graph with cytoscape.js, in the console's colours. */

import { placeNodes } from "./graph-layout.js";
import { GraphSketch } from "./graph-sketch.js";
import cytoscape from "../vendor/cytoscape.js";

const LABEL_CHARACTERS = 28;
/** Pause of the slider after which the graph is styled anew, which takes longer than a frame. */
const SETTLED_MS = 150;

/** The picture in a place of the page; `choose` gets a memory or a name of the answer, or null. */
export class GraphView {
  #graph;
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #theme = new MutationObserver(() => this.#restyle());
  #restyle = () => {
    this.#graph.style(styles());
    this.#sketch.forgetColours();
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
    this.#graph.on("tap", (event) => choose(event.target === this.#graph ? null : (event.target.data("item") ?? null)));
    this.#scheme.addEventListener("change", this.#restyle);
    this.#theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    // The place has no size before it is on the page.
    this.#sizes = new ResizeObserver(() => this.#fit(place));
    this.#sizes.observe(place);
    this.#sketch = new GraphSketch(this.#graph, answer);
    this.#style(Date.now());
  }

  #sizes;
  #place;
  #sketch;
  #settling = null;
  #mounted = false;

  #fit(place) {
    if (!this.#mounted && place.clientWidth > 0) {
      this.#mounted = true;
      this.#graph.mount(place);
      this.#graph.fit(undefined, 24);
    }
    this.#graph.resize();
  }

  /** Fade what had not come yet or had ended at a time (milliseconds): as a sketch while the time changes. */
  showAt(at) {
    this.#sketch.draw(this.#place, at);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#style(at);
      this.#sketch.remove();
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
    const found = this.#graph.nodes(".found");
    if (found.length > 0) this.#graph.animate({ fit: { eles: found, padding: 80 }, duration: 200 });
  }

  destroy() {
    clearTimeout(this.#settling);
    this.#sizes.disconnect();
    this.#scheme.removeEventListener("change", this.#restyle);
    this.#theme.disconnect();
    this.#graph.destroy();
  }
}

function timesOf({ createdAt, endedAt }) {
  return { from: Date.parse(createdAt), until: endedAt ? Date.parse(endedAt) : Infinity };
}

function elements({ memories, relations, names }) {
  const points = placeNodes(memories.length, names);
  return [
    ...names.map((item, at) => ({ group: "nodes", classes: "name", position: points.names[at], data: { id: `n${at}`, label: item.name, text: item.name.toLowerCase(), size: 24 + 6 * Math.sqrt(item.memories.length), item } })),
    ...memories.map((item, at) => ({ group: "nodes", classes: "memory", position: points.memories[at], data: { id: `m${at}`, label: shortened(item.memory), text: item.memory.toLowerCase(), item } })),
    ...names.flatMap((item, at) => item.memories.map((memory) => ({ group: "edges", classes: "names", data: { id: `n${at}-m${memory}`, source: `n${at}`, target: `m${memory}` } }))),
    ...relations.map(({ source, target, kind }) => ({ group: "edges", classes: kind, data: { id: `m${source}-${kind}-m${target}`, source: `m${source}`, target: `m${target}` } })),
  ];
}

function shortened(text) {
  return text.length > LABEL_CHARACTERS ? `${text.slice(0, LABEL_CHARACTERS)}…` : text;
}

/** Styles in the colours of the page, which cytoscape can't read from its stylesheet. */
function styles() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const [ink, accent, muted, warn, good, surface] = ["ink", "accent", "muted", "warn", "good", "surface"].map(colour);
  probe.remove();
  return [
    { selector: "node", style: { label: "data(label)", color: ink, "font-size": 12, "min-zoomed-font-size": 8, "text-valign": "bottom", "text-margin-y": 4 } },
    { selector: ".memory", style: { "background-color": muted, width: 10, height: 10 } },
    { selector: ".name", style: { "background-color": accent, width: "data(size)", height: "data(size)", "font-size": 19, "font-weight": "bold", "min-zoomed-font-size": 6, "text-outline-color": surface, "text-outline-width": 2 } },
    { selector: "edge", style: { width: 1, "line-color": muted, opacity: 0.35, "curve-style": "haystack" } },
    { selector: ".updates", style: { width: 2, opacity: 0.8, "line-color": warn } },
    { selector: ".extends", style: { width: 2, opacity: 0.8, "line-color": good } },
    { selector: ".derives", style: { width: 2, opacity: 0.8, "line-color": accent } },
    { selector: ".memory.ended", style: { opacity: 0.35 } },
    { selector: "edge.ended", style: { opacity: 0.15 } },
    { selector: ".memory.future", style: { opacity: 0.08, "text-opacity": 0 } },
    { selector: "edge.future", style: { opacity: 0.02 } },
    { selector: ".found", style: { "background-color": warn, width: 22, height: 22 } },
    { selector: ":selected", style: { "border-width": 3, "border-color": ink } },
  ];
}
