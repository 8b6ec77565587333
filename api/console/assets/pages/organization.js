/** Organization settings, for operators: context and buckets for every namespace. */

import { el } from "../dom.js";
import { plural } from "../format.js";
import { addBucketForm, editBucketForm } from "../parts/buckets.js";
import { contextForm } from "../parts/extraction-context.js";

const BUCKETS = "admin/buckets";
const CONTEXT = {
  label: "Context",
  hint: "Who you are and what the service is for. A language model, where one is configured, is told it when it looks for memories, in every namespace.",
};

export async function organization(view) {
  const { app, api, signal } = view;
  const [{ organizationalContext: value, namespaceCount }, { buckets }] = await Promise.all([api.get("organization", {}, signal), api.get(BUCKETS, {}, signal)]);
  const shown = Object.entries(buckets).map(([name, description]) =>
    el("section.result", {}, el("h3", {}, name), el("p.muted", {}, description), editBucketForm(view, BUCKETS, name, description)),
  );
  return [
    el("p.muted", {}, `It holds in every namespace; there are ${plural(namespaceCount, "namespace")} now.`),
    contextForm(app, { ...CONTEXT, value }, (organizationalContext) => api.patch("organization", { organizationalContext })),
    el("h2", {}, "Buckets"),
    el("p.muted", {}, "Sections of every profile. A namespace can't change these; it may have others of its own."),
    shown.length > 0 ? el("div.two", {}, shown) : null,
    addBucketForm(view, BUCKETS, { open: shown.length === 0 }),
  ];
}
