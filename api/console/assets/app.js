/** The application: who is signed in, which page is shown, and what surrounds it. */

import { here, to } from "./addresses.js";
import { Api } from "./api.js";
import { el, refill } from "./dom.js";
import { comingBack } from "./parts/coming-back.js";
import { loading, failure, problem } from "./parts/states.js";
import { signIn } from "./pages/sign-in.js";
import { rightsOf } from "./rights.js";
import { pageAt } from "./routes.js";
import { session } from "./session.js";
import { Shell } from "./shell.js";
import { listenForShortcuts } from "./shortcuts.js";

const NAME = "recollect";

export class App {
  #body;
  #shell = null;
  #leaving = null;
  api = null;
  who = null;
  rights = null;
  /** The namespace that was looked at last: the navigation leads into it. */
  namespace = null;

  constructor(body) {
    this.#body = body;
  }

  /** Goes on with the key of this tab, or asks for one. */
  async start() {
    addEventListener("hashchange", () => this.show());
    listenForShortcuts(this);
    const key = session.read();
    if (key === null) return this.#askForKey();
    try {
      this.#enter(key, await new Api(key).get("admin/whoami"));
    } catch (error) {
      if (error.status === 401) session.end();
      this.#askForKey(`${error.message}. ${error.details}`);
    }
  }

  signOut(reason = "") {
    session.end();
    this.#leaving?.abort();
    this.#shell = null;
    this.api = this.who = this.rights = this.namespace = null;
    this.#askForKey(reason);
  }

  /** The page of the address, anew. */
  async show() {
    if (this.#shell === null) return;
    this.#leaving?.abort();
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    const { parts, query } = here();
    const page = pageAt(parts);
    this.namespace = page.params.namespace ?? this.namespace;
    document.title = `${page.title(page.params)} · ${NAME}`;
    this.#shell.lead(page);
    const view = { app: this, api: this.api, rights: this.rights, query, signal, ...page.params };
    const content = el("div", {}, loading(page.title(page.params).toLowerCase()));
    this.#shell.fill(page.title(page.params), content);
    try {
      const made = await page.show(view);
      if (!signal.aborted) refill(content, made);
    } catch (error) {
      if (!signal.aborted) refill(content, failure(error, () => this.show()));
      if (!("status" in error) && error.name !== "AbortError") throw error;
    }
  }

  go(parts, query) {
    const address = to(parts, query);
    if (address === location.hash) this.show();
    else location.hash = address;
  }

  /** Change the options of the address without leaving the page. */
  note(parts, query) {
    history.replaceState(null, "", to(parts, query));
  }

  /** Say what became of something. */
  say(text) {
    this.#shell?.say(text);
  }

  /** Do something and say what came of it: what `act` returns, or what went wrong. */
  async attempt(act) {
    try {
      const said = await act();
      if (said) this.say(said);
    } catch (error) {
      this.say(problem(error));
    }
  }

  /** Go on with another secret of the same key. */
  goOnWith(key) {
    session.begin(key);
    this.api = new Api(key, (error) => this.signOut(`${error.message}. ${error.details}`));
  }

  #askForKey(reason = "") {
    document.title = `Sign in · ${NAME}`;
    refill(this.#body, signIn((key, who) => this.#enter(key, who), reason));
    this.#body.querySelector("#key").focus();
  }

  async #enter(key, who) {
    this.goOnWith(key);
    this.who = who;
    this.rights = rightsOf(who);
    this.#shell = new Shell(this);
    refill(this.#body, this.#shell.node);
    await this.show();
    comingBack(this);
  }
}
