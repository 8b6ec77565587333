/** What is said of a document beside its text: metadata, when it is of, and who or what it is about. */

import { el } from "../dom.js";
import { button, field } from "./forms.js";
import { Rows } from "./rows.js";
import { typed, written } from "./values.js";

export class About {
  #known;
  #metadata = new Rows("Metadata");
  #date = el("input", { autocomplete: "off", placeholder: "2026-03-02" });
  #context = el("textarea.prose", { rows: "2", maxlength: "1500" });

  /** `metadata`: of a document that is there; what it says of the rest is not known, and stays where nothing is typed. */
  constructor(metadata = {}) {
    this.#known = metadata;
    for (const [name, value] of Object.entries(metadata)) this.#metadata.add(() => row(name, written(value)), { focus: false });
    this.node = el(
      "div.stack",
      {},
      el(
        "fieldset",
        {},
        el("legend", {}, "Metadata"),
        this.#metadata.node,
        el("p.hint", {}, 'A text, a number, true or false, or a list: ["a", "b"]. In quotes anything is a text.'),
        el("div", {}, button("Add a field", () => this.#metadata.add((remove) => row("", "", remove)))),
      ),
      field("Date", this.#date, "When it was said or written."),
      field("Context", this.#context, "Who or what it is about, for a language model that looks for memories."),
    );
  }

  /** The part of a request: only what is new. */
  read() {
    const named = this.#metadata.read().filter(([name]) => name !== "");
    const changed = named.filter(([name, value]) => JSON.stringify(this.#known[name]) !== JSON.stringify(value));
    return {
      ...(changed.length > 0 ? { metadata: Object.fromEntries(changed) } : {}),
      ...(this.#date.value ? { date: this.#date.value } : {}),
      ...(this.#context.value.trim() ? { supportingContext: this.#context.value.trim() } : {}),
    };
  }
}

/** A field that is there keeps its name, and can't be taken away: the interface merges key by key. */
function row(name, text, remove) {
  const called = el("input", { autocomplete: "off", value: name, readonly: remove === undefined });
  const value = el("input", { autocomplete: "off", value: text });
  return {
    node: el("li", {}, field("Field", called), field("Value", value), remove ? button("Remove", remove) : null),
    read: () => [called.value.trim(), typed(value.value)],
  };
}
