/** What guides memory in a namespace, and its end. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { sure } from "../parts/dialogs.js";
import { acting, button, field, submit } from "../parts/forms.js";

export async function settings(view) {
  const { api, namespace, signal, rights } = view;
  const { supportingContext: context, system } = await api.get(path("ns", namespace), {}, signal);
  const began = el("p.muted", {}, "It began ", time(system.createdAt), "; these settings changed ", time(system.updatedAt), ".");
  if (!rights.writes(namespace)) return [began, el("h2", {}, "Context"), el("p", {}, context ?? "None is set.")];
  return [began, contextForm(view, context), moving(view), ending(view)];
}

function contextForm({ app, api, namespace }, context) {
  const text = el("textarea.prose", { rows: "4", maxlength: "1500" }, context ?? "");
  const save = async () => {
    await api.patch(path("ns", namespace), { supportingContext: text.value.trim() || null });
    app.say("The context is saved.");
  };
  return acting(
    save,
    { class: "stack" },
    field("Context", text, "Who or what the namespace is about. A language model, where one is configured, is told it when it looks for memories."),
    submit("Save"),
  );
}

function moving({ app, api, namespace }) {
  const target = el("input", { required: true, maxlength: "100", pattern: "[a-zA-Z0-9_:\\-]+", autocomplete: "off" });
  const move = async () => {
    const text = `Everything in it goes to ${target.value}, and ${namespace} ends.`;
    if (!(await sure(`Move ${namespace}?`, text, "Move"))) return;
    await api.delete(path("ns", namespace), { query: { moveTo: target.value } });
    app.go([]);
    app.say(`${namespace} is on its way to ${target.value}.`);
  };
  return el("details", {}, el("summary", {}, "Move it into another namespace"), acting(move, { class: "row" }, field("Into", target), submit("Move", {})));
}

function ending({ app, api, namespace }) {
  const end = () => app.attempt(async () => {
    const text = "All its documents, memories and settings go. This cannot be undone; an export made before can be imported again.";
    if (!(await sure(`Delete ${namespace}?`, text, "Delete everything"))) return null;
    const gone = await api.delete(path("ns", namespace));
    app.go([]);
    return `${namespace} is gone, with ${plural(gone.deletedDocumentsCount, "document")}.`;
  });
  return el("details", {}, el("summary", {}, "Delete it"), button("Delete this namespace", end, { class: "danger" }));
}
