/** Frame of every page: navigation, current key, status messages. */

import { here, to } from "./addresses.js";
import { el, refill } from "./dom.js";
import { entriesFor } from "./navigation.js";
import { describeKey } from "./permissions.js";
import { showShortcuts } from "./shortcuts.js";
import { themeSwitch } from "./theme-switch.js";

const SAID_MS = 6000;

export class Shell {
  #app;
  /** Path of the current page, without its options. */
  #page = null;
  #nav = el("nav", { "aria-label": "Main" });
  #place = el("p.place");
  #heading = el("h1", { tabindex: "-1" });
  #main = el("main", { id: "main" });
  #said = el("div.said", { role: "status", "aria-live": "polite" });

  constructor(app) {
    this.#app = app;
    this.node = el(
      "div.shell",
      {},
      el("a.skip", { href: "#main", on: { click: (event) => this.#skip(event) } }, "Skip to the content"),
      el("header.top", {}, el("a.brand", { href: to([]) }, mark(), "recollect"), this.#account()),
      this.#nav,
      this.#main,
      this.#said,
    );
  }

  /** Mark the page's entry in the navigation. */
  markCurrentPage(page) {
    const entries = [...entriesFor(this.#app)];
    const links = entries.map((one) =>
      el("li", {}, el("a", { href: to(one.parts), "aria-current": one.tab === page.tab ? "page" : null }, one.name)),
    );
    refill(this.#nav, el("ul", {}, links));
    this.#nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  /** Show a page; focus its heading unless it was shown before. */
  fill(title, content) {
    const { parts } = here();
    const same = this.#page === parts.join("/");
    this.#page = parts.join("/");
    refill(this.#heading, title);
    refill(this.#place, parts[0] === "ns" ? parts[1] : "");
    refill(this.#main, this.#place, this.#heading, content);
    if (!same) this.#heading.focus({ preventScroll: false });
  }

  say(text) {
    refill(this.#said, el("p", {}, text));
    clearTimeout(this.silence);
    this.silence = setTimeout(() => refill(this.#said), SAID_MS);
  }

  #skip(event) {
    // The address belongs to the pages: a real jump to #main would leave this one.
    event.preventDefault();
    this.#heading.focus();
  }

  #account() {
    const { who } = this.#app;
    return el(
      "div.account",
      {},
      themeSwitch(),
      el("button.quiet-button", { type: "button", on: { click: () => showShortcuts(this.#app) } }, "Shortcuts"),
      el("span.who", { title: describeKey(who) }, `${who.name} · ${who.role}`),
      el("button", { type: "button", id: "sign-out", on: { click: () => this.#app.signOut() } }, "Sign out"),
    );
  }
}

function mark() {
  return el("img", { src: "icon.svg", alt: "", width: "22", height: "22" });
}
