/** The pages of a PDF as the service draws them, as they come into view, with their text to select and passages marked. */

import { path } from "../api.js";
import { el, svg } from "../dom.js";
import { failure } from "./placeholders.js";

/** Pixels of a picture for each of the page: small print is blurred at one. */
const DENSITIES = [1.5, 2];
const MOST_WIDTH = 2400;
/** Text is laid over the picture in units of the page's width. */
const UNITS = 1000;

/** Show a PDF in a place of the page. `spans`: of the text, to mark; resolves to how many were found. */
export async function showPdf({ api, namespace, id, signal }, place, spans) {
  const query = { span: spans.map(({ start, end }) => `${start}-${end}`) };
  const { pages, marks } = await api.get(path("ns", namespace, "explain", "pages", id), query, signal);
  const frames = pages.map(frame);
  const found = marks.filter(({ page }) => page !== null);
  for (const { page, boxes } of found) for (const box of boxes) frames[page - 1].append(mark(box));
  place.replaceChildren(...frames);
  place.querySelector(".mark")?.scrollIntoView({ block: "center" });
  drawWhenSeen(place, frames, signal, (node) => draw({ api, namespace, id, signal }, node));
  return found.length;
}

function frame({ width, height }, at) {
  const node = el("section.page", { "aria-label": `Page ${at + 1}`, "data-page": at + 1 }, el("span.number", { "aria-hidden": "true" }, String(at + 1)));
  node.style.aspectRatio = `${width} / ${height}`;
  return node;
}

function drawWhenSeen(place, frames, signal, drawPage) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      drawPage(target).catch((error) => { if (!signal.aborted) target.append(failure(error)); });
    }
  }, { root: place, rootMargin: "200px" });
  for (const node of frames) seen.observe(node);
  signal.addEventListener("abort", () => seen.disconnect());
}

async function draw({ api, namespace, id, signal }, node) {
  const page = node.dataset.page;
  const density = Math.min(Math.max(devicePixelRatio, DENSITIES[0]), DENSITIES[1]);
  const width = Math.min(MOST_WIDTH, Math.max(100, Math.round(node.clientWidth * density)));
  const picture = await api.picture(path("ns", namespace, "explain", "page-pictures", id), { page, width }, signal);
  const address = URL.createObjectURL(picture);
  signal.addEventListener("abort", () => URL.revokeObjectURL(address));
  const image = el("img", { src: address, alt: "" });
  await image.decode();
  node.prepend(image);
  const { lines } = await api.get(path("ns", namespace, "explain", "page-texts", id), { page }, signal);
  node.append(textLayer(lines, node.clientHeight / node.clientWidth));
}

/** The words of a page, invisible over its picture: to be selected, found and read aloud. */
function textLayer(lines, ratio) {
  const tall = UNITS * ratio;
  const line = ({ text, box }) =>
    svg("text", { x: box.left * UNITS, y: (box.top + box.height * 0.8) * tall, "font-size": box.height * tall, textLength: box.width * UNITS, lengthAdjust: "spacingAndGlyphs" }, `${text}\n`);
  return svg("svg", { class: "words", viewBox: `0 0 ${UNITS} ${tall}` }, lines.map(line));
}

function mark({ left, top, width, height }) {
  const node = el("span.mark");
  const share = (one) => `${100 * one}%`;
  Object.assign(node.style, { left: share(left), top: share(top), width: share(width), height: share(height) });
  return node;
}
