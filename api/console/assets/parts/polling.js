/** Polling while a page is open. */

import { rebuild } from "../dom.js";

/** Call `look` at an interval until it returns false, fails, or the page is left or hidden. */
export async function poll(signal, milliseconds, look) {
  while (!signal.aborted) {
    await pause(signal, milliseconds);
    if (signal.aborted || document.hidden) continue;
    try {
      if ((await look()) === false) return;
    } catch (error) {
      // What was looked at may be gone, by this visitor's own hand: whoever asks for it next is told.
      if (error.name === "AbortError" || error.status === 404) return;
      if (error.status !== 0 && error.status !== 503) throw error;
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
