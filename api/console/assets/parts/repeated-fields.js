/** List of form fields that can be added and removed. */

import { el, refill } from "../dom.js";

export class RepeatedFields {
  #rows = [];
  #changed;
  node;

  /** `changed` receives the number of rows. */
  constructor(label, changed = () => {}) {
    this.#changed = changed;
    this.node = el("ul.conditions", { "aria-label": label });
    changed(0);
  }

  /** Add a row. `make` receives the function that removes it and returns `node` and `read()`. */
  add(make, { focus = true } = {}) {
    const row = make(() => this.#show(this.#rows.filter((one) => one !== row)));
    this.#show([...this.#rows, row]);
    if (focus) row.node.querySelector("input").focus();
  }

  /** Values of all rows. */
  read() {
    return this.#rows.map((row) => row.read());
  }

  #show(rows) {
    this.#rows = rows;
    refill(this.node, rows.map((one) => one.node));
    this.#changed(rows.length);
  }
}
