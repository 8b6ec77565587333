/** Badge for a document's status. */

import { badge } from "./placeholders.js";

const TONES = { done: "good", failed: "bad" };

export function documentStatus({ status: word, dreamingStatus }) {
  const waiting = dreamingStatus === "dreaming" && word === "done";
  return [badge(word, TONES[word] ?? "warn"), waiting ? [" ", badge("extracting memories", "warn")] : null];
}
