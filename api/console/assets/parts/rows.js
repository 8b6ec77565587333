/** A list of controls that grows and shrinks. */

import { el, refill } from "../dom.js";

export class Rows {
  #rows = [];
  #changed;
  node;

  /** `changed` is called with how many there are now. */
  constructor(label, changed = () => {}) {
    this.#changed = changed;
    this.node = el("ul.conditions", { "aria-label": label });
    changed(0);
  }

  /** `make` is given what takes the row away, and returns it: `node` to show, `read()` for what it says. */
  add(make, { focus = true } = {}) {
    const row = make(() => this.#show(this.#rows.filter((one) => one !== row)));
    this.#show([...this.#rows, row]);
    if (focus) row.node.querySelector("input").focus();
  }

  /** What each of them says. */
  read() {
    return this.#rows.map((row) => row.read());
  }

  #show(rows) {
    this.#rows = rows;
    refill(this.node, rows.map((one) => one.node));
    this.#changed(rows.length);
  }
}
