/** What the navigation leads to. */

/** The entries for this key and the namespace that is looked at; `key`: goes there after a `g`. */
export function* entriesFor({ namespace }) {
  yield { tab: "namespaces", name: "Namespaces", parts: [], key: "n" };
  if (namespace !== null) {
    yield { tab: "search", name: "Search", parts: ["ns", namespace, "search"], key: "s" };
    yield { tab: "documents", name: "Documents", parts: ["ns", namespace, "documents"], key: "d" };
    yield { tab: "memories", name: "Memories", parts: ["ns", namespace, "memories"], key: "m" };
  }
}
