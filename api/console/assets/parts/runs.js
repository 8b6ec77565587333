/** How a run of a connector went. */

import { badge } from "./states.js";

const TONES = { completed: "good", failed: "bad", running: "warn" };
const WAYS = {
  auth_expired: "The access has ended: connect it again.",
  rate_limited: "The source asked to wait; the next run goes on.",
  plan_required: "The account's plan, or a quota of this service, does not allow it.",
  provider_unavailable: "The source did not answer; the next run tries again.",
};

/** Of a connector: its newest run, or what keeps it from having one. */
export function outcome({ system, latestRun }) {
  if (system.status === "pending_authorization") return badge("to be authorized", "warn");
  return latestRun === null ? badge("none yet") : [badge(latestRun.system.status, TONES[latestRun.system.status]), reason(latestRun)];
}

export function state(run) {
  return badge(run.system.status, TONES[run.system.status]);
}

/** Why a run failed, and what to do about it. */
export function reason({ error, errorCode }) {
  return error ? ` ${error}${WAYS[errorCode] ? ` (${WAYS[errorCode]})` : ""}` : "";
}
