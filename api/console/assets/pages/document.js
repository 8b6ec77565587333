/** A document as it is, with the linked passage marked; beside it its memories, passages and events. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { icon } from "../icons.js";
import { card } from "../parts/cards.js";
import { confirmAction } from "../parts/dialogs.js";
import { documentStatus } from "../parts/document-status.js";
import { documentView } from "../parts/document-view.js";
import { editDocumentForm } from "../parts/edit-document.js";
import { button } from "../parts/forms.js";
import { eventList } from "../parts/log-events.js";
import { pageLabel } from "../parts/page-label.js";
import { panel } from "../parts/panel.js";
import { failure, loading } from "../parts/placeholders.js";
import { poll, renew } from "../parts/polling.js";
import { excerpt } from "../parts/rich-text.js";
import { chips } from "../parts/search-result.js";

const BUSY_MS = 1000;

export async function document(view) {
  const { api, namespace, id, signal, rights } = view;
  const place = el("div");
  const spans = await wanted(view);
  let shown;
  const change = rights.writes(namespace) ? panel("Change this document", () => editDocumentForm(view, shown), { symbol: "edit" }) : null;
  const look = async () => {
    shown = await api.get(path("ns", namespace, "document", id), { include: "chunks,memories" }, signal);
    renew(place, shown, () => parts(view, shown, spans, change));
    return shown.system.dreamingStatus === "dreaming" || !["done", "failed"].includes(shown.system.status);
  };
  if (await look()) poll(signal, BUSY_MS, look);
  view.head(
    shown.title ?? shown.id,
    original(view, shown),
    change?.button,
    rights.forgets(namespace) ? button("Delete this document", () => remove(view, shown), { class: "danger" }) : null,
  );
  return [change?.node, place, log(view)];
}

function parts(view, shown, spans, change) {
  return [
    facts(shown),
    shown.system.error ? unread(shown.system.error, change) : null,
    chips(shown.metadata),
    shown.content === null && shown.system.status === "failed"
      ? null
      : el("div.reader", {}, el("div", {}, documentView(view, shown, spans)), el("aside", {}, memories(shown, view), shown.summary ? card("Summary", excerpt(shown.summary, shown.type)) : null, passages(shown, view.namespace))),
  ];
}

function facts({ id, type, system, chunks }) {
  return el("p.muted", {}, documentStatus(system), ` ${type}, ${plural(chunks.length, "passage")}, added `, time(system.createdAt), ", id ", el("code", {}, id));
}

/** Why the newest content could not be read, and what to do. */
function unread(error, change) {
  const mend = change && el("button", { type: "button", on: { click: () => change.show(true) } }, icon("edit"), "Replace the text or the file");
  return el("div.state.failure", { role: "alert" }, el("h2", {}, "This document could not be read"), el("p", {}, error), mend);
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

/** The memories of the document: each marks its sentence, and leads to its own page, where it is corrected. */
function memories({ memories: known, id, system }, { namespace, query }) {
  const none = system.dreamingStatus === "dreaming" ? "They are extracted when the namespace has been quiet for a while." : "No memory came from this document.";
  const row = (one) =>
    el(
      "li",
      {},
      el("a", { href: to(["ns", namespace, "memories", one.id]), dir: "auto", "aria-current": query.get("memory") === one.id ? "true" : null }, one.memory),
      el("a", { href: to(["ns", namespace, "documents", id], { memory: one.id }), "aria-label": `Mark the sentence of: ${one.memory}`, title: "Mark its sentence" }, icon("search")),
    );
  return card("Memories", known.length === 0 ? el("p.muted", {}, none) : el("ul.list", {}, known.map(row)));
}

function passages({ chunks, id, type }, namespace) {
  if (chunks.length === 0) return null;
  const shown = (one) => el("a", { href: to(["ns", namespace, "documents", id], { chunk: one.id }) }, "Show in the text");
  const page = (one) => pageLabel(type, one.metadata);
  return el(
    "details.card",
    {},
    el("summary", {}, plural(chunks.length, "passage")),
    el("ol.plain.passages", {}, chunks.map((one) => el("li.result", {}, excerpt(one.content, type), el("footer.muted", {}, page(one) ? `${page(one)} · ` : null, shown(one))))),
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
function original(view, { type }) {
  const { app, api, namespace, id, signal } = view;
  if (type === "text") return null;
  const save = () => app.attempt(async () => {
    const { name, content } = await api.download(path("ns", namespace, "explain", "originals", id), signal);
    const address = URL.createObjectURL(content);
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  });
  return el("button", { type: "button", on: { click: save } }, icon("download"), "Download the original");
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
