/** Settings of a namespace: context, move, delete. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { contextForm } from "../parts/extraction-context.js";
import { confirmAction } from "../parts/dialogs.js";
import { actionForm, button, field, submit } from "../parts/forms.js";

const CONTEXT = {
  label: "Context",
  hint: "Who or what the namespace is about. A language model, where one is configured, is told it when it looks for memories.",
  longest: "1500",
};

export async function settings(view) {
  const { app, api, namespace, signal, rights } = view;
  const [{ supportingContext: context, system }, { organizationalContext: organization }] = await Promise.all([
    api.get(path("ns", namespace), {}, signal),
    api.get("organization", {}, signal),
  ]);
  const began = el("p.muted", {}, "It began ", time(system.createdAt), "; these settings changed ", time(system.updatedAt), ".");
  const everywhere = organizations(organization);
  if (!rights.writes(namespace)) return [began, el("h2", {}, "Context"), el("p", {}, context ?? "None is set."), everywhere];
  const save = (supportingContext) => api.patch(path("ns", namespace), { supportingContext });
  return [began, contextForm(app, { ...CONTEXT, value: context }, save), everywhere, moving(view), ending(view)];
}

function organizations(context) {
  return context === null ? null : el("section", {}, el("h2", {}, "Context of every namespace"), el("p", {}, context));
}

function moving({ app, api, namespace }) {
  const target = el("input", { required: true, maxlength: "100", pattern: "[a-zA-Z0-9_:\\-]+", autocomplete: "off" });
  const move = async () => {
    const text = `Moves all content to ${target.value} and deletes ${namespace}.`;
    if (!(await confirmAction(`Move ${namespace}?`, text, "Move"))) return;
    await api.delete(path("ns", namespace), { query: { moveTo: target.value } });
    app.go(["namespaces"]);
    app.say(`${namespace} is on its way to ${target.value}.`);
  };
  return el("details", {}, el("summary", {}, "Move it into another namespace"), actionForm(move, { class: "row" }, field("Into", target), submit("Move", {})));
}

function ending({ app, api, namespace }) {
  const end = () => app.attempt(async () => {
    const text = "Deletes all documents, memories and settings. This cannot be undone except by importing an earlier export.";
    if (!(await confirmAction(`Delete ${namespace}?`, text, "Delete everything"))) return null;
    const gone = await api.delete(path("ns", namespace));
    app.go(["namespaces"]);
    return `${namespace} is gone, with ${plural(gone.deletedDocumentsCount, "document")}.`;
  });
  return el("details", {}, el("summary", {}, "Delete it"), button("Delete this namespace", end, { class: "danger" }));
}
