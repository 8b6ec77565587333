/** Why a document is not among the results of a search. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { number } from "../format.js";
import { actionForm, field, submit } from "./forms.js";
import { searchResult } from "./search-result.js";

export function whyNot({ api, namespace, signal }, body) {
  const id = el("input", { required: true, autocomplete: "off", spellcheck: "false", maxlength: "255" });
  const place = el("div", { "aria-live": "polite" });
  const ask = async () => {
    const answer = await api.post(path("ns", namespace, "explain", "missing"), { ...body, document: id.value.trim() }, undefined, signal);
    refill(place, shown(answer, namespace));
  };
  return el(
    "details.why-not",
    {},
    el("summary", {}, "Why is a document not here?"),
    actionForm(ask, { class: "row" }, field("Id of the document", id, "The list of documents shows it."), submit("Explain")),
    place,
  );
}

function shown({ document, causes, rank, best, scale }, namespace) {
  const isFound = causes.some(({ reason }) => reason === "found");
  const link = causes.some(({ reason }) => reason === "unknown") ? el("code", {}, document) : el("a", { href: to(["ns", namespace, "documents", document]) }, document);
  return [
    el("h2", {}, link),
    isFound ? el("p", {}, "It is among the results.") : el("ul", {}, causes.map(({ description }) => el("li", {}, description))),
    best === null || isFound ? null : el("p.muted", {}, rank === null ? "What of it comes closest:" : `What of it comes closest, at place ${number(rank)} without threshold, limit and reranking:`),
    best === null || isFound ? null : searchResult(best, { namespace, scale }),
  ];
}
