/** Status of a connector's sync run. */

import { badge } from "./placeholders.js";

const TONES = { completed: "good", failed: "bad", running: "warn" };
const WAYS = {
  auth_expired: "Correct it, or connect again.",
  rate_limited: "Rate limited by the source. The next run resumes.",
  plan_required: "The account's plan, or a quota of this service, does not allow it.",
  provider_unavailable: "The source is unavailable. The next run retries.",
};

/** Status of the newest run, or of the pending authorization. */
export function runOutcome({ system, latestRun }) {
  if (system.status === "pending_authorization") return badge("pending authorization", "warn");
  return latestRun === null ? badge("no runs") : [badge(latestRun.system.status, TONES[latestRun.system.status]), failureReason(latestRun)];
}

export function runStatus(run) {
  return badge(run.system.status, TONES[run.system.status]);
}

/** Reason of a failed run, and the remedy. */
export function failureReason({ error, errorCode }) {
  return error ? ` ${error}${WAYS[errorCode] ? ` (${WAYS[errorCode]})` : ""}` : "";
}
