/** What operators do with a connector: how often it runs by itself, and listing everything anew. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { acting, button, field, submit } from "./forms.js";

const ALL = "admin/connectors";

/** Of every namespace, also those that wait to be authorized; and the verification tokens that providers sent. */
export function states({ api, rights, signal }) {
  return rights.operator ? api.get(ALL, {}, signal) : { connectors: [], handshakes: {} };
}

/** `state`: how an operator sees it. */
export function operating({ app, api }, { id, everyHours, status }) {
  const hours = el("input", { type: "number", min: "0.1", max: "8760", step: "any", value: everyHours });
  const save = async () => {
    await api.put(`${path("admin", "connectors", id)}/schedule`, hours.value ? { everyHours: hours.valueAsNumber } : {});
    app.say(hours.value ? `It runs by itself every ${hours.value} hours.` : "It runs as the service is set up.");
  };
  const everything = () => app.attempt(async () => {
    await api.post(`${path("admin", "connectors", id)}/sync`, { full: true });
    return "A run will begin that lists everything.";
  });
  return el(
    "section",
    {},
    el("h2", {}, "Schedule"),
    acting(save, { class: "row" }, field("Runs by itself every so many hours", hours, "Empty: as the service is set up."), submit("Save", {})),
    status === "active" ? el("p", {}, button("Run, and list everything anew", everything, { id: "full" })) : null,
  );
}

/** Secrets that a provider wants to see on its own page before it sends events. */
export function handshakes(tokens, names) {
  const rows = Object.entries(tokens);
  if (rows.length === 0) return null;
  return el(
    "section",
    {},
    el("h2", {}, "Verification tokens"),
    el("p.muted", {}, "A provider sent it to see that its events reach you. Paste it where the provider's page asks for it."),
    el("dl.facts", {}, rows.map(([provider, token]) => [el("dt", {}, names[provider] ?? provider), el("dd", {}, el("code", {}, token))])),
  );
}
