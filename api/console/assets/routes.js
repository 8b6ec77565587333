/** Routes: from address to page. */

import { audit } from "./pages/audit.js";
import { connector } from "./pages/connector.js";
import { connectors } from "./pages/connectors.js";
import { document } from "./pages/document.js";
import { documents } from "./pages/documents.js";
import { graph } from "./pages/graph.js";
import { home } from "./pages/home.js";
import { keys } from "./pages/keys.js";
import { memories } from "./pages/memories.js";
import { memory } from "./pages/memory.js";
import { namespaces } from "./pages/namespaces.js";
import { organization } from "./pages/organization.js";
import { pipeline } from "./pages/pipeline.js";
import { profile } from "./pages/profile.js";
import { search } from "./pages/search.js";
import { settings } from "./pages/settings.js";
import { usage } from "./pages/usage.js";

const title = (text) => () => text;

/** `at`: parts of the address, with `:name` for those that vary; `tab`: the entry of the navigation it belongs to. */
const PAGES = [
  { at: "", tab: "home", title: title("Home"), show: home },
  { at: "namespaces", tab: "namespaces", title: title("Namespaces"), show: namespaces },
  { at: "ns/:namespace/search", tab: "search", title: title("Search"), show: search },
  { at: "ns/:namespace/documents", tab: "documents", title: title("Documents"), show: documents },
  { at: "ns/:namespace/documents/:id", tab: "documents", title: title("Document"), show: document },
  { at: "ns/:namespace/memories", tab: "memories", title: title("Memories"), show: memories },
  { at: "ns/:namespace/graph", tab: "graph", title: title("Memory graph"), show: graph },
  { at: "ns/:namespace/memories/:id", tab: "memories", title: title("Memory"), show: memory },
  { at: "ns/:namespace/profile", tab: "profile", title: title("Profile"), show: profile },
  { at: "ns/:namespace/connectors", tab: "connectors", title: title("Connectors"), show: connectors },
  { at: "ns/:namespace/connectors/:id", tab: "connectors", title: title("Connector"), show: connector },
  { at: "ns/:namespace/settings", tab: "settings", title: title("Settings"), show: settings },
  { at: "connectors", tab: "connectors", title: title("Connectors"), show: connectors },
  { at: "organization", tab: "organization", title: title("Organization"), show: organization },
  { at: "pipeline", tab: "pipeline", title: title("Pipeline"), show: pipeline },
  { at: "usage", tab: "usage", title: title("Usage"), show: usage },
  { at: "audit", tab: "audit", title: title("Audit"), show: audit },
  { at: "keys", tab: "keys", title: title("Keys"), show: keys },
];

/** Find the page of an address, with its variables; a not-found page otherwise. */
export function pageAt(parts) {
  for (const page of PAGES) {
    const params = matched(page.at.split("/").filter(Boolean), parts);
    if (params !== null) return { ...page, params };
  }
  return { at: "", tab: null, title: title("No such page"), show: missing, params: {} };
}

function matched(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  const params = {};
  for (const [at, part] of pattern.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = parts[at];
    else if (part !== parts[at]) return null;
  }
  return params;
}

async function missing() {
  return ["Page not found."];
}
