/** What a key may do, as the service judges it. The service asks again at every request: this only decides what is shown. */

/** `who`: what /admin/whoami says. */
export function rightsOf(who) {
  const reads = (namespace) => who.namespaces === null || who.namespaces.some((scope) => covers(scope, namespace));
  return {
    reads,
    writes: (namespace) => who.role !== "read" && reads(namespace),
    /** Issues and revokes keys within its own scope. */
    admin: who.role === "admin",
    /** Sees what belongs to no namespace: pipeline, dead letters, usage. */
    operator: who.operator,
  };
}

/** "write key for team-a:*" */
export function described(who) {
  const scope = who.namespaces === null ? "all namespaces" : who.namespaces.join(", ");
  return `${who.role} key for ${scope}`;
}

function covers(scope, namespace) {
  return scope.endsWith("*") ? namespace.startsWith(scope.slice(0, -1)) : namespace === scope;
}
