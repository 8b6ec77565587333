/** Profile of a namespace, now or at a past moment, and its buckets. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { addBucketForm, editBucketForm } from "../parts/buckets.js";
import { checkbox, field, form, submit } from "../parts/forms.js";
import { pastMomentNotice, momentInput, readMoment } from "../parts/past-moment.js";
import { panel } from "../parts/panel.js";
import { empty } from "../parts/placeholders.js";

const SECTIONS = { static: "Long-term", dynamic: "Recent" };

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
  const then = panel("As of a point in time", past(view, asOf, forgotten), { open: asOf !== null });
  const add = changes ? panel("Add a bucket", () => addBucketForm(view, way), { primary: true, symbol: "plus" }) : null;
  view.head("Profile", then.button, add?.button);
  return [
    then.node,
    add?.node,
    pastMomentNotice(answered),
    [known.static, known.dynamic].flat().length === 0 ? nothing(asOf) : null,
    el("div.two", {}, sections),
    el("section", {}, el("h2", {}, "Buckets"), el("p.muted", {}, "Sections of your own: each shows the memories that fit its description."), el("div.two", {}, own)),
  ];
}

function past({ app, namespace }, asOf, forgotten) {
  const input = momentInput(asOf);
  const also = checkbox("Include memories forgotten since", forgotten);
  const show = () => app.go(["ns", namespace, "profile"], { at: readMoment(input), forgotten: also.box.checked ? "yes" : null });
  return form(show, { class: "row" }, field("As of", input, "Leave empty for now."), also.node, submit("Show", {}));
}

function nothing(asOf) {
  if (asOf) return empty("No profile at that time", "What was added later is not shown.");
  return empty("No profile yet", "A profile is made of memories: add documents in which people say something about themselves.");
}

function section(heading, description, facts, namespace, below) {
  return el(
    "section.card",
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
  if (memories.length === 1) return link(memories[0], { dir: "auto" }, memory);
  const sources = memories.map((id, at) => [" ", link(id, { "aria-label": `Memory ${at + 1} of ${memories.length}` }, String(at + 1))]);
  return [memory, el("span.muted", {}, " of memories", sources)];
}

function organizations() {
  return el("p.muted", {}, "Defined for all namespaces: ", el("a", { href: to(["organization"]) }, "the organization's"), ".");
}
