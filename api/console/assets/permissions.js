/** Permissions of a key. Decides only what is shown: the service checks every request. */

/** Scopes of each role, unless a key has fewer. */
const USUAL = { read: 1, write: 4, admin: 5 };

/** Derive permissions from an answer of /admin/whoami; most are asked for a namespace. */
export function rightsOf({ scopes, namespaces, operator }) {
  const may = (...wanted) => wanted.every((scope) => scopes.includes(scope));
  const opens = (namespace) => namespaces === null || namespaces.some((scope) => covers(scope, namespace));
  return {
    writes: (namespace) => may("write") && opens(namespace),
    /** Shows what it forgets, or deletes. */
    forgets: (namespace) => may("read", "forget") && opens(namespace),
    corrects: (namespace) => may("read", "write", "forget") && opens(namespace),
    connects: (namespace) => may("connect") && opens(namespace),
    /** Writes in some namespace. */
    writer: may("write"),
    /** Issues and revokes keys within its own scope. */
    admin: may("admin"),
    /** Sees data beyond namespaces: pipeline, dead letters, usage. */
    operator,
  };
}

/** Name what a key may do: its role, or its scopes if they are fewer. */
export const nameRights = ({ role, scopes }) => (scopes.length < USUAL[role] ? scopes.join(", ") : role);

/** Describe a key: "write key for team-a:*". */
export function describeKey(who) {
  return `${nameRights(who)} key for ${who.namespaces === null ? "all namespaces" : who.namespaces.join(", ")}`;
}

function covers(scope, namespace) {
  return scope.endsWith("*") ? namespace.startsWith(scope.slice(0, -1)) : namespace === scope;
}
