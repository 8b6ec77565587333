/** Conditions on metadata, made by choosing; or written as the interface has them. */

import { el } from "../dom.js";
import { button, checkbox, field, select } from "./forms.js";
import { Rows } from "./rows.js";
import { plain } from "./values.js";

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

/** A condition as the interface has it, from what was chosen. */
export function condition({ name, operator, value, anyCase }) {
  const typed = NUMERIC.has(operator) ? Number(value) : EXACT.has(operator) ? plain(value) : value;
  const folded = anyCase && TEXTUAL.has(operator) && typeof typed === "string";
  return { field: name, operator, value: typed, ...(folded ? { caseSensitive: false } : {}) };
}

/** Rows of conditions with a button that adds one. `read()`: the filter, or undefined where there is none. */
export class FilterBuilder {
  #how = select({ and: "all of these hold", or: "any of these holds" }, "and", { "aria-label": "How conditions go together" });
  #rows = new Rows("Conditions", (count) => { this.#how.hidden = count < 2; });
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
        el("summary", {}, "Write it as JSON"),
        field("Filter expression", this.#json, "Used instead of the conditions where it is not empty."),
      ),
    );
  }

  /** Throws a SyntaxError where the JSON is none. */
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
  #anyCase = checkbox("Upper and lower case alike", false);

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
