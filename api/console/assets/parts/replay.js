/** Replay: rebuild the tables from the log beside the active ones. */

import { el } from "../dom.js";
import { bytes, number, time } from "../format.js";
import { confirmAction } from "./dialogs.js";
import { button, field, form, select } from "./forms.js";
import { badge, problem } from "./placeholders.js";

const WHAT = { documents: "Everything", memories: "Only memories", embed: "Only vectors" };
const TONES = { running: "warn", done: "good", failed: "bad" };

export const replaying = { progress, start };

/** Progress of the running or newest replay; null if there was none. */
function progress({ api }, replay, act) {
  if (replay === null || replay.state === "idle") return null;
  const { state, generation, step, read, total, startedAt, endedAt, error, differences } = replay;
  const running = state === "running";
  const cancel = () => act(async () => {
    await api.delete("admin/replay");
    return "Replay cancelled. The active generation is unchanged.";
  });
  return el(
    "section.result",
    {},
    el("h2", {}, "Replay ", badge(state, TONES[state] ?? "plain")),
    el("p", {}, running ? `Generation ${generation}: ${step}, since ` : `Generation ${generation}, ended `, time(running ? startedAt : endedAt)),
    el("progress", { value: String(read), max: String(Math.max(1, total)), "aria-label": "Records read" }),
    el("p.muted", {}, `${number(read)} of ${number(total)} records read`),
    error ? el("p.trouble", {}, error) : null,
    differences.length > 0 ? el("ul", {}, differences.map((one) => el("li", {}, one))) : null,
    running ? button("Cancel the replay", cancel, { class: "danger" }) : null,
  );
}

/** Controls: plan and start a replay, roll back, remove old generations. */
function start({ api }, act) {
  const what = select(WHAT, "documents");
  const size = el("input", { type: "number", min: "100", max: "8000" });
  const trouble = el("p.trouble", { role: "alert" });
  const begin = async () => {
    trouble.replaceChildren();
    const body = { ...wish(what.value), ...(size.value ? { chunkSize: size.valueAsNumber } : {}) };
    try {
      const plan = await api.post("admin/replay/plan", body);
      if (!(await confirmAction("Replay?", planned(plan), "Replay"))) return;
    } catch (error) {
      trouble.append(problem(error));
      return;
    }
    await act(async () => {
      await api.post("admin/replay", body);
      return "Replay started.";
    });
  };
  const back = () => act(async () => {
    await api.post("admin/replay/rollback");
    return "Rollback started to the previous generation.";
  });
  const clean = () => act(async () => {
    const { removed } = await api.post("admin/replay/clean-up");
    return `Generations removed: ${removed.join(", ") || "none"}.`;
  });
  return el(
    "details",
    {},
    el("summary", {}, "Replay: rebuild the tables from the log"),
    el("p.muted", {}, "Requests are served from the active generation until the new one is ready; the switchover is atomic."),
    form(
      begin,
      { class: "stack" },
      field("Rebuild", what),
      field("Chunk size (characters)", size, "Leave empty to keep the current value."),
      el("div.row", {}, el("button.primary", { type: "submit" }, "Plan a replay"), button("Roll back to the previous generation", back), button("Remove the previous generation", clean, { class: "danger" })),
      trouble,
    ),
  );
}

function wish(what) {
  return what === "embed" ? { stage: "embed" } : { from: what };
}

function planned({ records, documents, chunks, memories, bytes: size }) {
  const read = Object.values(records).reduce((sum, one) => sum + one, 0);
  return `It reads ${number(read)} records and writes about ${number(documents)} documents, ${number(chunks)} passages and ${number(memories)} memories, ${bytes(size)} in all.`;
}
