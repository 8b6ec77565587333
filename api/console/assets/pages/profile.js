/** What is known of whoever a namespace is about, in sections; and the sections of its own, to change. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { sure } from "../parts/dialogs.js";
import { acting, button, field, submit } from "../parts/forms.js";
import { empty } from "../parts/states.js";

const SECTIONS = { static: "What lasts", dynamic: "What is going on" };
/** Facts made of several memories have no page of their own. */
const TOGETHER = "aggregated_";

export async function profile(view) {
  const { api, namespace, signal, rights } = view;
  const [{ profile: known }, { buckets }] = await Promise.all([
    api.post(path("ns", namespace, "profile"), {}, undefined, signal),
    api.get(path("ns", namespace, "profile", "buckets"), {}, signal),
  ]);
  const writes = rights.writes(namespace);
  const sections = Object.entries(SECTIONS).map(([name, title]) => section(el("h2", {}, title), "", known[name], namespace));
  const own = Object.entries(buckets).map(([name, description]) =>
    section(el("h3", {}, name), description, known.buckets[name] ?? [], namespace, writes ? editing(view, name, description) : null),
  );
  const nothing = [known.static, known.dynamic].flat().length === 0;
  return [
    nothing ? empty("Little is known yet", "A profile is made of memories: add documents in which somebody says something of themselves.") : null,
    el("div.two", {}, sections),
    el("h2", {}, "Buckets"),
    el("p.muted", {}, "Sections of your own: what fits a description is shown in it."),
    el("div.two", {}, own),
    writes ? el("details", { open: own.length === 0 }, el("summary", {}, "Add a bucket"), bucketForm(view, "", "")) : null,
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

function editing(view, name, description) {
  return el("details", {}, el("summary", {}, `Change ${name}`), bucketForm(view, name, description), button("Remove this bucket", () => remove(view, name), { class: "danger" }));
}

function bucketForm({ app, api, namespace }, name, description) {
  const called = el("input", { required: true, maxlength: "64", pattern: "[a-z0-9][a-z0-9_\\-]*", value: name, readonly: name !== "", autocomplete: "off" });
  const about = el("textarea.prose", { rows: "3", required: true, maxlength: "2000" }, description);
  const save = async () => {
    await api.put(path("ns", namespace, "profile", "buckets"), { buckets: { [called.value]: about.value } });
    app.say(`The bucket ${called.value} is saved.`);
    await app.show();
  };
  const hint = name ? undefined : "Small letters, digits, _ and -.";
  return acting(save, { class: "stack" }, field("Name", called, hint), field("What belongs in it", about), submit("Save"));
}

async function remove({ app, api, namespace }, name) {
  if (!(await sure(`Remove the bucket ${name}?`, "What is remembered stays; it is only not shown in this section any more.", "Remove"))) return;
  await app.attempt(async () => {
    await api.delete(path("ns", namespace, "profile", "buckets"), { body: { buckets: [name] } });
    await app.show();
    return `The bucket ${name} is removed.`;
  });
}
