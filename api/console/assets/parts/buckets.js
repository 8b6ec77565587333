/** Buckets: sections of profiles with a description of what belongs in them, of a namespace or of the organization. */

import { el } from "../dom.js";
import { sure } from "./dialogs.js";
import { acting, button, field, submit } from "./forms.js";

/** To add one. `way`: where the interface has the buckets. */
export function adding(view, way, { open }) {
  return el("details", { open }, el("summary", {}, "Add a bucket"), definition(view, way));
}

/** To change one, or remove it. */
export function editing(view, way, name, description) {
  return el(
    "details",
    {},
    el("summary", {}, `Change ${name}`),
    definition(view, way, name, description),
    button("Remove this bucket", () => remove(view, way, name), { class: "danger" }),
  );
}

function definition({ app, api }, way, name = "", description = "") {
  const called = el("input", { required: true, maxlength: "64", pattern: "[a-z0-9][a-z0-9_\\-]*", value: name, readonly: name !== "", autocomplete: "off" });
  const about = el("textarea.prose", { rows: "3", required: true, maxlength: "2000" }, description);
  const save = async () => {
    await api.put(way, { buckets: { [called.value]: about.value } });
    app.say(`The bucket ${called.value} is saved.`);
    await app.show();
  };
  const hint = name ? undefined : "Small letters, digits, _ and -.";
  return acting(save, { class: "stack" }, field("Name", called, hint), field("What belongs in it", about), submit("Save"));
}

async function remove({ app, api }, way, name) {
  if (!(await sure(`Remove the bucket ${name}?`, "What is remembered stays; it is only not shown in this section any more.", "Remove"))) return;
  await app.attempt(async () => {
    const { buckets } = await api.delete(way, { body: { buckets: [name] } });
    await app.show();
    return name in buckets ? `${name} is there where nobody defined another one: add one of your own.` : `The bucket ${name} is removed.`;
  });
}
