/** Settings of a namespace: context, move, delete. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { card } from "../parts/cards.js";
import { contextForm } from "../parts/extraction-context.js";
import { confirmAction } from "../parts/dialogs.js";
import { actionForm, button, field, submit } from "../parts/forms.js";
import { noContent } from "../parts/placeholders.js";

const CONTEXT = {
  label: "Context",
  hint: "Who or what the namespace is about. Helps a language model, where one is configured, to find memories.",
  longest: "1500",
};

export async function settings(view) {
  const { app, api, namespace, signal, rights } = view;
  const found = await Promise.all([api.get(path("ns", namespace), {}, signal), api.get("organization", {}, signal)]).catch(absent);
  if (found === null) return [noContent(view)];
  const [{ supportingContext: context, system }, { organizationalContext: organization }] = found;
  const began = el("p.muted", {}, "Created ", time(system.createdAt), ", settings changed ", time(system.updatedAt), ".");
  const save = (supportingContext) => api.patch(path("ns", namespace), { supportingContext });
  const shown = rights.writes(namespace) ? el("section.card", {}, contextForm(app, { ...CONTEXT, value: context }, save)) : [el("h2", {}, "Context"), el("p", {}, context ?? "Not set.")];
  return [
    began,
    shown,
    organizations(organization),
    el("div.two", {}, rights.corrects(namespace) ? moving(view) : null, rights.forgets(namespace) ? ending(view) : null),
  ];
}

/** Null for a namespace that does not exist yet; any other error goes on. */
function absent(error) {
  if (error.status !== 404) throw error;
  return null;
}

function organizations(context) {
  return context === null ? null : card("Context of every namespace", el("p", {}, context));
}

function moving({ app, api, namespace }) {
  const target = el("input", { required: true, maxlength: "100", pattern: "[a-zA-Z0-9_:\\-]+", autocomplete: "off" });
  const move = async () => {
    const text = `Moves all content to ${target.value} and deletes ${namespace}.`;
    if (!(await confirmAction(`Move ${namespace}?`, text, "Move"))) return;
    await api.delete(path("ns", namespace), { query: { moveTo: target.value } });
    app.go(["namespaces"]);
    app.say(`${namespace} is being moved to ${target.value}.`);
  };
  return card("Move to another namespace", [
    el("p.muted", {}, "All content goes to the other namespace; this one is deleted."),
    actionForm(move, { class: "row" }, field("Target namespace", target), submit("Move", {})),
  ]);
}

function ending({ app, api, namespace }) {
  const end = () => app.attempt(async () => {
    const text = "Deletes all documents, memories and settings. This cannot be undone except by importing an earlier export.";
    if (!(await confirmAction(`Delete ${namespace}?`, text, "Delete everything"))) return null;
    const gone = await api.delete(path("ns", namespace));
    app.go(["namespaces"]);
    return `${namespace} was deleted, with ${plural(gone.deletedDocumentsCount, "document")}.`;
  });
  return card("Delete", [el("p.muted", {}, "Deletes all documents, memories and settings."), button("Delete this namespace", end, { class: "danger" })]);
}
