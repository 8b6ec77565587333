/** First steps in an empty service: a text, a file or a source, then a question that is answered. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { addDocumentForm } from "./add-document.js";
import { actionForm, field, submit } from "./forms.js";
import { searchResult } from "./search-result.js";
import { empty } from "./placeholders.js";

const RESULTS = 3;

export function firstSteps({ app, api, signal }) {
  const namespace = firstNamespace(app.who);
  const answers = el("div", { "aria-live": "polite" });
  const next = el("section.card", {}, el("h2.muted", {}, "2. Ask about it"), el("p.muted", {}, "The question stands here as soon as something was added."));
  let isAsking = false;
  const added = () => {
    if (!isAsking) refill(next, el("h2", {}, "2. Ask about it"), question(api, namespace, signal, answers), answers);
    isAsking = true;
  };
  return el(
    "div",
    {},
    el("p", {}, "Nothing is remembered yet. Start with a text, a file or a source."),
    el("section.card", {}, el("h2", {}, "1. Add something"), addDocumentForm({ api, namespace, signal }, added, { dreaming: "instant" })),
    el("p", {}, "Or ", el("a", { href: to(["ns", namespace, "connectors"]) }, "connect a source"), ": Notion, Drive, OneDrive, Gmail, GitHub, S3, a web site or Granola."),
    next,
  );
}

/** A namespace that the key may write to: "home", below its scope if it has one. */
function firstNamespace({ namespaces }) {
  if (namespaces === null) return "home";
  return namespaces[0].replace(/\*$/, "home");
}

function question(api, namespace, signal, place) {
  const input = el("input", { type: "search", required: true, autocomplete: "off", dir: "auto" });
  const ask = async () => {
    const body = { query: input.value, limit: RESULTS, include: { documents: true, related: false, forgotten: false } };
    const { results, scale } = await api.post(path("ns", namespace, "explain", "search"), body, undefined, signal);
    const shown = results.map((result) => el("li", {}, searchResult(result, { namespace, scale })));
    refill(place, shown.length > 0 ? el("ol.plain.passages", {}, shown) : empty("Nothing found yet", "The text may still be read: ask again in a moment, or in other words."));
  };
  return actionForm(ask, { class: "row", role: "search" }, field("Question", input), submit("Ask"));
}
