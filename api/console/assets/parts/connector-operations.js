/** An operator's controls of a connector: sync interval, full sync, credentials. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { credentialFields } from "./connect-source.js";
import { actionForm, button, field, filledValues, submit } from "./forms.js";

const ALL = "admin/connectors";

/** Connectors of every namespace, pending ones included, and verification tokens that providers sent. */
export function connectorStates({ api, namespace, rights, signal }) {
  return rights.operator && rights.connects(namespace) ? api.get(ALL, {}, signal) : { connectors: [], verificationTokens: {} };
}

/** Controls of one connector. */
export function connectorOperations({ app, api }, { id, syncIntervalHours, status }) {
  const hours = el("input", { type: "number", min: "0.1", max: "8760", step: "any", value: syncIntervalHours });
  const save = async () => {
    await api.put(`${path("admin", "connectors", id)}/schedule`, hours.value ? { syncIntervalHours: hours.valueAsNumber } : {});
    app.say(hours.value ? `Syncs every ${hours.value} hours.` : "Syncs at the default interval.");
  };
  const everything = () => app.attempt(async () => {
    await api.post(`${path("admin", "connectors", id)}/sync`, { full: true });
    return "A full sync was queued.";
  });
  return el(
    "section",
    {},
    el("h2", {}, "Schedule"),
    actionForm(save, { class: "row" }, field("Sync interval (hours)", hours, "Leave empty for the default."), submit("Save", {})),
    status === "active" ? el("p", {}, button("Run full sync", everything)) : null,
  );
}

/** New credentials for a connector, or a new authorization; its documents stay. */
export function reconnection({ app, api }, { id, provider }) {
  if (provider === "web-crawler") return null;
  const { controls, fields } = credentialFields(provider);
  const connect = async () => {
    const { authorizationUrl } = await api.post(`${path("admin", "connectors", id)}/reconnect`, filledValues(controls));
    if (authorizationUrl) location.assign(authorizationUrl);
    else app.say("The new credentials work. A sync was queued.");
  };
  return el("section", {}, el("h2", {}, "Credentials"), actionForm(connect, { class: "row" }, fields, submit("Connect again", {})));
}

/** Tokens that a provider expects on its settings page before it sends events. */
export function verificationTokenList(tokens, names) {
  const rows = Object.entries(tokens);
  if (rows.length === 0) return null;
  return el(
    "section",
    {},
    el("h2", {}, "Verification tokens"),
    el("p.muted", {}, "Sent by the provider to verify the webhook address. Paste it into the provider's webhook settings."),
    el("dl.facts", {}, rows.map(([provider, token]) => [el("dt", {}, names[provider] ?? provider), el("dd", {}, el("code", {}, token))])),
  );
}
