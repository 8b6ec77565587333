/** Metadata filters: a builder, or JSON. */

import { el } from "../dom.js";
import { button, checkbox, field, select } from "./forms.js";
import { RepeatedFields } from "./repeated-fields.js";
import { parseScalar } from "./metadata-values.js";

const OPERATORS = {
  eq: "is",
  neq: "is not",
  gt: "is above",
  gte: "is at least",
  lt: "is below",
  lte: "is at most",
  contains: "contains",
  notContains: "does not contain",
  arrayContains: "has the element",
  arrayNotContains: "has not the element",
};
const NUMERIC = new Set(["gt", "gte", "lt", "lte"]);
const EXACT = new Set(["eq", "neq"]);
const TEXTUAL = new Set(["eq", "neq", "contains", "notContains"]);

/** Build a condition of the HTTP interface. */
export function condition({ name, operator, value, anyCase }) {
  const typed = NUMERIC.has(operator) ? Number(value) : EXACT.has(operator) ? parseScalar(value) : value;
  const folded = anyCase && TEXTUAL.has(operator) && typeof typed === "string";
  return { field: name, operator, value: typed, ...(folded ? { caseSensitive: false } : {}) };
}

/** Rows of conditions with a button that adds one. `read()`: the filter, or undefined. */
export class FilterBuilder {
  #how = select({ and: "all of these hold", or: "any of these holds" }, "and", { "aria-label": "Combine conditions with" });
  #rows = new RepeatedFields("Conditions", (count) => { this.#how.hidden = count < 2; });
  #json = el("textarea", { rows: "4", spellcheck: "false", autocomplete: "off" });

  constructor(initial) {
    if (initial) this.#json.value = JSON.stringify(initial, null, 2);
    this.node = el(
      "fieldset",
      {},
      el("legend", {}, "Filter by metadata"),
      this.#rows.node,
      el("div.row", {}, button("Add a condition", () => this.#rows.add((remove) => new Row(remove))), this.#how),
      el(
        "details",
        { open: Boolean(initial) },
        el("summary", {}, "Edit as JSON"),
        field("Filter expression", this.#json, "Replaces the conditions above when set."),
      ),
    );
  }

  /** Parse the JSON filter; throws SyntaxError. */
  read() {
    if (this.#json.value.trim() !== "") return JSON.parse(this.#json.value);
    const operands = this.#rows.read().filter((one) => one.field !== "");
    if (operands.length < 2) return operands[0];
    return { operator: this.#how.value, operands };
  }
}

class Row {
  #name = el("input", { autocomplete: "off", pattern: "[a-zA-Z0-9_.\\-]+", placeholder: "kind" });
  #operator = select(OPERATORS, "eq");
  #value = el("input", { autocomplete: "off", placeholder: "note" });
  #anyCase = checkbox("Ignore case", false);

  constructor(remove) {
    const update = () => {
      this.#anyCase.node.hidden = !TEXTUAL.has(this.#operator.value);
    };
    this.#operator.addEventListener("change", update);
    this.node = el(
      "li",
      {},
      field("Field", this.#name),
      field("Condition", this.#operator),
      field("Value", this.#value),
      this.#anyCase.node,
      button("Remove", remove),
    );
    update();
  }

  read() {
    return condition({
      name: this.#name.value.trim(),
      operator: this.#operator.value,
      value: this.#value.value,
      anyCase: this.#anyCase.box.checked,
    });
  }
}
