/** Connecting a source. */

import { path } from "../api.js";
import { el, refill } from "../dom.js";
import { field, form, select } from "./forms.js";
import { problem } from "./states.js";

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

/** `[name in the interface, label, attributes, hint]` of what a source has to be told. */
const CONFIG = {
  "web-crawler": [
    ["startUrl", "Start at", { type: "url", required: true, placeholder: "https://" }],
    ["crawlDepth", "Links deep", { type: "number", min: "1", max: "5" }, "1 to 5; empty: as usual."],
  ],
  s3: [
    ["bucket", "Bucket", { required: true }],
    ["region", "Region", { required: true }],
    ["accessKeyId", "Access key id", { required: true, autocomplete: "off" }],
    ["secretAccessKey", "Secret access key", { required: true, type: "password", autocomplete: "off" }],
    ["endpoint", "Endpoint", { type: "url" }, "Empty: Amazon's."],
    ["prefix", "Keys that begin with", {}, "Empty: all of them."],
  ],
  granola: [["apiKey", "API key", { required: true, type: "password", autocomplete: "off" }]],
};

export function connecting({ app, api, namespace }) {
  const provider = select(NAMES, "github", { on: { change: () => shown() } });
  const limit = el("input", { type: "number", min: "1", max: "10000" });
  const own = el("div.stack");
  const trouble = el("p.trouble", { role: "alert" });
  let controls = {};
  const shown = () => {
    const wanted = CONFIG[provider.value] ?? [];
    controls = Object.fromEntries(wanted.map(([name, , attributes]) => [name, el("input", { spellcheck: "false", ...attributes })]));
    refill(own, wanted.map(([name, label, , hint]) => field(label, controls[name], hint)));
  };
  const connect = async () => {
    trouble.replaceChildren();
    const body = { provider: provider.value, ...(limit.value ? { documentLimit: limit.valueAsNumber } : {}), ...configured(provider.value, controls) };
    try {
      const made = await api.post(path("ns", namespace, "connectors"), body);
      if (made.authorization) location.assign(made.authorization.url);
      else app.go(["ns", namespace, "connectors", made.id]);
    } catch (error) {
      trouble.append(problem(error));
    }
  };
  shown();
  return el(
    "details",
    {},
    el("summary", {}, "Connect a source"),
    form(
      connect,
      { class: "stack" },
      field("Source", provider),
      own,
      field("Documents at most", limit, "Empty: as the service is set up."),
      el("div", {}, el("button.primary", { type: "submit" }, "Connect")),
      trouble,
    ),
  );
}

/** The part of the request that the source needs: its config, or where to come back to after authorizing. */
function configured(provider, controls) {
  const given = Object.entries(controls).filter(([, control]) => control.value !== "");
  const config = Object.fromEntries(given.map(([name, control]) => [name, control.type === "number" ? control.valueAsNumber : control.value]));
  if (CONFIG[provider]) return { config };
  return { redirectUrl: location.href, ...(DRIVES.has(provider) ? { config: { syncScope: "selected" } } : {}) };
}
