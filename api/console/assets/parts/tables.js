/** Tables that become cards in a narrow window, and pagination. */

import { el } from "../dom.js";
import { number } from "../format.js";

/**
 * The roles are said, as browsers forget them where cells are no table's boxes any more.
 * `columns`: `{ name, show, align }` with `show` from an item to a cell's content; the first one is the row's header.
 * `align`: `number`, `free` where words may be broken, or `whole` where lines are not.
 */
export function table(caption, columns, items, attributes = {}) {
  const head = columns.map((one) => el("th", { scope: "col", role: "columnheader", class: one.align }, one.name));
  return el(
    "table",
    { role: "table", ...attributes },
    el("caption", {}, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
    el("tbody", { role: "rowgroup" }, items.map((item) => row(columns, item))),
  );
}

function row(columns, item) {
  const cells = columns.map((one, at) =>
    at === 0
      ? el("th", { scope: "row", role: "rowheader" }, one.show(item))
      : el("td", { role: "cell", class: one.align, "data-label": one.name }, el("div.cell", {}, one.show(item))),
  );
  return el("tr", { role: "row" }, cells);
}

/** Links to the previous and next page; null for a single page. `to`: from a page number to its address. A list may have become shorter. */
export function pager(pagination, to) {
  const { currentPage: at, totalPages: pages, totalItems: items } = pagination;
  if (Math.max(at, pages) <= 1) return null;
  return el(
    "nav.pager",
    { "aria-label": "Pages" },
    at > 1 ? el("a", { href: to(Math.min(at - 1, pages)), rel: "prev" }, "← Previous") : el("span", {}),
    el("span.muted", {}, `Page ${number(at)} of ${number(pages)}, ${number(items)} in all`),
    at < pages ? el("a", { href: to(at + 1), rel: "next" }, "Next →") : el("span", {}),
  );
}
