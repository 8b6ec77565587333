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
import { questions } from "./pages/questions.js";
import { review } from "./pages/review.js";
import { search } from "./pages/search.js";
import { settings } from "./pages/settings.js";
import { usage } from "./pages/usage.js";

/** `at`: parts of the address, with `:name` for those that vary; `tab`: the entry of the navigation it belongs to. */
const PAGES = [
  { at: "", tab: "home", title: "Home", show: home },
  { at: "namespaces", tab: "namespaces", title: "Namespaces", show: namespaces },
  { at: "ns/:namespace/search", tab: "search", title: "Search", show: search },
  { at: "ns/:namespace/documents", tab: "documents", title: "Documents", show: documents },
  { at: "ns/:namespace/documents/:id", tab: "documents", title: "Document", show: document },
  { at: "ns/:namespace/memories", tab: "memories", title: "Memories", show: memories },
  { at: "ns/:namespace/review", tab: "review", title: "Review", show: review },
  { at: "ns/:namespace/graph", tab: "graph", title: "Memory graph", show: graph },
  { at: "ns/:namespace/memories/:id", tab: "memories", title: "Memory", show: memory },
  { at: "ns/:namespace/profile", tab: "profile", title: "Profile", show: profile },
  { at: "ns/:namespace/questions", tab: "questions", title: "Standing questions", show: questions },
  { at: "ns/:namespace/connectors", tab: "connectors", title: "Connectors", show: connectors },
  { at: "ns/:namespace/connectors/:id", tab: "connectors", title: "Connector", show: connector },
  { at: "ns/:namespace/settings", tab: "settings", title: "Settings", show: settings },
  { at: "connectors", tab: "connectors", title: "Connectors", show: connectors },
  { at: "organization", tab: "organization", title: "Organization", show: organization },
  { at: "pipeline", tab: "pipeline", title: "Pipeline", show: pipeline },
  { at: "usage", tab: "usage", title: "Usage", show: usage },
  { at: "audit", tab: "audit", title: "Audit", show: audit },
  { at: "keys", tab: "keys", title: "Keys", show: keys },
];

/** Find the page of an address, with its variables; a not-found page otherwise. */
export function pageAt(parts) {
  for (const page of PAGES) {
    const params = matched(page.at.split("/").filter(Boolean), parts);
    if (params !== null) return { ...page, params };
  }
  return { at: "", tab: null, title: "No such page", show: missing, params: {} };
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
