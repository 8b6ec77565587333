/** The same question with other settings, side by side. */

import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { plural } from "../format.js";
import { actionForm, checkbox, field, select, submit } from "./forms.js";
import { momentInput, readMoment } from "./past-moment.js";
import { panel } from "./panel.js";
import { badge } from "./placeholders.js";
import { excerpt } from "./rich-text.js";
import { similarity } from "./search-result.js";

/** `results`: of the search as it was asked; `modes` and `reranks`: the choices of the search page. */
export function compareSearches({ api, namespace, signal }, body, results, { modes, reranks }) {
  const mode = select(modes, body.searchMode);
  const threshold = el("input", { type: "number", min: "0", max: "1", step: "0.05", value: body.threshold, required: true });
  const rerank = select(reranks, body.rerank);
  const rewrite = checkbox("Rewrite the query", body.rewriteQuery);
  const asOf = momentInput(body.asOf);
  const place = el("div", { "aria-live": "polite" });
  const ask = async () => {
    const { asOf: _, ...rest } = body;
    const moment = readMoment(asOf);
    const other = { ...rest, searchMode: mode.value, threshold: threshold.valueAsNumber, rerank: rerank.value, rewriteQuery: rewrite.box.checked, ...(moment ? { asOf: moment } : {}) };
    const answer = await api.post(path("ns", namespace, "explain", "search"), other, undefined, signal);
    refill(place, el("div.two", {}, column("As asked", results, answer.results), column("With these settings", answer.results, results)));
  };
  return panel("Compare with other settings", [
    actionForm(ask, { class: "stack" }, el("div.options", {}, field("Search in", mode), field("Minimum similarity", threshold), field("Reranking", rerank), field("As of", asOf), el("div.checks", {}, rewrite.node)), el("div", {}, submit("Compare"))),
    place,
  ], { name: "compare" });
}

function column(title, rows, others) {
  const items = rows.map((row, at) => el("li.result", {}, el("header", {}, similarity(row.similarity), change(row.id, at, others)), el("div.brief", {}, excerpt(row.memory ?? row.chunk, row.memory === undefined ? row.included?.document?.type : "text"))));
  return el("section", {}, el("h2", {}, `${title}: ${plural(rows.length, "result")}`), items.length > 0 ? el("ol.plain.passages", {}, items) : el("p.muted", {}, "Nothing found."));
}

/** Place of a result in the other list. */
function change(id, at, others) {
  const other = others.findIndex((row) => row.id === id);
  if (other === at) return badge("same place");
  return other < 0 ? badge("only here", "accent") : badge(`there at ${other + 1}`, "warn");
}
