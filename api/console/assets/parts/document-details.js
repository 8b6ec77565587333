/** Form fields for a document's metadata, date and context. */

import { el } from "../dom.js";
import { button, field } from "./forms.js";
import { RepeatedFields } from "./repeated-fields.js";
import { parseValue, formatValue } from "./metadata-values.js";

export class DocumentDetails {
  #known;
  #metadata = new RepeatedFields("Metadata");
  #date = el("input", { autocomplete: "off", placeholder: "2026-03-02" });
  #context = el("textarea.prose", { rows: "2", maxlength: "1500" });

  /** `metadata`: of an existing document; its date and context are unknown here and kept if left empty. */
  constructor(metadata = {}) {
    this.#known = metadata;
    for (const [name, value] of Object.entries(metadata)) this.#metadata.add(() => row(name, formatValue(value)), { focus: false });
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
      field("Context", this.#context, "Background passed to the language model that extracts memories."),
    );
  }

  /** Changed fields, as part of a request body. */
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

/** Existing fields cannot be renamed or removed: the interface merges metadata key by key. */
function row(name, text, remove) {
  const called = el("input", { autocomplete: "off", value: name, readonly: remove === undefined });
  const value = el("input", { autocomplete: "off", value: text });
  return {
    node: el("li", {}, field("Field", called), field("Value", value), remove ? button("Remove", remove) : null),
    read: () => [called.value.trim(), parseValue(value.value)],
  };
}
