/** Why a document is not among the results of a search. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el, freshId, refill } from "../dom.js";
import { number } from "../format.js";
import { actionForm, field, submit } from "./forms.js";
import { panel } from "./panel.js";
import { searchResult } from "./search-result.js";

/** Documents offered by title; any other one is named by its id. */
const OFFERED = 100;

export function whyNot({ api, namespace, signal }, body) {
  const choices = el("datalist", { id: freshId("documents") });
  const wanted = el("input", { required: true, autocomplete: "off", spellcheck: "false", dir: "auto", maxlength: "255", list: choices.id });
  const ids = new Map();
  const offer = async () => {
    const { documents } = await api.post(path("ns", namespace, "list", "documents"), {}, { limit: OFFERED }, signal);
    for (const { id, title } of documents.reverse()) ids.set(title ?? id, id);
    refill(choices, [...ids.keys()].reverse().map((value) => el("option", { value })));
  };
  const place = el("div", { "aria-live": "polite" });
  let offered;
  const ask = async () => {
    await offered;
    const answer = await api.post(path("ns", namespace, "explain", "missing"), { ...body, document: ids.get(wanted.value) ?? wanted.value.trim() }, undefined, signal);
    const title = [...ids].find(([, id]) => id === answer.document)?.[0];
    refill(place, shown(answer, title ?? answer.document, namespace));
  };
  return panel("Why is a document not here?", () => {
    offered = offer();
    return [actionForm(ask, { class: "row" }, field("Document", wanted, "One of the newest by its title, or any by the id on its page."), choices, submit("Explain")), place];
  }, { name: "why-not" });
}

function shown({ document, causes, rank, best, scale }, title, namespace) {
  const isFound = causes.some(({ reason }) => reason === "found");
  const link = causes.some(({ reason }) => reason === "unknown") ? el("code", {}, document) : el("a", { href: to(["ns", namespace, "documents", document]), dir: "auto" }, title);
  return [
    el("h2", {}, link),
    isFound ? el("p", {}, "It is among the results.") : el("ul", {}, causes.map(({ description }) => el("li", {}, description))),
    best === null || isFound ? null : el("p.muted", {}, rank === null ? "What of it comes closest:" : `What of it comes closest, at place ${number(rank)} without threshold, limit and reranking:`),
    best === null || isFound ? null : searchResult(best, { namespace, scale }),
  ];
}
