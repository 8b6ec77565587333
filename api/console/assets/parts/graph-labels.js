/** Labels of a memory graph: as many as fit without overlapping, the most important first. */

const NAME_FONT = "bold 14px";
const MEMORY_FONT = "12px";
const HEIGHT = 16;
const GAP = 4;
/** Labels of memories are shown from this zoom on; in a wider view of many there is room for names alone. */
const MEMORY_ZOOM = 0.55;
const FEW = 60;
const MOST = 160;
/** Pause of a movement after which labels are placed anew; meanwhile they move along. */
const SETTLED_MS = 120;
/** As narrow as the gap, so that a label fits beside the circle that it belongs to. */
const CELL = { width: 4, height: 4 };
const OPACITY = { ended: 0.55, present: 1 };

export class GraphLabels {
  #graph;
  #place;
  #canvas = document.createElement("canvas");
  #items;
  #view = null;
  #settling = null;

  constructor(graph) {
    this.#graph = graph;
    this.#canvas.className = "labels";
    this.#items = graph.nodes().map((node) => ({ node, isName: node.hasClass("name"), text: node.data("label"), weight: node.data("weight") })).sort((left, right) => right.isName - left.isName || right.weight - left.weight);
    graph.on("viewport", () => this.#follow());
    graph.on("select unselect", () => this.#later());
  }

  /** Draw over a place of the page from now on. */
  mount(place) {
    this.#place = place;
    place.append(this.#canvas);
    this.draw();
  }

  destroy() {
    clearTimeout(this.#settling);
    this.#canvas.remove();
  }

  /** Place the labels for the part of the graph that is in view. */
  draw() {
    if (!this.#place) return;
    clearTimeout(this.#settling);
    const [width, height, ratio] = [this.#place.clientWidth, this.#place.clientHeight, devicePixelRatio];
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    this.#canvas.style.transform = "";
    this.#view = { zoom: this.#graph.zoom(), ...this.#graph.pan() };
    const pen = this.#canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const { color, backgroundColor, fontFamily } = getComputedStyle(this.#place);
    Object.assign(pen, { textBaseline: "middle" });
    const items = this.#inView(width, height).map((item) => {
      pen.font = `${item.isName ? NAME_FONT : MEMORY_FONT} ${fontFamily}`;
      return { ...item, font: pen.font, width: pen.measureText(item.text).width };
    });
    for (const { item, x, y } of placeLabels(items, width, height)) {
      pen.font = item.font;
      pen.globalAlpha = item.node.hasClass("ended") ? OPACITY.ended : OPACITY.present;
      // A line behind it would strike it out.
      pen.fillStyle = backgroundColor;
      pen.fillRect(x - 1, y, item.width + 2, HEIGHT);
      pen.fillStyle = color;
      pen.fillText(item.text, x, y + HEIGHT / 2);
    }
  }

  /** Nodes with a label in view, the chosen and the found ones first. */
  #inView(width, height) {
    const { zoom, x: left, y: top } = this.#view;
    const chosen = this.#graph.nodes(":selected").closedNeighborhood().nodes();
    const isFirst = ({ node }) => chosen.contains(node) || node.hasClass("found");
    const seen = this.#items
      .filter((item) => (item.isName || this.#items.length <= FEW || zoom >= MEMORY_ZOOM || isFirst(item)) && !item.node.hasClass("future"))
      .map((item) => {
        const { x, y } = item.node.position();
        return { ...item, x: x * zoom + left, y: y * zoom + top, radius: (item.node.width() / 2) * zoom, isFirst: isFirst(item) };
      })
      .filter(({ x, y }) => x > 0 && y > 0 && x < width && y < height);
    return [...seen.filter((item) => item.isFirst), ...seen.filter((item) => !item.isFirst)];
  }

  /** Move what is drawn along with the graph, which costs nothing, until it rests. */
  #follow() {
    if (this.#view === null) return;
    const { zoom, x, y } = this.#view;
    const scale = this.#graph.zoom() / zoom;
    const pan = this.#graph.pan();
    this.#canvas.style.transform = `matrix(${scale}, 0, 0, ${scale}, ${pan.x - x * scale}, ${pan.y - y * scale})`;
    this.#later();
  }

  #later() {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.draw(), SETTLED_MS);
  }
}

/**
 * Give labels places beside their nodes without overlapping one another or a node.
 * `items`: `{ x, y, radius, isName, width }` in pixels, the most important first; those without room are left out.
 */
export function placeLabels(items, width, height) {
  const room = new Room(width, height);
  for (const { x, y, radius } of items) room.take(x - radius, y - radius, 2 * radius, 2 * radius);
  const placed = [];
  for (const item of items) {
    if (placed.length === MOST) break;
    const spot = spotsBeside(item).find(([x, y]) => room.isFree(x, y, item.width, HEIGHT));
    if (spot === undefined) continue;
    room.take(...spot, item.width, HEIGHT);
    placed.push({ item, x: spot[0], y: spot[1] });
  }
  return placed;
}

function spotsBeside({ x, y, radius, isName, width }) {
  const beside = radius + GAP;
  const right = [x + beside, y - HEIGHT / 2];
  const left = [x - beside - width, y - HEIGHT / 2];
  const below = [x - width / 2, y + beside];
  const above = [x - width / 2, y - beside - HEIGHT];
  return isName ? [below, above, right, left] : [right, left, below, above];
}

/** Which parts of the picture are taken. */
class Room {
  #columns;
  #rows;
  #taken;

  constructor(width, height) {
    this.#columns = Math.ceil(width / CELL.width);
    this.#rows = Math.ceil(height / CELL.height);
    this.#taken = new Uint8Array(this.#columns * this.#rows);
  }

  /** Whether a rectangle lies within the picture, and no part of it is taken. */
  isFree(x, y, width, height) {
    if (x < 0 || y < 0 || x + width > this.#columns * CELL.width || y + height > this.#rows * CELL.height) return false;
    return this.#cells(x, y, width, height).every((cell) => this.#taken[cell] === 0);
  }

  take(x, y, width, height) {
    for (const cell of this.#cells(x, y, width, height)) this.#taken[cell] = 1;
  }

  #cells(x, y, width, height) {
    const cells = [];
    const [first, last] = [Math.max(0, Math.floor(x / CELL.width)), Math.min(this.#columns - 1, Math.floor((x + width) / CELL.width))];
    for (let row = Math.max(0, Math.floor(y / CELL.height)); row <= Math.min(this.#rows - 1, Math.floor((y + height) / CELL.height)); row += 1) {
      for (let column = first; column <= last; column += 1) cells.push(row * this.#columns + column);
    }
    return cells;
  }
}
