/** Client of the HTTP interface. */

import { plural } from "./format.js";

const ROOT = new URL("../", document.baseURI);
const TITLES = {
  401: "The key is not valid any more",
  402: "The quota is used up",
  403: "Your key is not permitted to do this",
  404: "Not found",
  429: "Too many requests",
  503: "The service is temporarily unavailable",
};
const PASSING = new Set([0, 429, 500, 502, 503, 504]);

/** Error of a request, worded for people. `status` 0: the service could not be reached. */
export class ApiError extends Error {
  constructor(status, title, details = "") {
    super(title);
    this.status = status;
    this.details = details;
  }

  /** Whether the same request may be answered in a moment: the service is stopped, restarts, or is busy. */
  get isPassing() {
    return PASSING.has(this.status);
  }
}

/** Client with one key. Calls `refused` when the service rejects the key. */
export class Api {
  #key;
  #refused;

  constructor(key, refused = () => {}) {
    this.#key = key;
    this.#refused = refused;
  }

  get(path, query, signal) {
    return this.#json("GET", path, { query, signal });
  }

  post(path, body, query, signal) {
    return this.#json("POST", path, { body, query, signal });
  }

  put(path, body) {
    return this.#json("PUT", path, { body });
  }

  patch(path, body) {
    return this.#json("PATCH", path, { body });
  }

  delete(path, { body, query } = {}) {
    return this.#json("DELETE", path, { body, query });
  }

  /** A multipart form. */
  async upload(path, form, method = "POST") {
    return read(await this.#send(method, path, { content: form }));
  }

  /** The bytes and the name of a file. */
  async download(path, signal) {
    const answer = await this.#send("GET", path, { signal });
    const name = decodeURIComponent(answer.headers.get("content-disposition").split("UTF-8''")[1]);
    return { name, content: await answer.blob() };
  }

  /** A picture that the service draws. */
  async picture(path, query, signal) {
    return (await this.#send("GET", path, { query, signal })).blob();
  }

  /** Response of a stream of server-sent events, after the event with this id. */
  stream(path, after, signal) {
    return this.#send("GET", path, { headers: after ? { "last-event-id": after } : {}, signal });
  }

  async #json(method, path, { body, query, signal }) {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    return read(await this.#send(method, path, { content, headers, query, signal }));
  }

  async #send(method, path, { content, headers = {}, query, signal }) {
    const answer = await fetch(address(path, query), {
      method,
      body: content,
      headers: { ...headers, authorization: `Bearer ${this.#key}` },
      credentials: "omit",
      cache: "no-store",
      signal,
    }).catch(unreachable);
    if (answer.ok) return answer;
    const error = failed(answer, await answer.json().catch(unread));
    if (error.status === 401) this.#refused(error);
    throw error;
  }
}

/** Parse an answer. What is no JSON comes from elsewhere, or was cut off. */
function read(answer) {
  return answer.json().catch((reason) => {
    unread(reason);
    throw new ApiError(502, "The answer can't be read", "It was cut off, or something between this browser and the service answered instead.");
  });
}

/** Null for a body that is not JSON; rethrows the abort of a page that was left. */
function unread(reason) {
  if (reason.name === "AbortError") throw reason;
  return null;
}

/** Parts of a path, each of them encoded: `path("ns", "alice", "document", "a/b")`. */
export function path(...parts) {
  return parts.map(encodeURIComponent).join("/");
}

function address(relative, query) {
  const url = new URL(relative, ROOT);
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
  }
  return url;
}

/** Say that there is no answer: to a request, or to the loading of a page's script. */
export function unreachable(reason) {
  if (reason.name === "AbortError") throw reason;
  throw new ApiError(0, "The service can't be reached", "Is it running? What was just sent may not have arrived.");
}

function failed(answer, said) {
  const wait = answer.headers.get("retry-after");
  const later = Number(wait) > 0 ? ` Try again in ${plural(Number(wait), "second")}.` : "";
  if (Array.isArray(said?.error)) {
    return new ApiError(answer.status, "The request was rejected", said.error.map((one) => one.message).join("; "));
  }
  const title = said?.error ?? TITLES[answer.status] ?? `The service answered ${answer.status}`;
  return new ApiError(answer.status, title, (said?.details ?? "") + later);
}
