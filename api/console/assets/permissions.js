/** Permissions of a key. Decides only what is shown: the service checks every request. */

/** Derive permissions from an answer of /admin/whoami. */
export function rightsOf(who) {
  const reads = (namespace) => who.namespaces === null || who.namespaces.some((scope) => covers(scope, namespace));
  return {
    reads,
    writes: (namespace) => who.role !== "read" && reads(namespace),
    /** Issues and revokes keys within its own scope. */
    admin: who.role === "admin",
    /** Sees data beyond namespaces: pipeline, dead letters, usage. */
    operator: who.operator,
  };
}

/** Describe a key: "write key for team-a:*". */
export function describeKey(who) {
  const scope = who.namespaces === null ? "all namespaces" : who.namespaces.join(", ");
  return `${who.role} key for ${scope}`;
}

function covers(scope, namespace) {
  return scope.endsWith("*") ? namespace.startsWith(scope.slice(0, -1)) : namespace === scope;
}
