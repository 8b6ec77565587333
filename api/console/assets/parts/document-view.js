/** A document as it is: the pages of a PDF, a picture, or its text with headings and tables, with spans of it marked. */

import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { button } from "./forms.js";
import { toStringSpan } from "./highlights.js";
import { empty, failure, loading } from "./placeholders.js";
import { richText } from "./rich-text.js";

/** Views of the original, by type of document. */
const ORIGINALS = { pdf: showPages, image: showPicture };

/** `spans`: of code points in the text, to be marked and scrolled to. */
export function documentView(view, shown, spans) {
  const { content, type } = shown;
  if (content === null) return empty("No text yet", "It is shown as soon as the document has been read.");
  const marks = spans.map((span) => toStringSpan(content, span)).sort(([one], [other]) => one - other);
  const place = el("div");
  const asText = () => {
    refill(place, richText(content, type, marks));
    const mark = place.querySelector("mark");
    if (mark) requestAnimationFrame(() => mark.scrollIntoView({ block: "center" }));
  };
  const original = ORIGINALS[type];
  if (original === undefined) {
    asText();
    return place;
  }
  const asOriginal = () => original(view, place, spans, asText);
  const choices = [button("Original", () => choose(0)), button("Text", () => choose(1))];
  const choose = (at) => {
    for (const [number, choice] of choices.entries()) choice.setAttribute("aria-pressed", String(number === at));
    return [asOriginal, asText][at]();
  };
  choose(0);
  return el("div", {}, el("div.reader-bar", {}, el("div.tabs", { role: "group", "aria-label": "View" }, choices)), place);
}

async function showPages(view, place, spans, asText) {
  refill(place, loading("the pages"));
  try {
    const { showPdf } = await import("./pdf-view.js");
    const pages = el("div.pages", { tabindex: "0", role: "region", "aria-label": "Pages" }, loading("the pages"));
    const note = el("p.muted", { role: "status" });
    refill(place, pages, note);
    const found = await showPdf(view, pages, spans);
    if (found < spans.length) refill(note, "The passage could not be found on a page. It is marked in the text.");
  } catch (error) {
    if (view.signal.aborted) return;
    // Without a file, as when a source synchronized it, the text is all there is.
    if (error.status === 404) asText();
    else refill(place, failure({ message: "The pages can't be shown", details: `${error.message}. The text is shown under “Text”.`, status: error.status ?? 0 }));
  }
}

async function showPicture({ api, namespace, id, signal }, place, _, asText) {
  refill(place, loading("the picture"));
  try {
    const { content } = await api.download(path("ns", namespace, "explain", "originals", id), signal);
    const address = URL.createObjectURL(content);
    signal.addEventListener("abort", () => URL.revokeObjectURL(address));
    refill(place, el("img.picture", { src: address, alt: "The picture that the text was read from", on: { error: asText } }));
  } catch (error) {
    if (signal.aborted) return;
    if (error.status !== 404) throw error;
    asText();
  }
}
