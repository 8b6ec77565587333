/** Progress of documents that were just added, told by the feed: queued, read, searchable, remembered. */

import { to } from "../addresses.js";
import { el, refill } from "../dom.js";
import { plural } from "../format.js";
import { follow } from "./feed.js";
import { badge } from "./placeholders.js";

const STEPS = { "document.queued": "Queued", "document.extracted": "Read", "document.done": "Searchable" };
const LINGER_MS = 120_000;
const LONGEST_WAIT_MS = 10_000;

export class DocumentProgress {
  #view;
  #rows = new Map();
  #reached = new Map();
  #following = null;
  #linger;
  node = el("ul.plain.uploads", { "aria-label": "Progress", "aria-live": "polite" });

  constructor(view) {
    this.#view = view;
  }

  /** Listen before something is added, so that no step is missed; goes on without a feed if there is none. */
  async listen() {
    clearTimeout(this.#linger);
    if (this.#following !== null) return;
    const control = new AbortController();
    this.#following = control;
    this.#view.signal?.addEventListener("abort", () => control.abort());
    await Promise.race([new Promise((opened) => { this.#run(control, opened); }), new Promise((late) => setTimeout(late, LONGEST_WAIT_MS))]);
  }

  /** Show a document that was accepted. */
  add(id, name) {
    const state = el("ol.steps", {});
    this.#rows.get(id)?.item.remove();
    const item = el("li", {}, el("a", { href: to(["ns", this.#view.namespace, "documents", id]), dir: "auto" }, name), " ", state);
    this.#rows.set(id, { item, state });
    this.node.prepend(item);
    this.#show(id);
  }

  async #run(control, opened) {
    for await (const { name, data } of follow(this.#view.api, this.#view.namespace, control.signal, opened)) this.#on(name, data);
    if (this.#following === control) this.#following = null;
  }

  #on(name, data) {
    const id = name === "memories.formed" ? data.document : data.id;
    if (id === undefined) return;
    // A new submission of a document begins its way anew.
    const steps = name === "document.queued" ? new Map() : (this.#reached.get(id) ?? new Map());
    this.#reached.set(id, steps.set(name, data));
    if (this.#rows.has(id)) this.#show(id);
  }

  #show(id) {
    const steps = this.#reached.get(id) ?? new Map();
    const failed = steps.get("document.failed");
    const formed = steps.get("memories.formed");
    // A step that was missed lies before one that was heard.
    const last = Object.keys(STEPS).findLastIndex((name) => steps.has(name));
    const shown = Object.values(STEPS).map((said, place) => step(said, place <= last));
    if (formed) shown.push(step(plural(formed.created.length, "memory", "memories"), true));
    refill(this.#rows.get(id).state, failed ? [el("li", {}, badge("failed", "bad"), ` ${failed.error}`)] : shown);
    if ([...this.#rows.keys()].every((one) => this.#isSettled(one))) this.#stopLater();
  }

  #isSettled(id) {
    const steps = this.#reached.get(id);
    return Boolean(steps?.has("document.done") || steps?.has("document.failed"));
  }

  /** Memories may come after the document: a browser keeps few connections open, so not for ever. */
  #stopLater() {
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => {
      this.#following?.abort();
      this.#following = null;
    }, LINGER_MS);
  }
}

function step(said, reached) {
  return el("li", {}, badge(said, reached ? "good" : undefined));
}
