/** Forms for buckets: named sections of profiles, of a namespace or of the organization. */

import { el } from "../dom.js";
import { confirmAction } from "./dialogs.js";
import { actionForm, button, field, submit } from "./forms.js";

/** Form that adds a bucket. `way`: path of the buckets in the HTTP interface. */
export const addBucketForm = (view, way) => definition(view, way);

/** Form that changes or removes a bucket. */
export function editBucketForm(view, way, name, description) {
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
  const hint = name ? undefined : "Lowercase letters, digits, _ and -.";
  return actionForm(save, { class: "stack" }, field("Name", called, hint), field("Description", about), submit("Save"));
}

async function remove({ app, api }, way, name) {
  if (!(await confirmAction(`Remove the bucket ${name}?`, "Memories are kept; this section is no longer shown.", "Remove"))) return;
  await app.attempt(async () => {
    const { buckets } = await api.delete(way, { body: { buckets: [name] } });
    await app.show();
    return name in buckets ? `${name} is there where nobody defined another one: add one of your own.` : `The bucket ${name} is removed.`;
  });
}
