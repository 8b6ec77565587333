/** Sketch of a memory graph, without labels, over the drawing: quick enough for every frame while the slider moves. */

/** Opacity by phase, as in the styles of the drawing. */
const NODE_OPACITY = { present: 1, ended: 0.35, future: 0.08 };
const LINE_OPACITY = { present: 0.35, ended: 0.15, future: 0.02 };
const PHASES = ["future", "ended", "present"];
const COLOURS = ["surface", "accent", "muted"];

export class GraphSketch {
  #graph;
  #items;
  #memories;
  #names = null;
  #lines = null;
  #colours = null;
  #canvas = null;

  constructor(graph, { memories }) {
    this.#graph = graph;
    this.#items = memories;
  }

  /** Draw the graph as of a time over its place, in the part and size that the drawing shows. */
  draw(place, at) {
    this.#names ??= this.#graph.nodes(".name").map((node) => ({ ...node.position(), size: node.data("size") / 2 }));
    this.#memories ??= this.#items.map(({ createdAt, endedAt }, row) => ({
      ...this.#graph.getElementById(`m${row}`).position(),
      from: Date.parse(createdAt),
      until: endedAt ? Date.parse(endedAt) : Infinity,
    }));
    this.#lines ??= this.#graph.edges().map((edge) => [edge.source(), edge.target()].map((end) => ({ ...end.position(), row: end.hasClass("memory") ? Number(end.id().slice(1)) : null })));
    this.#colours ??= Object.fromEntries(COLOURS.map((name) => [name, colour(place, name)]));
    const pen = this.#pen(place);
    const phases = this.#memories.map(({ from, until }) => (from > at ? "future" : until <= at ? "ended" : "present"));
    for (const phase of PHASES) this.#drawLines(pen, phase, phases);
    for (const phase of PHASES) {
      pen.globalAlpha = NODE_OPACITY[phase];
      dots(pen, this.#memories.filter((_, row) => phases[row] === phase), this.#colours.muted, () => 5);
    }
    pen.globalAlpha = 1;
    dots(pen, this.#names, this.#colours.accent, ({ size }) => size);
  }

  remove() {
    this.#canvas?.remove();
    this.#canvas = null;
  }

  forgetColours() {
    this.#colours = null;
  }

  #pen(place) {
    if (this.#canvas === null) {
      this.#canvas = document.createElement("canvas");
      this.#canvas.className = "sketch";
      place.append(this.#canvas);
    }
    const [width, height] = [place.clientWidth, place.clientHeight];
    // A new size clears the canvas, and takes longer than clearing it.
    if (this.#canvas.width !== width) this.#canvas.width = width;
    if (this.#canvas.height !== height) this.#canvas.height = height;
    const pen = this.#canvas.getContext("2d", { alpha: false });
    const [zoom, { x, y }] = [this.#graph.zoom(), this.#graph.pan()];
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = this.#colours.surface;
    pen.fillRect(0, 0, width, height);
    pen.setTransform(zoom, 0, 0, zoom, x, y);
    return pen;
  }

  /** One path of all lines of a phase: one stroke is much faster than thousands. */
  #drawLines(pen, phase, phases) {
    pen.globalAlpha = LINE_OPACITY[phase];
    pen.strokeStyle = this.#colours.muted;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const [source, target] of this.#lines) {
      if (phaseOf(source, target, phases) !== phase) continue;
      pen.moveTo(source.x, source.y);
      pen.lineTo(target.x, target.y);
    }
    pen.stroke();
  }
}

function phaseOf(source, target, phases) {
  const met = [source, target].filter(({ row }) => row !== null).map(({ row }) => phases[row]);
  return met.includes("future") ? "future" : met.every((phase) => phase === "ended") ? "ended" : "present";
}

function dots(pen, points, fill, radius) {
  pen.fillStyle = fill;
  pen.beginPath();
  for (const point of points) {
    const size = radius(point);
    pen.moveTo(point.x + size, point.y);
    pen.arc(point.x, point.y, size, 0, 2 * Math.PI);
  }
  pen.fill();
}

function colour(place, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  place.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
