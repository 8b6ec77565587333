/** The way of a document through the stages, with what waits at each, and what to do. */

import { el } from "../dom.js";
import { number, plural } from "../format.js";
import { badge } from "./placeholders.js";

/** Steps in order; stages of one step work side by side. */
const STEPS = [
  [["extract", "Read the content"]],
  [["chunk", "Split it into passages"]],
  [["index", "Find it by its words"], ["embed", "Find it by its meaning"]],
  [["form_memories", "Form memories"]],
  [["project_memories", "Relate memories"]],
];
const NAMES = { forget_memories: "Forgetting", settings: "Settings", operations: "Moves and deletions", sync_requests: "Requests to synchronize", sync_reports: "Runs of connectors" };

/** `before`: the stages two seconds ago, or null. `letters`: dead letters. */
export function pipelineFlow(stages, letters, before) {
  const rows = new Map(stages.map((row) => [row.stage, row]));
  const box = (stage, name) => {
    const row = rows.get(stage);
    return row ? flowStage(row, name, letters.filter((letter) => letter.stage === stage).length, before) : null;
  };
  const onTheWay = new Set(STEPS.flat().map(([stage]) => stage));
  const others = stages.filter(({ stage }) => !onTheWay.has(stage));
  const busy = others.filter(({ lag }) => lag > 0).map(({ stage, lag }) => [" ", badge(`${NAMES[stage] ?? stage}: ${number(lag)} waiting`, "warn")]);
  return el(
    "section",
    {},
    el("h2", {}, "From a document to memories"),
    el("ol.flow", {}, STEPS.map((step) => el("li", {}, step.map(([stage, name]) => box(stage, name))))),
    el("p.muted", {}, advice(stages, letters), busy),
  );
}

function flowStage({ stage, lag }, name, letters, before) {
  const tone = letters > 0 ? ".bad" : lag > 0 ? ".warn" : "";
  const state = [
    lag === 0 ? badge("nothing waits", "good") : badge(`${number(lag)} waiting${trend(stage, lag, before)}`, "warn"),
    letters > 0 ? [" ", badge(plural(letters, "dead letter"), "bad")] : null,
  ];
  return el(`div.flow-stage${tone}`, {}, el("p", {}, el("strong", {}, name)), el("p", {}, state), el("p.hint", {}, stage));
}

/** Whether the queue of a stage gets shorter, since the last look. */
function trend(stage, lag, before) {
  const earlier = before?.find((row) => row.stage === stage)?.lag ?? lag;
  return lag < earlier ? ", falling" : lag > earlier ? ", growing" : "";
}

function advice(stages, letters) {
  if (letters.length > 0) return "Some records could not be processed. Look at their errors below, remove the cause, then retry them.";
  if (stages.every(({ lag }) => lag === 0)) return "Everything that came in is processed.";
  return "Records are handled in order. If a queue keeps growing, too much comes in for one process, or what the stage needs is away: see “not ready” above, and the guide “Operate”.";
}
