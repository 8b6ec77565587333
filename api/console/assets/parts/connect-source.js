/** Form that connects a source. */

import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { actionForm, field, filledValues, select, submit } from "./forms.js";

export const NAMES = {
  notion: "Notion",
  "google-drive": "Google Drive",
  onedrive: "OneDrive",
  gmail: "Gmail",
  github: "GitHub",
  "web-crawler": "A web site",
  s3: "S3",
  granola: "Granola",
};
const DRIVES = new Set(["google-drive", "onedrive"]);

/** Config fields of each source: `[name in the interface, label, attributes, hint]`. */
const CONFIG = {
  "web-crawler": [
    ["startUrl", "Start at", { type: "url", required: true, placeholder: "https://" }],
    ["crawlDepth", "Link depth", { type: "number", min: "1", max: "5" }, "1 to 5. Leave empty for the default."],
  ],
  s3: [
    ["bucket", "Bucket", { required: true }],
    ["region", "Region", { required: true }],
    ["accessKeyId", "Access key id", { required: true, autocomplete: "off" }],
    ["secretAccessKey", "Secret access key", { required: true, type: "password", autocomplete: "off" }],
    ["endpoint", "Endpoint", { type: "url" }, "Leave empty for Amazon S3."],
    ["prefix", "Key prefix", {}, "Leave empty for all."],
  ],
  granola: [["apiKey", "API key", { required: true, type: "password", autocomplete: "off" }]],
};

const CREDENTIALS = new Set(["apiKey", "accessKeyId", "secretAccessKey"]);

/** Inputs for the credentials of a connector by name, and their fields; a user authorizes sources without any. */
export function credentialFields(provider) {
  const wanted = (CONFIG[provider] ?? []).filter(([name]) => CREDENTIALS.has(name));
  const controls = Object.fromEntries(wanted.map(([name, , attributes]) => [name, el("input", { spellcheck: "false", ...attributes })]));
  return { controls, fields: wanted.map(([name, label, , hint]) => field(label, controls[name], hint)) };
}

/** Label of a config field. */
export function configLabel(provider, name) {
  return CONFIG[provider]?.find(([known]) => known === name)?.[1] ?? name;
}

export function connectSourceForm({ app, api, namespace }) {
  const provider = select(NAMES, "github", { on: { change: () => shown() } });
  const limit = el("input", { type: "number", min: "1", max: "10000" });
  const own = el("div.stack");
  let controls = {};
  const shown = () => {
    const wanted = CONFIG[provider.value] ?? [];
    controls = Object.fromEntries(wanted.map(([name, , attributes]) => [name, el("input", { spellcheck: "false", ...attributes })]));
    refill(own, wanted.map(([name, label, , hint]) => field(label, controls[name], hint)));
  };
  const connect = async () => {
    const body = { provider: provider.value, ...(limit.value ? { documentLimit: limit.valueAsNumber } : {}), ...configured(provider.value, controls) };
    const made = await api.post(path("ns", namespace, "connectors"), body);
    if (made.authorization) location.assign(made.authorization.url);
    else app.go(["ns", namespace, "connectors", made.id]);
  };
  shown();
  return actionForm(
    connect,
    { class: "stack" },
    field("Source", provider),
    own,
    field("Document limit", limit, "Leave empty for the default."),
    submit("Connect"),
  );
}

/** Provider-specific part of the request: config, or return address after authorization. */
function configured(provider, controls) {
  if (CONFIG[provider]) return { config: filledValues(controls) };
  return { redirectUrl: location.href, ...(DRIVES.has(provider) ? { config: { syncScope: "selected" } } : {}) };
}
