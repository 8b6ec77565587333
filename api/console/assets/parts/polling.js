/** Polling while a page is open. */

import { rebuild } from "../dom.js";

/** Call `look` at an interval, while the page is seen, until it returns false, fails for good, or the page is left. */
export async function poll(signal, milliseconds, look) {
  while (!signal.aborted) {
    await pause(signal, milliseconds);
    if (signal.aborted || document.hidden) continue;
    try {
      if ((await look()) === false) return;
    } catch (error) {
      // What was looked at may be gone, by this visitor's own hand: whoever asks for it next is told.
      // A key that is refused ends the session.
      if (error.name === "AbortError" || [401, 404].includes(error.status)) return;
      if (!error.isPassing) throw error;
    }
  }
}

function pause(signal, milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

/** Render data if it changed. */
export function renew(place, data, build) {
  const state = JSON.stringify(data);
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  rebuild(place, build(data));
}
