/** How a document is, in words and colours. */

import { badge } from "./states.js";

const TONES = { done: "good", failed: "bad" };

export function status({ status: word, dreamingStatus }) {
  const waiting = dreamingStatus === "dreaming" && word === "done";
  return [badge(word, TONES[word] ?? "warn"), waiting ? [" ", badge("memories to come", "warn")] : null];
}
