/** What is known of whoever a namespace is about, in sections; and the sections of its own, to change. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { adding, editing } from "../parts/buckets.js";
import { empty } from "../parts/states.js";

const SECTIONS = { static: "What lasts", dynamic: "What is going on" };
/** Facts made of several memories have no page of their own. */
const TOGETHER = "aggregated_";

export async function profile(view) {
  const { api, namespace, signal, rights } = view;
  const way = path("ns", namespace, "profile", "buckets");
  const [{ profile: known }, { buckets }, { buckets: shared }] = await Promise.all([
    api.post(path("ns", namespace, "profile"), {}, undefined, signal),
    api.get(way, {}, signal),
    rights.operator ? api.get("admin/buckets", {}, signal) : { buckets: {} },
  ]);
  const writes = rights.writes(namespace);
  const sections = Object.entries(SECTIONS).map(([name, title]) => section(el("h2", {}, title), "", known[name], namespace));
  const own = Object.entries(buckets).map(([name, description]) =>
    section(el("h3", {}, name), description, known.buckets[name] ?? [], namespace, name in shared ? organizations() : writes ? editing(view, way, name, description) : null),
  );
  const nothing = [known.static, known.dynamic].flat().length === 0;
  return [
    nothing ? empty("Little is known yet", "A profile is made of memories: add documents in which somebody says something of themselves.") : null,
    el("div.two", {}, sections),
    el("h2", {}, "Buckets"),
    el("p.muted", {}, "Sections of your own: what fits a description is shown in it."),
    el("div.two", {}, own),
    writes ? adding(view, way, { open: own.length === 0 }) : null,
  ];
}

function section(heading, description, facts, namespace, below) {
  const shown = ({ id, memory }) => (id.startsWith(TOGETHER) ? memory : el("a", { href: to(["ns", namespace, "memories", id]) }, memory));
  return el(
    "section.result",
    {},
    heading,
    description ? el("p.muted", {}, description) : null,
    facts.length > 0 ? el("ul", {}, facts.map((one) => el("li", {}, shown(one)))) : el("p.muted", {}, "Nothing yet."),
    below,
  );
}

function organizations() {
  return el("p.muted", {}, "It is of every namespace: ", el("a", { href: to(["organization"]) }, "the organization's"), ".");
}
