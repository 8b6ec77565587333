/** The documents of a namespace: status, failures, adding, deleting. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { number, plural, time } from "../format.js";
import { addDocumentForm } from "../parts/add-document.js";
import { confirmAction } from "../parts/dialogs.js";
import { FilterBuilder } from "../parts/filters.js";
import { button, field, form, select, submit } from "../parts/forms.js";
import { panel } from "../parts/panel.js";
import { poll, renew } from "../parts/polling.js";
import { empty } from "../parts/placeholders.js";
import { documentStatus } from "../parts/document-status.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const BUSY_MS = 1000;
const ORDERS = { createdAt: "Newest first", updatedAt: "Changed last first" };

export async function documents(view) {
  const list = new List(view);
  await list.look();
  poll(view.signal, BUSY_MS, () => list.look());
  const filter = panel("Sort and filter", list.controls(), { open: list.isFiltered });
  const add = view.rights.writes(view.namespace)
    ? panel("Add documents", addDocumentForm(view), { open: list.total === 0 && !list.isFiltered, primary: true, symbol: "plus" })
    : null;
  view.head("Documents", filter.button, add?.button);
  return [add?.node, filter.node, list.place];
}

class List {
  #view;
  #chosen = new Set();
  #page;
  #sort;
  #filter;
  place = el("section", { "aria-label": "Documents" });
  total = 0;

  constructor(view) {
    this.#view = view;
    this.#page = Number(view.query.get("page") ?? 1);
    this.#sort = view.query.get("sort") ?? "createdAt";
    this.#filter = view.query.has("filter") ? JSON.parse(view.query.get("filter")) : undefined;
  }

  /** Load the list and show changes. */
  async look() {
    const { api, namespace, signal } = this.#view;
    const body = { include: { memoryCount: true }, ...(this.#filter ? { filter: this.#filter } : {}) };
    const options = { page: this.#page, limit: PER_PAGE, sort: this.#sort };
    const answer = await api.post(path("ns", namespace, "list", "documents"), body, options, signal);
    this.total = answer.pagination.totalItems;
    renew(this.place, answer, (shown) => this.#shown(shown));
  }

  get isFiltered() {
    return this.#filter !== undefined;
  }

  controls() {
    const sort = select(ORDERS, this.#sort);
    const builder = new FilterBuilder(this.#filter);
    const trouble = el("p.trouble", { role: "alert" });
    const apply = () => {
      trouble.replaceChildren();
      try {
        const filter = builder.read();
        const { app, namespace } = this.#view;
        app.go(["ns", namespace, "documents"], { sort: sort.value, filter: filter ? JSON.stringify(filter) : null });
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        trouble.append("The filter is not JSON.");
      }
    };
    return form(apply, { class: "stack" }, field("Sort by", sort), builder.node, submit("Apply"), trouble);
  }

  #shown({ documents: rows, pagination }) {
    if (pagination.totalItems === 0) return this.#nothing();
    const { namespace, rights } = this.#view;
    const address = (page) => to(["ns", namespace, "documents"], { page, sort: this.#sort, filter: this.#filter && JSON.stringify(this.#filter) });
    const columns = [
      { name: "Document", show: (row) => el("a", { href: to(["ns", namespace, "documents", row.id]), dir: "auto" }, row.title ?? row.id) },
      { name: "Status", show: (row) => [documentStatus(row.system), row.system.error ? el("p.trouble", {}, row.system.error) : null] },
      { name: "Type", show: (row) => row.type },
      { name: "Memories", align: "number", show: (row) => number(row.system.memoryCount) },
      { name: "Added", show: (row) => time(row.system.createdAt) },
    ];
    if (rights.forgets(namespace)) columns.push({ name: "Select", show: (row) => this.#choice(row) });
    return [
      table(plural(pagination.totalItems, "document"), columns, rows),
      rights.forgets(namespace) ? this.#deletion() : null,
      pager(pagination, address),
    ];
  }

  #nothing() {
    if (this.#filter) return empty("No document matches the filter", "Change it above, or show all of them.");
    const advice = this.#view.rights.writes(this.#view.namespace) ? "Add a text, a URL or files above." : "Your key may not add any.";
    return empty("There are no documents here yet", advice);
  }

  #choice(row) {
    return el("input", {
      type: "checkbox",
      id: `choose-${row.id}`,
      "aria-label": `Select ${row.title ?? row.id}`,
      checked: this.#chosen.has(row.id),
      on: { change: (event) => this.#choose(row.id, event.target.checked) },
    });
  }

  #choose(id, chosen) {
    if (chosen) this.#chosen.add(id);
    else this.#chosen.delete(id);
    this.place.querySelector("#delete").disabled = this.#chosen.size === 0;
  }

  #deletion() {
    return el("div.row", {}, button("Delete selected", () => this.#delete(), { class: "danger", id: "delete", disabled: this.#chosen.size === 0 }));
  }

  async #delete() {
    const { app, api, namespace } = this.#view;
    const ids = [...this.#chosen];
    const text = "Their chunks and the memories only they support are deleted. This cannot be undone.";
    if (!(await confirmAction(`Delete ${plural(ids.length, "document")}?`, text, "Delete"))) return;
    await app.attempt(async () => {
      const { count } = await api.delete(path("ns", namespace, "document"), { body: { ids } });
      this.#chosen.clear();
      return `${plural(count, "document")} deleted.`;
    });
    await this.look();
  }
}
