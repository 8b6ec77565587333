/** Polling while a page is open. */

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

/** Render data if it changed; keep the focus. */
export function renew(place, data, build) {
  const state = JSON.stringify(data);
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...[build(data)].flat(Infinity).filter(Boolean));
  if (focused) document.getElementById(focused)?.focus();
}
