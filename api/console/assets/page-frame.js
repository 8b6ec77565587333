/** Frame of every page: navigation, current key, heading with its actions, status messages. */

import { here, to } from "./addresses.js";
import { el, freshId, rebuild, refill, showOnce } from "./dom.js";
import { icon } from "./icons.js";
import { groupsFor } from "./navigation.js";
import { loading } from "./parts/placeholders.js";
import { describeKey, nameRights } from "./permissions.js";
import { showShortcuts } from "./shortcuts.js";
import { densitySwitch, themeSwitch } from "./theme-switch.js";

const SAID_MS = 4000;
/** Time to read a letter, slowly. */
const LETTER_MS = 80;
/** Time to decide about a message with an action. */
const UNDO_MS = 12_000;
const NAMESPACES = 100;
/** Pages of a namespace that open with another namespace too; from others the switch goes to the search. */
const SHARED_PAGES = new Set(["search", "documents", "memories", "review", "graph", "profile", "questions", "connectors", "settings"]);

export class Shell {
  #app;
  /** Path of the current page, without its options. */
  #path = null;
  #address = null;
  #page = null;
  #namespaces = [];
  #nav = el("nav", { "aria-label": "Main" });
  #place = el("p.place");
  #heading = el("h1", { tabindex: "-1" });
  #actions = el("div.page-actions");
  #content = el("div");
  #main = el("main", { id: "main" }, el("div.page-head", {}, el("div", {}, this.#place, this.#heading), this.#actions), this.#content);
  #said = el("div.said", { role: "status", "aria-live": "polite" });
  #side;
  #menu;

  constructor(app) {
    this.#app = app;
    this.#menu = el("button.menu", { type: "button", "aria-expanded": "false", on: { click: () => this.#unfold(!this.#side.classList.contains("open")) } }, icon("menu"), "Menu");
    const brand = el("a.brand", { href: to([]) }, el("img", { src: "icon.svg", alt: "", width: "24", height: "24" }), "recollect");
    this.#side = el("aside.side", { "aria-label": "Navigation and account" }, el("header.top", {}, brand, this.#menu), this.#nav, this.#account());
    this.node = el(
      "div.shell",
      {},
      el("a.skip", { href: "#main", on: { click: (event) => this.#skip(event) } }, "Skip to the content"),
      this.#side,
      // Before the page, so that a step back from its head leads to what takes an action back.
      this.#said,
      this.#main,
    );
  }

  /** Load the names for the switch of namespaces; from then on one of them is current, if the page is about none. */
  async loadNamespaces(signal) {
    const { namespaces, pagination } = await this.#app.api.get("ns", { limit: NAMESPACES }, signal);
    this.#namespaces = namespaces.map((row) => row.namespace);
    const current = this.#app.namespace;
    const isGone = !this.#page.params.namespace && pagination.totalItems <= NAMESPACES && !this.#namespaces.includes(current);
    if (current === null || isGone) this.#app.namespace = this.#namespaces[0] ?? null;
    this.markCurrentPage(this.#page);
  }

  get hasNamespaces() {
    return this.#namespaces.length > 0;
  }

  /** Mark the page's entry in the navigation. */
  markCurrentPage(page) {
    this.#page = page;
    rebuild(this.#nav, groupsFor(this.#app).map((group) => this.#group(group, page)));
    this.#nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  #group({ name, entries }, page) {
    const links = entries.map((entry) =>
      el("li", {}, el("a", { href: to(entry.parts), "aria-current": entry.tab === page.tab ? "page" : null }, icon(entry.tab), entry.name)),
    );
    if (name === null) return el("ul", {}, links);
    const id = freshId("group");
    const heading = name === "Namespace" ? [el("label.group", { id, for: "namespace" }, name), this.#switch()] : el("p.group", { id }, name);
    return [heading, el("ul", { "aria-labelledby": id }, links)];
  }

  /** Choice of the namespace that the navigation is about. */
  #switch() {
    const current = this.#app.namespace;
    const names = this.#namespaces.includes(current) ? this.#namespaces : [current, ...this.#namespaces];
    const open = () => {
      const { parts } = here();
      this.#app.go(["ns", choice.value, SHARED_PAGES.has(parts[2]) ? parts[2] : "search"]);
    };
    const choice = el("select", { id: "namespace", on: { change: open } }, names.map((name) => el("option", { value: name, selected: name === current }, name)));
    return choice;
  }

  /** Show that a page loads and focus its heading; one that is shown already stays until it is there anew. */
  begin(title) {
    const { parts } = here();
    const path = parts.join("/");
    this.#unfold(false);
    if (this.#path === path) return this.#main.setAttribute("aria-busy", "true");
    this.#path = path;
    refill(this.#place, trail(parts));
    this.#show({ title, actions: [] }, loading(title.toLowerCase()));
    this.#heading.focus();
    return undefined;
  }

  /** Show a page with the actions beside its name; at another address of the same page, from its beginning unless the focus stays where it is. */
  fill(named, content) {
    this.#show(named, content);
    this.#main.removeAttribute("aria-busy");
    if (this.#address !== location.hash && document.activeElement === this.#heading) scrollTo(0, 0);
    this.#address = location.hash;
  }

  #show({ title, actions }, content) {
    document.title = `${title} · recollect`;
    refill(this.#heading, el("bdi", {}, title));
    rebuild(this.#actions, actions);
    (content instanceof Node ? showOnce : rebuild)(this.#content, content);
    if (document.activeElement === document.body) this.#heading.focus({ preventScroll: true });
  }

  /** Show a message; `undo`: an action that takes back what it tells. */
  say(text, undo = null) {
    const back = undo && el("button", { type: "button", on: { click: () => { refill(this.#said); this.#app.attempt(undo); } } }, "Undo");
    refill(this.#said, el("p", {}, text, back));
    this.#silenceAfter((undo ? UNDO_MS : SAID_MS) + text.length * LETTER_MS);
  }

  /** Take the message away, but not from under a hand or the focus. */
  #silenceAfter(milliseconds) {
    clearTimeout(this.silence);
    const end = () => (this.#said.querySelector(":hover, :focus") ? this.#silenceAfter(SAID_MS) : refill(this.#said));
    this.silence = setTimeout(end, milliseconds);
  }

  #unfold(open) {
    this.#side.classList.toggle("open", open);
    this.#menu.setAttribute("aria-expanded", String(open));
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
      el("span.who", { title: describeKey(who) }, who.name === who.role ? describeKey(who) : `${who.name} · ${nameRights(who)}`),
      el("div.switches", {}, themeSwitch(), densitySwitch()),
      el(
        "div.row",
        {},
        el("a", { href: "../docs/" }, "Guides"),
        el("button.quiet", { type: "button", on: { click: () => showShortcuts(this.#app) } }, "Shortcuts"),
        el("button", { type: "button", id: "sign-out", on: { click: () => this.#app.signOut() } }, "Sign out"),
      ),
    );
  }
}

/** Way from the namespace to the page, as links. */
function trail([kind, namespace, section, id]) {
  if (kind !== "ns") return null;
  const name = section?.replace(/^./, (letter) => letter.toUpperCase());
  return [
    el("a", { href: to(["ns", namespace, "search"]) }, el("bdi", {}, namespace)),
    id === undefined ? null : [el("span", { "aria-hidden": "true" }, "/"), el("a", { href: to(["ns", namespace, section]) }, name)],
  ];
}
