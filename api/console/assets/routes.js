/** Routes: from address to page. The module of a page is loaded when it is first shown. */

import { to } from "./addresses.js";
import { el } from "./dom.js";
import { empty } from "./parts/placeholders.js";

/** `at`: parts of the address, with `:name` for those that vary; `tab`: the entry of the navigation it belongs to. */
const PAGES = [
  { at: "", tab: "home", title: "Home", load: async () => (await import("./pages/home.js")).home },
  { at: "namespaces", tab: "namespaces", title: "Namespaces", load: async () => (await import("./pages/namespaces.js")).namespaces },
  { at: "ns/:namespace/search", tab: "search", title: "Search", load: async () => (await import("./pages/search.js")).search },
  { at: "ns/:namespace/documents", tab: "documents", title: "Documents", load: async () => (await import("./pages/documents.js")).documents },
  { at: "ns/:namespace/documents/:id", tab: "documents", title: "Document", load: async () => (await import("./pages/document.js")).document },
  { at: "ns/:namespace/memories", tab: "memories", title: "Memories", load: async () => (await import("./pages/memories.js")).memories },
  { at: "ns/:namespace/review", tab: "review", title: "Review", load: async () => (await import("./pages/review.js")).review },
  { at: "ns/:namespace/graph", tab: "graph", title: "Memory graph", load: async () => (await import("./pages/graph.js")).graph },
  { at: "ns/:namespace/memories/:id", tab: "memories", title: "Memory", load: async () => (await import("./pages/memory.js")).memory },
  { at: "ns/:namespace/profile", tab: "profile", title: "Profile", load: async () => (await import("./pages/profile.js")).profile },
  { at: "ns/:namespace/questions", tab: "questions", title: "Standing questions", load: async () => (await import("./pages/questions.js")).questions },
  { at: "ns/:namespace/connectors", tab: "connectors", title: "Connectors", load: async () => (await import("./pages/connectors.js")).connectors },
  { at: "ns/:namespace/connectors/:id", tab: "connectors", title: "Connector", load: async () => (await import("./pages/connector.js")).connector },
  { at: "ns/:namespace/settings", tab: "settings", title: "Settings", load: async () => (await import("./pages/settings.js")).settings },
  { at: "connectors", tab: "connectors", title: "Connectors", load: async () => (await import("./pages/connectors.js")).connectors },
  { at: "organization", tab: "organization", title: "Organization", load: async () => (await import("./pages/organization.js")).organization },
  { at: "pipeline", tab: "pipeline", title: "Pipeline", load: async () => (await import("./pages/pipeline.js")).pipeline },
  { at: "usage", tab: "usage", title: "Usage", load: async () => (await import("./pages/usage.js")).usage },
  { at: "audit", tab: "audit", title: "Audit", load: async () => (await import("./pages/audit.js")).audit },
  { at: "design", tab: null, title: "Design", load: async () => (await import("./pages/design.js")).design },
  { at: "keys", tab: "keys", title: "Keys", load: async () => (await import("./pages/keys.js")).keys },
];

/** Find the page of an address, with its variables; a not-found page otherwise. */
export function pageAt(parts) {
  for (const page of PAGES) {
    const params = matched(page.at.split("/").filter(Boolean), parts);
    if (params !== null) return { ...page, params };
  }
  return { at: "", tab: null, title: "No such page", load: async () => missing, params: {} };
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
  return [empty("There is no page at this address", "It may have been mistyped, or cut off when it was copied.", el("a.button", { href: to([]) }, "To the first page"))];
}
