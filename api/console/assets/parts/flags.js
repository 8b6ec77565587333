/** What kind of memory it is. */

import { badge } from "./states.js";

export function flags({ isStatic, isInference, isLatest, isForgotten }) {
  const state = isForgotten ? badge("forgotten", "bad") : isLatest ? badge("current", "good") : badge("replaced", "warn");
  return [state, isStatic ? [" ", badge("lasting")] : null, isInference ? [" ", badge("inferred")] : null];
}
