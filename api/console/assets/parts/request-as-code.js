/** A search as code that does the same: curl, Python and TypeScript. */

import { el, refill } from "../dom.js";
import { button, copyButton } from "./forms.js";
import { panel } from "./panel.js";

/** Build a panel with the request in each language; the key is left to the environment. */
export function requestAsCode(namespace, body) {
  const sent = withoutUsual(body);
  // Only the explaining search answers as of a past moment; the official client does not know it.
  const url = new URL(`../ns/${encodeURIComponent(namespace)}/${sent.asOf ? "explain/search" : "search"}`, document.baseURI).href;
  const texts = { curl: curl(url, sent), Python: sent.asOf ? pythonOfPast(url, sent) : python(url, namespace, sent), TypeScript: typescript(url, sent) };
  const code = el("pre.document", { tabindex: "0", "aria-label": "Code" });
  const choices = Object.keys(texts).map((name) => button(name, () => choose(name)));
  const choose = (name) => {
    refill(code, texts[name]);
    for (const choice of choices) choice.setAttribute("aria-pressed", String(choice.textContent === name));
  };
  choose("curl");
  return panel("This search as code", [el("div.row", {}, choices, copyButton(() => code.textContent)), code], { name: "code" });
}

/** Leave out what the service takes by itself. */
function withoutUsual({ query, searchMode, limit, threshold, rerank, rewriteQuery, include, ...rest }) {
  const given = { query, ...rest };
  if (searchMode !== "hybrid") given.searchMode = searchMode;
  if (limit !== 10) given.limit = limit;
  if (threshold !== 0.3) given.threshold = threshold;
  if (rerank !== "none") given.rerank = rerank;
  if (rewriteQuery) given.rewriteQuery = true;
  const included = Object.fromEntries(Object.entries(include).filter(([, wanted]) => wanted));
  return { ...given, include: included };
}

function curl(url, body) {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl ${url} \\\n  -H "Authorization: Bearer $SUPERMEMORY_API_KEY" -H "Content-Type: application/json" \\\n  -d '${data}'`;
}

function python(url, namespace, body) {
  const named = Object.entries(body).map(([name, value]) => `    ${snake(name)}=${pythonValue(value)},`);
  return [
    "from supermemory import Supermemory",
    "",
    `client = Supermemory(base_url=${JSON.stringify(url.replace(/\/ns\/.*$/, ""))})  # the key: SUPERMEMORY_API_KEY`,
    "answer = client.search(",
    `    ${JSON.stringify(namespace)},`,
    ...named,
    ")",
    "for result in answer.results:",
    "    print(result.similarity, result.memory or result.chunk)",
  ].join("\n");
}

function pythonOfPast(url, body) {
  return [
    "import os",
    "",
    "import httpx",
    "",
    'headers = {"authorization": f"Bearer {os.environ[\'SUPERMEMORY_API_KEY\']}"}',
    `body = ${pythonValue(body)}`,
    `answer = httpx.post(${JSON.stringify(url)}, json=body, headers=headers).raise_for_status()`,
    'for result in answer.json()["results"]:',
    '    print(result["similarity"], result.get("memory") or result.get("chunk"))',
  ].join("\n");
}

function typescript(url, body) {
  return [
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    "  headers: { authorization: `Bearer ${process.env.SUPERMEMORY_API_KEY}`, \"content-type\": \"application/json\" },",
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")}),`,
    "});",
    "const { results } = await answer.json();",
  ].join("\n");
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** JSON as a Python literal. */
function pythonValue(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, held]) => `${JSON.stringify(name)}: ${pythonValue(held)}`).join(", ")}}`;
  return JSON.stringify(value);
}
