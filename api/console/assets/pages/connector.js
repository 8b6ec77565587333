/** A connector: runs, failures, selected content. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { number, plural, time } from "../format.js";
import { NAMES, configLabel } from "../parts/connect-source.js";
import { showDialog } from "../parts/dialogs.js";
import { actionForm, button, field, submit } from "../parts/forms.js";
import { connectorOperations, connectorStates, reconnection } from "../parts/connector-operations.js";
import { poll, renew } from "../parts/polling.js";
import { runOutcome, failureReason, runStatus } from "../parts/sync-run.js";

const LOOK_MS = 1500;

export async function connector(view) {
  const { api, namespace, id, signal } = view;
  const place = el("div");
  const way = path("ns", namespace, "connectors", id);
  let newest;
  const look = async () => {
    newest = await api.get(way, { include: "syncs" }, signal);
    renew(place, newest, (shown) => parts(view, shown, act));
  };
  const act = (does) => view.app.attempt(async () => {
    const said = await does(way);
    await look();
    return said;
  });
  const [known] = await Promise.all([connectorStates(view), look()]);
  poll(signal, LOOK_MS, look);
  const own = known.connectors.find((one) => one.id === id);
  return [place, view.rights.connects(namespace) ? limit(view, way, newest.documentLimit, look) : null, own ? [connectorOperations(view, own), reconnection(view, own)] : null];
}

function parts(view, shown, act) {
  const { namespace, rights } = view;
  return [
    el("h2", {}, NAMES[shown.provider], shown.account ? `, ${shown.account}` : ""),
    facts(shown),
    rights.connects(namespace) ? actions(view, shown, act) : null,
    el("h2", {}, "Runs"),
    shown.syncs.length === 0 ? el("p.muted", {}, "No runs yet.") : el("ol.plain.passages", {}, shown.syncs.map((one) => el("li.result", {}, run(one, namespace)))),
  ];
}

function limit({ app, api }, way, before, look) {
  const documents = el("input", { type: "number", min: "1", max: "10000", required: true, value: before });
  const save = async () => {
    await api.patch(way, { documentLimit: documents.valueAsNumber });
    app.say(`Document limit set to ${number(documents.valueAsNumber)}.`);
    await look();
  };
  return el("section", {}, el("h2", {}, "Limit"), actionForm(save, { class: "row" }, field("Document limit", documents, "Documents beyond the limit are removed, in the order the source lists them."), submit("Change", {})));
}

function facts({ provider, documentCount, documentLimit, config, selection, system, ...rest }) {
  const chosen = Object.entries(selection ?? {}).map(([kind, some]) => `${kind}: ${some.map((one) => one.name).join(", ")}`);
  const rows = [
    ["State", runOutcome({ system, ...rest })],
    ["Documents", `${number(documentCount)} of at most ${number(documentLimit)}`],
    ["Last success", time(system.lastSuccessfulSyncAt)],
    ["Selected content", chosen.join("; ") || "everything"],
    ...Object.entries(config ?? {}).map(([name, value]) => [configLabel(provider, name), String(value)]),
  ];
  return el("dl.facts", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function actions({ api, app, namespace, rights }, { id, capabilities, system, authorization }, act) {
  const sync = () => act(async (way) => {
    await api.post(`${way}/sync`);
    return "Sync queued.";
  });
  const choose = () => act(async (way) => {
    const { picker } = await api.get(way, { include: "picker", returnUrl: location.href });
    location.assign(picker.url);
    return "Opening the picker.";
  });
  const end = async () => {
    const documents = await whatToKeep();
    if (documents === null) return;
    await app.attempt(async () => {
      await api.delete(path("ns", namespace, "connectors", id), { query: { deleteDocuments: documents } });
      app.go(["ns", namespace, "connectors"]);
      return "Disconnected.";
    });
  };
  const pending = system.status === "pending_authorization";
  return el("div.row", {}, [
    pending ? null : button("Run now", sync, { class: "primary" }),
    pending && authorization ? el("a.button", { href: authorization.url, rel: "noreferrer" }, "Authorize it") : null,
    capabilities.selectable && !pending && rights.admin ? button("Select content", choose) : null,
    button("Disconnect", end, { class: "danger" }),
  ]);
}

/** Ask whether to delete its documents too; null: cancelled. */
function whatToKeep() {
  return showDialog("Disconnect?", (close) => [
    el("p", {}, "Syncing stops. Keep or delete the synced documents?"),
    el(
      "div.actions",
      {},
      button("Cancel", () => close(null), { autofocus: true }),
      button("Keep the documents", () => close("false")),
      button("Delete the documents", () => close("true"), { class: "danger" }),
    ),
  ]);
}

function run(one, namespace) {
  const { system, trigger, itemsProcessed, itemsFailed, failures } = one;
  return [
    el("p", {}, runStatus(one), ` ${plural(itemsProcessed, "item")}, ${number(itemsFailed)} failed; `, time(system.startedAt), ` (${trigger})`),
    failureReason(one) ? el("p.trouble", {}, failureReason(one)) : null,
    failures.length > 0 ? el("ul", {}, failures.map((failed) => el("li", {}, failure(failed, namespace)))) : null,
  ];
}

/** An item without a title goes by its name at the source: the id is `provider:connector:name`. */
function failure({ documentId, title, errorMessage }, namespace) {
  const name = title || documentId.split(":").slice(2).join(":");
  return [el("a", { href: to(["ns", namespace, "documents", documentId]) }, name), `: ${errorMessage}`];
}
