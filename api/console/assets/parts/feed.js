/** Live feed of a namespace: events as they happen, resumed after a break. */

import { path } from "../api.js";

const RECONNECT_MS = 2000;

/** Yield `{ name, data }` until the signal aborts; calls `opened` once events can no longer be missed. */
export async function* follow(api, namespace, signal, opened = () => {}) {
  let cursor = "";
  while (!signal.aborted) {
    try {
      for await (const event of events(await api.stream(path("ns", namespace, "explain", "feed"), cursor, signal))) {
        cursor = event.id ?? cursor;
        if (event.id) opened();
        if (event.data) yield { name: event.event, data: JSON.parse(event.data) };
      }
    } catch (error) {
      // Without a status the connection broke in the middle.
      if (error.name === "AbortError" || (error.status !== undefined && !error.isPassing)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

/** Read server-sent events: fields by name. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield Object.fromEntries(block.split("\n").map(field));
  }
}

function field(line) {
  const at = line.indexOf(":");
  return [line.slice(0, at), line.slice(at + 1).trimStart()];
}
