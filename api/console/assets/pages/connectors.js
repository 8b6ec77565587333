/** Connectors of a namespace, or of all namespaces of the key. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { number, plural, time } from "../format.js";
import { NAMES, connectSourceForm } from "../parts/connect-source.js";
import { verificationTokenList, connectorStates } from "../parts/connector-operations.js";
import { panel } from "../parts/panel.js";
import { poll, renew } from "../parts/polling.js";
import { runOutcome } from "../parts/sync-run.js";
import { empty } from "../parts/placeholders.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const LOOK_MS = 2000;

export async function connectors(view) {
  const { app, api, namespace, query, rights, signal } = view;
  const place = el("section", { "aria-label": "Connectors" });
  const way = namespace === undefined ? ["connectors"] : ["ns", namespace, "connectors"];
  const options = { page: query.get("page") ?? 1, limit: PER_PAGE };
  const look = async () => renew(place, await api.get(path(...way), options, signal), (answer) => listed(answer, way, app.namespace));
  const [known] = await Promise.all([connectorStates(view), look()]);
  poll(signal, LOOK_MS, look);
  const connect = namespace !== undefined && rights.connects(namespace) ? panel("Connect a source", () => connectSourceForm(view), { primary: true, symbol: "plus" }) : null;
  if (connect) view.head("Connectors", connect.button);
  return [
    connect?.node,
    place,
    pending(known.connectors.filter((one) => one.status === "pending" && [undefined, one.namespace].includes(namespace))),
    verificationTokenList(known.verificationTokens, NAMES),
    namespace === undefined ? null : el("p", {}, el("a", { href: to(["connectors"]) }, "Connectors of every namespace")),
  ];
}

function listed({ connectors: rows, pagination }, way, current) {
  if (pagination.totalItems === 0) return nothing(way, current);
  const columns = [
    { name: "Source", show: (row) => link(row) },
    { name: "Account", align: "free", show: (row) => row.account ?? "" },
    { name: "Documents", align: "number", show: (row) => `${number(row.documentCount)} of ${number(row.documentLimit)}` },
    { name: "Newest run", align: "free", show: (row) => runOutcome(row) },
    { name: "Last success", show: (row) => time(row.system.lastSuccessfulSyncAt) },
  ];
  if (way.length === 1) columns.splice(1, 0, { name: "Namespace", align: "free", show: (row) => row.namespace });
  return [table(plural(pagination.totalItems, "connector"), columns, rows), pager(pagination, (page) => to(way, { page }))];
}

/** The page of all namespaces leads to the one where a source is connected. */
function nothing(way, current) {
  const next = current === null ? el("a.button", { href: to(["namespaces"]) }, "Create a namespace first") : el("a.button", { href: to(["ns", current, "connectors"]) }, `Connect a source to ${current}`);
  return empty("No connectors", "A connector keeps documents in step with a source: pages, mails, files, repositories, a web site.", way.length === 1 ? next : null);
}

function link({ namespace, id, provider }) {
  return el("a", { href: to(["ns", namespace, "connectors", id]) }, NAMES[provider]);
}

/** Connectors pending authorization; only operators see them. */
function pending(rows) {
  if (rows.length === 0) return null;
  return el(
    "section",
    {},
    el("h2", {}, "Not authorized yet"),
    el("ul", {}, rows.map((row) => el("li", {}, row.namespace === null ? NAMES[row.provider] : [link(row), ` in ${row.namespace}`]))),
  );
}
