/** The pages of a PDF, drawn by pdf.js as they come into view, with a text marked on its page. */

import { el } from "../dom.js";
import { GlobalWorkerOptions, getDocument } from "../vendor/pdfjs.js";

const WORKER = new URL("../vendor/pdfjs-worker.js", import.meta.url).href;
const MOST_PIXELS = 2;
/** Texts are looked for by their beginning too: over a page end, or where the parser joined lines differently. */
const BEGINNINGS = [Infinity, 160, 60];

/** Show a PDF in a place of the page until the signal aborts. `needles`: texts to mark; resolves to how many were found. */
export async function showPdf(place, content, needles, signal) {
  GlobalWorkerOptions.workerPort ??= new Worker(workerAddress(), { type: "module" });
  const task = getDocument({ data: new Uint8Array(await content.arrayBuffer()), isEvalSupported: false, useWasm: false, useWorkerFetch: false, enableXfa: false });
  signal.addEventListener("abort", () => task.destroy());
  const pdf = await task.promise;
  const first = (await pdf.getPage(1)).getViewport({ scale: 1 });
  const pages = Array.from({ length: pdf.numPages }, (_, at) => frame(at + 1, first));
  place.replaceChildren(...pages);
  drawWhenSeen(place, pages, pdf, signal);
  const marks = await findTexts(pdf, needles);
  for (const { page, boxes } of marks) for (const box of boxes) pages[page - 1].append(mark(box));
  if (marks.length > 0) pages[marks[0].page - 1].querySelector(".mark").scrollIntoView({ block: "center" });
  return marks.length;
}

/** The one address that the console's policy lets a worker be made of. */
function workerAddress() {
  const policy = globalThis.trustedTypes?.createPolicy("recollect-worker", { createScriptURL: () => WORKER });
  return policy ? policy.createScriptURL("") : WORKER;
}

function frame(number, { width, height }) {
  const node = el("div.page", { role: "img", "aria-label": `Page ${number}`, "data-page": number }, el("span.number", { "aria-hidden": "true" }, String(number)));
  node.style.aspectRatio = `${width} / ${height}`;
  return node;
}

function drawWhenSeen(place, pages, pdf, signal) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(pdf, target).catch((error) => { if (!signal.aborted) throw error; });
    }
  }, { root: place, rootMargin: "600px" });
  for (const page of pages) seen.observe(page);
  signal.addEventListener("abort", () => seen.disconnect());
}

async function draw(pdf, node) {
  const page = await pdf.getPage(Number(node.dataset.page));
  const natural = page.getViewport({ scale: 1 });
  const scale = (node.clientWidth / natural.width) * Math.min(devicePixelRatio, MOST_PIXELS);
  const viewport = page.getViewport({ scale });
  node.style.aspectRatio = `${natural.width} / ${natural.height}`;
  const canvas = el("canvas", { width: Math.floor(viewport.width), height: Math.floor(viewport.height) });
  await page.render({ canvas, viewport }).promise;
  node.prepend(canvas);
}

/** Where texts stand: boxes in hundredths of their page. */
async function findTexts(pdf, needles) {
  let wanted = needles.map(({ text, page }) => ({ folded: folded(text), page })).filter(({ folded: text }) => text !== "");
  const found = [];
  for (const length of BEGINNINGS) {
    for (let number = 1; number <= pdf.numPages && wanted.length > 0; number += 1) {
      const here = wanted.filter(({ page }) => page === undefined || Math.abs(page - number) <= 1);
      if (here.length === 0) continue;
      const page = await pdf.getPage(number);
      const text = await readPage(page);
      for (const needle of here) {
        const boxes = boxesOf(text, needle.folded.slice(0, length));
        if (boxes.length === 0) continue;
        found.push({ page: number, boxes });
        wanted = wanted.filter((one) => one !== needle);
      }
    }
  }
  return found.sort((one, other) => one.page - other.page);
}

/** Without spaces, hyphens and case, which parsers treat differently. */
function folded(text) {
  return text.normalize("NFKC").replaceAll(/[\s\u00ad\p{Pd}#*|_`\\]/gu, "").toLowerCase();
}

async function readPage(page) {
  const { items } = await page.getTextContent();
  const viewport = page.getViewport({ scale: 1 });
  const parts = items.filter((item) => item.str).map((item) => ({ item, text: folded(item.str) }));
  return { parts, joined: parts.map(({ text }) => text).join(""), viewport };
}

function boxesOf({ parts, joined, viewport }, needle) {
  const start = joined.indexOf(needle);
  if (start < 0) return [];
  const end = start + needle.length;
  const boxes = [];
  let at = 0;
  for (const { item, text } of parts) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, text.length)];
    if (from < to) boxes.push(boxOf(item, from / text.length, to / text.length, viewport));
    at += text.length;
  }
  return boxes;
}

/** A part of a line, by the shares of its width where it begins and ends. */
function boxOf({ transform, width, height }, from, to, viewport) {
  const [, , , , x, y] = transform;
  const rise = height || Math.hypot(transform[2], transform[3]);
  const corners = [viewport.convertToViewportPoint(x + width * from, y - rise * 0.25), viewport.convertToViewportPoint(x + width * to, y + rise)];
  const [left, right] = corners.map(([across]) => across).sort((one, other) => one - other);
  const [top, bottom] = corners.map(([, down]) => down).sort((one, other) => one - other);
  const share = (length, all) => `${(100 * length) / all}%`;
  return { left: share(left, viewport.width), top: share(top, viewport.height), width: share(right - left, viewport.width), height: share(bottom - top, viewport.height) };
}

function mark(box) {
  const node = el("span.mark");
  Object.assign(node.style, box);
  return node;
}
