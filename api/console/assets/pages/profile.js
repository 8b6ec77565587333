/** Profile of a namespace, now or at a past moment, and its buckets. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { addBucketForm, editBucketForm } from "../parts/buckets.js";
import { checkbox, field, form, submit } from "../parts/forms.js";
import { pastMomentNotice, momentInput, readMoment } from "../parts/past-moment.js";
import { empty } from "../parts/placeholders.js";

const SECTIONS = { static: "What lasts", dynamic: "Recent" };

export async function profile(view) {
  const { api, namespace, query, signal, rights } = view;
  const way = path("ns", namespace, "profile", "buckets");
  const [asOf, forgotten] = [query.get("at"), query.get("forgotten") === "yes"];
  const [answered, { buckets }, { buckets: shared }] = await Promise.all([
    api.post(path("ns", namespace, "explain", "profile"), asOf ? { asOf, include: { forgotten } } : {}, undefined, signal),
    api.get(way, {}, signal),
    rights.operator ? api.get("admin/buckets", {}, signal) : { buckets: {} },
  ]);
  const { profile: known } = answered;
  const changes = rights.writes(namespace) && !asOf;
  const sections = Object.entries(SECTIONS).map(([name, title]) => section(el("h2", {}, title), "", known[name], namespace));
  const own = Object.entries(buckets).map(([name, description]) => {
    const below = name in shared ? organizations() : changes ? editBucketForm(view, way, name, description) : null;
    return section(el("h3", {}, name), description, known.buckets[name] ?? [], namespace, below);
  });
  return [
    past(view, asOf, forgotten),
    pastMomentNotice(answered),
    [known.static, known.dynamic].flat().length === 0 ? nothing(asOf) : null,
    el("div.two", {}, sections),
    el("h2", {}, "Buckets"),
    el("p.muted", {}, "Sections of your own: what fits a description is shown in it."),
    el("div.two", {}, own),
    changes ? addBucketForm(view, way, { open: own.length === 0 }) : null,
  ];
}

function past({ app, namespace }, asOf, forgotten) {
  const input = momentInput(asOf);
  const also = checkbox("Include memories forgotten since", forgotten);
  const show = () => app.go(["ns", namespace, "profile"], { at: readMoment(input), forgotten: also.box.checked ? "yes" : null });
  return el(
    "details",
    { open: asOf !== null },
    el("summary", {}, "As of a point in time"),
    form(show, { class: "row" }, field("As of", input, "Empty: now."), also.node, submit("Show", {})),
  );
}

function nothing(asOf) {
  if (asOf) return empty("No profile at that time", "What was added later is not shown.");
  return empty("No profile yet", "A profile is made of memories: add documents in which somebody says something of themselves.");
}

function section(heading, description, facts, namespace, below) {
  return el(
    "section.result",
    {},
    heading,
    description ? el("p.muted", {}, description) : null,
    facts.length > 0 ? el("ul", {}, facts.map((one) => el("li", {}, fact(one, namespace)))) : el("p.muted", {}, "Nothing yet."),
    below,
  );
}

/** Link a fact to the memories it consists of. */
function fact({ memory, memories }, namespace) {
  const link = (id, attributes, text) => el("a", { href: to(["ns", namespace, "memories", id]), ...attributes }, text);
  if (memories.length === 1) return link(memories[0], {}, memory);
  const sources = memories.map((id, at) => [" ", link(id, { "aria-label": `Memory ${at + 1} of ${memories.length}` }, String(at + 1))]);
  return [memory, el("span.muted", {}, " of memories", sources)];
}

function organizations() {
  return el("p.muted", {}, "Defined for all namespaces: ", el("a", { href: to(["organization"]) }, "the organization's"), ".");
}
