/** Search in a namespace, with all options. */

import { el, refill } from "../dom.js";
import { path } from "../api.js";
import { icon } from "../icons.js";
import { number, plural } from "../format.js";
import { FilterBuilder } from "../parts/filters.js";
import { checkbox, field, form, select } from "../parts/forms.js";
import { pastMomentNotice, momentInput, readMoment } from "../parts/past-moment.js";
import { requestAsCode } from "../parts/request-as-code.js";
import { compareSearches } from "../parts/compare-searches.js";
import { searchResult } from "../parts/search-result.js";
import { whyNot } from "../parts/why-not.js";
import { empty, failure, loading, noContent } from "../parts/placeholders.js";

const MODES = { hybrid: "Memories and passages", memories: "Memories only", chunks: "Passages only" };
const RERANKS = { none: "Off", order: "Reorder the top results", aggregate: "Reorder and merge duplicates" };
const USUAL = { searchMode: "hybrid", limit: 10, threshold: 0.3, rerank: "none" };

export async function search(view) {
  const asked = questionOf(view.query);
  const found = el("section.results", { "aria-label": "Results", "aria-live": "polite" });
  const controls = new Controls(asked);
  const ask = async () => {
    let body;
    try {
      body = controls.read();
    } catch {
      refill(found, failure({ message: "The filter is not JSON", details: "Correct it, or empty the field.", status: 400 }));
      return;
    }
    view.app.changeOptions(["ns", view.namespace, "search"], optionsOf(body));
    await answer(view, body, found);
  };
  const asking = form(ask, { role: "search", class: "card" }, controls.node);
  if (asked.query) await answer(view, asked, found);
  else refill(found, el("p.muted", {}, "Ask a question. Results are ranked by similarity."));
  return [asking, found];
}

async function answer(view, body, place) {
  const { api, namespace, signal } = view;
  refill(place, loading("results"));
  try {
    const answered = await api.post(path("ns", namespace, "explain", "search"), body, undefined, signal);
    const { results, searchTime, scale } = answered;
    if (results.length === 0 && (await isEmpty(view))) return refill(place, noContent(view));
    const tools = [compareSearches(view, body, results, { modes: MODES, reranks: RERANKS }), whyNot(view, body), requestAsCode(namespace, body)];
    const summary = `${plural(results.length, "result")} in ${number(Math.round(searchTime * 10) / 10)} ms`;
    refill(
      place,
      el("div.results-bar", {}, el("p.muted", {}, summary), el("div.row", {}, tools.map((one) => one.button))),
      tools.map((one) => one.node),
      pastMomentNotice(answered),
      results.length === 0 ? nothing(body) : el("ol.plain", {}, results.map((one) => el("li", {}, searchResult(one, { namespace, scale })))),
    );
  } catch (error) {
    if (!signal.aborted) refill(place, failure(error));
  }
}

async function isEmpty({ api, namespace, signal }) {
  const { pagination } = await api.post(path("ns", namespace, "list", "documents"), {}, { limit: 1 }, signal);
  return pagination.totalItems === 0;
}

function nothing(body) {
  const advice = body.filter
    ? "No document matches the filter and the query."
    : `No result reaches the similarity threshold of ${Math.round(body.threshold * 100)} %.`;
  return empty("Nothing found", `${advice} Ask in other words, or lower the minimum similarity in the options.`);
}

class Controls {
  constructor(asked) {
    this.query = el("input", { type: "search", required: true, value: asked.query ?? "", "data-find": true, autocomplete: "off", dir: "auto" });
    this.mode = select(MODES, asked.searchMode);
    this.limit = el("input", { type: "number", min: "1", max: "100", value: asked.limit, required: true });
    this.threshold = el("input", { type: "number", min: "0", max: "1", step: "0.05", value: asked.threshold, required: true });
    this.rerank = select(RERANKS, asked.rerank);
    this.rewrite = checkbox("Rewrite the query", asked.rewriteQuery);
    this.related = checkbox("Include related memories", asked.include.related);
    this.forgotten = checkbox("Include forgotten and expired memories", asked.include.forgotten);
    this.asOf = momentInput(asked.asOf);
    this.filter = new FilterBuilder(asked.filter);
    this.node = el(
      "div.search",
      {},
      el("div.row", {}, field("Question", this.query), el("button.primary", { type: "submit" }, icon("search"), "Search")),
      el("details", { open: Object.keys(optionsOf(asked)).some((one) => one !== "q") }, el("summary", {}, "Options"), this.#options()),
    );
  }

  #options() {
    return el(
      "div.options",
      {},
      field("Search in", this.mode),
      field("Number of results", this.limit, "1 to 100."),
      field("Minimum similarity", this.threshold, "0 to 1. Less similar results are left out."),
      field("Reranking", this.rerank),
      field("As of", this.asOf, "Point in time. Leave empty for now."),
      el("div.checks", {}, this.rewrite.node, this.related.node, this.forgotten.node),
      this.filter.node,
    );
  }

  /** Body of the search request. */
  read() {
    const [filter, asOf] = [this.filter.read(), readMoment(this.asOf)];
    return {
      query: this.query.value,
      searchMode: this.mode.value,
      limit: this.limit.valueAsNumber,
      threshold: this.threshold.valueAsNumber,
      rerank: this.rerank.value,
      rewriteQuery: this.rewrite.box.checked,
      include: { documents: true, related: this.related.box.checked, forgotten: this.forgotten.box.checked },
      ...(filter ? { filter } : {}),
      ...(asOf ? { asOf } : {}),
    };
  }
}

/** Read the query from the options of the address. */
function questionOf(query) {
  const given = parsed(query.get("o"));
  const include = { documents: true, related: false, forgotten: false, ...given.include };
  return { rewriteQuery: false, ...USUAL, ...given, include, query: query.get("q") ?? "" };
}

/** Options of the address: only non-default values. */
function optionsOf({ query, include, rewriteQuery, ...rest }) {
  const unusual = Object.fromEntries(Object.entries(rest).filter(([name, value]) => USUAL[name] !== value));
  if (rewriteQuery) unusual.rewriteQuery = true;
  const { related, forgotten } = include;
  if (related || forgotten) unusual.include = { related, forgotten };
  return { q: query, ...(Object.keys(unusual).length > 0 ? { o: JSON.stringify(unusual) } : {}) };
}

/** Parse JSON; an empty object if the address was truncated. */
function parsed(options) {
  try {
    return JSON.parse(options ?? "{}");
  } catch {
    return {};
  }
}
