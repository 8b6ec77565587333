/** Entries of the navigation, in groups. */

/** Groups for a key's rights and the current namespace; `key`: shortcut after `g`. */
export function groupsFor({ namespace, rights }) {
  const service = [
    { tab: "namespaces", name: "Namespaces", parts: ["namespaces"], key: "n" },
    ...(namespace === null ? [{ tab: "connectors", name: "Connectors", parts: ["connectors"], key: "c" }] : []),
    ...(rights.operator ? [{ tab: "organization", name: "Organization", parts: ["organization"], key: "o" }, { tab: "pipeline", name: "Pipeline", parts: ["pipeline"], key: "l" }] : []),
    ...(rights.admin ? [{ tab: "keys", name: "Keys", parts: ["keys"], key: "k" }, { tab: "usage", name: "Usage", parts: ["usage"], key: "u" }] : []),
    ...(rights.operator ? [{ tab: "audit", name: "Audit", parts: ["audit"], key: "a" }] : []),
  ];
  return [
    { name: null, entries: [{ tab: "home", name: "Home", parts: [], key: "h" }] },
    ...(namespace === null ? [] : [{ name: "Namespace", entries: ofNamespace(namespace) }]),
    { name: "Service", entries: service },
  ];
}

export const entriesFor = (app) => groupsFor(app).flatMap(({ entries }) => entries);

function ofNamespace(namespace) {
  const entry = (tab, name, key) => ({ tab, name, parts: ["ns", namespace, tab], key });
  return [
    entry("search", "Search", "s"),
    entry("documents", "Documents", "d"),
    entry("memories", "Memories", "m"),
    entry("review", "Review", "v"),
    entry("graph", "Graph", "r"),
    entry("profile", "Profile", "p"),
    entry("questions", "Questions", "q"),
    entry("connectors", "Connectors", "c"),
    entry("settings", "Settings", "t"),
  ];
}
