/** Organization settings, for operators: context and buckets for every namespace. */

import { el } from "../dom.js";
import { number } from "../format.js";
import { addBucketForm, editBucketForm } from "../parts/buckets.js";
import { panel } from "../parts/panel.js";
import { contextForm } from "../parts/extraction-context.js";

const BUCKETS = "admin/buckets";
const CONTEXT = {
  label: "Context",
  hint: "Who you are and what the service is for. Helps a language model, where one is configured, to find memories in every namespace.",
};

export async function organization(view) {
  const { app, api, signal } = view;
  const [{ organizationalContext: value, namespaceCount }, { buckets }] = await Promise.all([api.get("organization", {}, signal), api.get(BUCKETS, {}, signal)]);
  const shown = Object.entries(buckets).map(([name, description]) =>
    el("section.card", {}, el("h3", {}, name), el("p.muted", {}, description), editBucketForm(view, BUCKETS, name, description)),
  );
  const add = panel("Add a bucket", () => addBucketForm(view, BUCKETS), { primary: true, symbol: "plus" });
  view.head("Organization", add.button);
  return [
    add.node,
    el("p.muted", {}, `These settings apply to every namespace (${number(namespaceCount)} now).`),
    el("section.card", {}, contextForm(app, { ...CONTEXT, value }, (organizationalContext) => api.patch("organization", { organizationalContext }))),
    el(
      "section",
      {},
      el("h2", {}, "Buckets"),
      el("p.muted", {}, "Sections of every profile. A namespace can't change these; it may have others of its own."),
      shown.length > 0 ? el("div.two", {}, shown) : null,
    ),
  ];
}
