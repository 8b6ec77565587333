/** Entries of the navigation. */

/** Entries for a key's rights and the current namespace; `key`: shortcut after `g`. */
export function* entriesFor({ namespace, rights }) {
  yield { tab: "home", name: "Home", parts: [], key: "h" };
  yield { tab: "namespaces", name: "Namespaces", parts: ["namespaces"], key: "n" };
  if (namespace !== null) {
    yield { tab: "search", name: "Search", parts: ["ns", namespace, "search"], key: "s" };
    yield { tab: "documents", name: "Documents", parts: ["ns", namespace, "documents"], key: "d" };
    yield { tab: "memories", name: "Memories", parts: ["ns", namespace, "memories"], key: "m" };
    yield { tab: "graph", name: "Graph", parts: ["ns", namespace, "graph"], key: "r" };
    yield { tab: "profile", name: "Profile", parts: ["ns", namespace, "profile"], key: "p" };
    yield { tab: "connectors", name: "Connectors", parts: ["ns", namespace, "connectors"], key: "c" };
    yield { tab: "settings", name: "Settings", parts: ["ns", namespace, "settings"], key: "t" };
  }
  if (namespace === null) yield { tab: "connectors", name: "Connectors", parts: ["connectors"], key: "c" };
  if (rights.operator) {
    yield { tab: "organization", name: "Organization", parts: ["organization"], key: "o" };
    yield { tab: "pipeline", name: "Pipeline", parts: ["pipeline"], key: "l" };
  }
  if (rights.admin) {
    yield { tab: "keys", name: "Keys", parts: ["keys"], key: "k" };
    yield { tab: "usage", name: "Usage", parts: ["usage"], key: "u" };
  }
  if (rights.operator) yield { tab: "audit", name: "Audit", parts: ["audit"], key: "a" };
}
