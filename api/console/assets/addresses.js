/** Addresses within the console, in the fragment, which browsers send to no server. */

import { path } from "./api.js";

/** `to(["ns", "alice", "search"], { q: "cello" })` → "#/ns/alice/search?q=cello" */
export function to(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const options = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return `#/${path(...parts)}${options}`;
}

/** Parts and options of the current address. */
export function here() {
  const [, way, options] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash);
  return { parts: way.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(options) };
}

/** A part that was typed by hand may have a percent sign that encodes nothing. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
