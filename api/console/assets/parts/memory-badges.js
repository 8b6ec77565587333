/** Badges for the kind and state of a memory. */

import { badge } from "./placeholders.js";

export function memoryBadges({ isStatic, isInference, isLatest, isForgotten }) {
  const state = isForgotten ? badge("forgotten", "bad") : isLatest ? badge("current", "good") : badge("replaced", "warn");
  return [state, isStatic ? [" ", badge("long-term")] : null, isInference ? [" ", badge("inferred")] : null];
}
