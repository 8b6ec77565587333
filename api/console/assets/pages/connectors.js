/** The connectors of a namespace: how their runs went, and connecting another source. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { number, plural, time } from "../format.js";
import { NAMES, connecting } from "../parts/connecting.js";
import { poll, renew } from "../parts/polling.js";
import { outcome } from "../parts/runs.js";
import { empty } from "../parts/states.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const LOOK_MS = 2000;

export async function connectors(view) {
  const { api, namespace, query, rights, signal } = view;
  const place = el("section", { "aria-label": "Connectors" });
  const options = { page: query.get("page") ?? 1, limit: PER_PAGE };
  const look = async () => renew(place, await api.get(path("ns", namespace, "connectors"), options, signal), (answer) => listed(answer, namespace));
  await look();
  poll(signal, LOOK_MS, look);
  return [place, rights.writes(namespace) ? connecting(view) : null];
}

function listed({ connectors: rows, pagination }, namespace) {
  if (rows.length === 0) return empty("Nothing is connected", "A connector keeps documents in step with a source: pages, mails, files, repositories, a web site.");
  const columns = [
    { name: "Source", show: (row) => el("a", { href: to(["ns", namespace, "connectors", row.id]) }, NAMES[row.provider]) },
    { name: "Account", show: (row) => row.account ?? "" },
    { name: "Documents", align: "number", show: (row) => `${number(row.documentCount)} of ${number(row.documentLimit)}` },
    { name: "Newest run", show: (row) => outcome(row) },
    { name: "Last success", show: (row) => time(row.system.lastSuccessfulSyncAt) },
  ];
  return [
    table(plural(pagination.totalItems, "connector"), columns, rows),
    pager(pagination, (page) => to(["ns", namespace, "connectors"], { page })),
  ];
}
