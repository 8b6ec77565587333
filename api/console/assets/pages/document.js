/** A document: text with the linked passage highlighted, chunks, memories. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { editDocumentForm } from "../parts/edit-document.js";
import { confirmAction } from "../parts/dialogs.js";
import { eventList } from "../parts/log-events.js";
import { button } from "../parts/forms.js";
import { poll, renew } from "../parts/polling.js";
import { pageLabel } from "../parts/page-label.js";
import { chips } from "../parts/search-result.js";
import { empty, failure, loading } from "../parts/placeholders.js";
import { documentStatus } from "../parts/document-status.js";
import { toStringSpan, highlightSpans } from "../parts/highlights.js";

const BUSY_MS = 1000;

export async function document(view) {
  const place = el("div");
  const spans = await wanted(view);
  let shown;
  const look = async () => {
    shown = await view.api.get(path("ns", view.namespace, "document", view.id), { include: "chunks,memories" }, view.signal);
    renew(place, shown, () => parts(view, shown, spans));
    return shown.system.dreamingStatus === "dreaming" || !["done", "failed"].includes(shown.system.status);
  };
  if (await look()) poll(view.signal, BUSY_MS, look);
  return [place, original(view, () => shown), log(view), view.rights.writes(view.namespace) ? [editDocumentForm(view, () => shown), deletion(view, () => shown)] : null];
}

function parts(view, shown, spans) {
  const { namespace } = view;
  return [
    el("h2", {}, shown.title ?? shown.id),
    facts(shown),
    shown.system.error ? el("p.trouble", { role: "alert" }, shown.system.error) : null,
    chips(shown.metadata),
    shown.summary ? el("p", {}, shown.summary) : null,
    text(shown, spans),
    memories(shown, namespace),
    passages(shown, namespace),
  ];
}

function facts({ id, type, system, chunks }) {
  return el("p.muted", {}, documentStatus(system), ` ${type}, ${plural(chunks.length, "passage")}, added `, time(system.createdAt), ", id ", el("code", {}, id));
}

/** Spans of the linked passage or memory; none if the log is unavailable. */
async function wanted({ api, namespace, id, query, signal }) {
  const [chunk, memory] = [query.get("chunk"), query.get("memory")];
  try {
    if (chunk !== null) return [(await api.get(path("ns", namespace, "explain", "chunks", chunk), {}, signal)).span];
    if (memory === null) return [];
    const { statements } = await api.get(path("ns", namespace, "explain", "memories", memory), {}, signal);
    return statements.filter((one) => one.document?.id === id && one.span).map((one) => one.span);
  } catch (error) {
    if (error.status !== 404 && error.status !== 503) throw error;
    return [];
  }
}

function text({ content, system }, spans) {
  if (content === null) {
    return system.status === "failed" ? null : empty("No text yet", "Available once the document has been parsed.");
  }
  const marked = spans.map((span) => toStringSpan(content, span)).sort(([one], [other]) => one - other);
  const shown = el("div.document", { tabindex: "0", role: "region", "aria-label": "Text" }, highlightSpans(content, marked));
  const mark = shown.querySelector("mark");
  if (mark) requestAnimationFrame(() => mark.scrollIntoView({ block: "center" }));
  return shown;
}

function memories({ memories: known }, namespace) {
  if (known.length === 0) return null;
  const link = (one) => el("a", { href: to(["ns", namespace, "memories", one.id]) }, one.memory);
  return el("section", {}, el("h2", {}, "Memories"), el("ul", {}, known.map((one) => el("li", {}, link(one)))));
}

function passages({ chunks, id, type }, namespace) {
  if (chunks.length === 0) return null;
  const shown = (one) => el("a", { href: to(["ns", namespace, "documents", id], { chunk: one.id }) }, "Show in the text");
  const page = (one) => pageLabel(type, one.metadata);
  return el(
    "details",
    {},
    el("summary", {}, plural(chunks.length, "passage")),
    el("ol.plain.passages", {}, chunks.map((one) => el("li.result", {}, el("p.text", {}, one.content), el("footer.muted", {}, page(one) ? `${page(one)} · ` : null, shown(one))))),
  );
}

/** Events of the document, loaded on demand. */
function log({ api, namespace, id, signal }) {
  const place = el("div");
  const begin = (event) => {
    if (!event.target.open) return;
    place.replaceChildren(loading("the log"));
    api.get(path("ns", namespace, "explain", "documents", id), {}, signal).then(
      ({ events: rows, notes }) => place.replaceChildren(eventList(rows), ...notes.map((note) => el("p.muted", {}, note))),
      (error) => place.replaceChildren(failure(error)),
    );
  };
  return el("details", { on: { toggle: begin } }, el("summary", {}, "Events in the log"), place);
}

/** Button that saves the file the document was uploaded as. */
function original(view, newest) {
  const { app, api, namespace, id, signal } = view;
  if (newest().type === "text") return null;
  const save = () => app.attempt(async () => {
    const { name, content } = await api.download(path("ns", namespace, "explain", "originals", id), signal);
    const address = URL.createObjectURL(content);
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  });
  return el("div.actions", {}, button("Download the original", save));
}

function deletion(view, newest) {
  return el("div.actions", {}, button("Delete this document", () => remove(view, newest()), { class: "danger" }));
}

async function remove({ app, api, namespace }, { id, title }) {
  const text = "Its chunks and the memories only it supports are deleted. This cannot be undone.";
  if (!(await confirmAction(`Delete ${title ?? id}?`, text, "Delete"))) return;
  await app.attempt(async () => {
    await api.delete(path("ns", namespace, "document"), { body: { ids: [id] } });
    app.go(["ns", namespace, "documents"]);
    return "The document is deleted.";
  });
}
