/** The application: current key, current page and its frame. */

import { here, to } from "./addresses.js";
import { Api, unreachable } from "./api.js";
import { el, refill, showOnce } from "./dom.js";
import { showAuthorizationResult } from "./parts/authorization-result.js";
import { failure, loading, problem } from "./parts/placeholders.js";
import { signIn } from "./pages/sign-in.js";
import { rightsOf } from "./permissions.js";
import { pageAt } from "./routes.js";
import { session } from "./session.js";
import { Shell } from "./page-frame.js";
import { listenForShortcuts } from "./shortcuts.js";

export class App {
  #body;
  #shell = null;
  #leaving = null;
  /** Place of a page that was reloaded, until it is known whether its key is still valid. */
  #waiting = el("div", {}, loading("the console"));
  api = null;
  who = null;
  rights = null;
  /** Namespace of the last page about one; target of the navigation. */
  namespace = null;

  constructor(body) {
    this.#body = body;
  }

  /** Start with this tab's key, or show the sign-in page. */
  async start() {
    addEventListener("hashchange", () => this.show());
    // A file that is dropped beside its place would open instead of the console.
    const keep = (event) => { if (event.dataTransfer.types.includes("Files") && !event.target.closest?.("[type=file]")) event.preventDefault(); };
    for (const drag of ["dragover", "drop"]) addEventListener(drag, keep);
    listenForShortcuts(this);
    await this.#resume();
  }

  async #resume() {
    const key = session.read();
    if (key === null) return this.#askForKey();
    pageAt(here().parts).load().catch(() => {}); // beside the request; shown, or reported, by show()
    if (!this.#waiting.isConnected) refill(this.#body, el("main.sign-in", {}, el("h1", {}, "recollect"), this.#waiting));
    try {
      this.#enter(key, await new Api(key).get("admin/whoami"));
    } catch (error) {
      if (error.isPassing) return showOnce(this.#waiting, failure(error, () => this.#resume()));
      if (error.status === 401) session.end();
      this.#askForKey(problem(error));
    }
  }

  signOut(reason = "") {
    session.end();
    this.#leaving?.abort();
    this.#shell = null;
    this.api = this.who = this.rights = this.namespace = null;
    this.#askForKey(reason);
  }

  /** Render the page of the current address. */
  async show() {
    if (this.#shell === null) return;
    this.#leaving?.abort();
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    const { parts, query } = here();
    const page = pageAt(parts);
    this.namespace = page.params.namespace ?? this.namespace;
    this.#shell.markCurrentPage(page);
    const named = { title: page.title, actions: [] };
    const head = (title, ...actions) => Object.assign(named, { title, actions });
    const view = { app: this, api: this.api, rights: this.rights, query, signal, head, ...page.params };
    this.#shell.begin(page.title);
    if (page.params.namespace === undefined || !this.#shell.hasNamespaces) this.attempt(() => this.#shell.loadNamespaces(signal));
    const fill = (content) => { if (!signal.aborted) this.#shell.fill(named, content); };
    try {
      const build = await page.load().catch(unreachable);
      fill(await build(view));
    } catch (error) {
      fill(failure(error, () => this.show()));
      if (!("status" in error) && error.name !== "AbortError") throw error;
    }
  }

  go(parts, query) {
    const address = to(parts, query);
    if (address === location.hash) this.show();
    else location.hash = address;
  }

  /** Change the options of the address without leaving the page; the browser leads back to the ones before. */
  changeOptions(parts, query) {
    const address = to(parts, query);
    if (address !== location.hash) history.pushState(null, "", address);
  }

  /** Show a status message; `undo`: an action that takes back what it tells. */
  say(text, undo) {
    this.#shell?.say(text, undo);
  }

  /** Run `act`; show the message it returns, or its error; nothing if the page was left meanwhile. */
  async attempt(act) {
    try {
      const said = await act();
      if (said) this.say(said);
    } catch (error) {
      if (error.name !== "AbortError") this.say(problem(error));
    }
  }

  /** Continue with another secret of the same key. */
  switchKey(key) {
    session.begin(key);
    const api = new Api(key, (error) => { if (this.api === api) this.signOut(problem(error)); });
    this.api = api;
  }

  #askForKey(reason = "") {
    document.title = "Sign in · recollect";
    refill(this.#body, signIn((key, who) => this.#enter(key, who), reason));
    this.#body.querySelector("#key").focus();
  }

  async #enter(key, who) {
    this.switchKey(key);
    this.who = who;
    this.rights = rightsOf(who);
    this.#shell = new Shell(this);
    refill(this.#body, this.#shell.node);
    await this.show();
    showAuthorizationResult(this);
  }
}
