/** Corrections of memories by people: edit, confirm, end, forget, and what takes them back. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { showDialog } from "./dialogs.js";
import { actionForm, button, field, submit } from "./forms.js";

const LONGEST = "2000";
const SAID = {
  edit: "Memory changed.",
  confirm: "Memory confirmed.",
  end: "Memory ended: it is kept as history.",
  forget: "Memory forgotten.",
  restore: "Memory restored.",
  accept: "Update accepted.",
  decline: "Update declined: the earlier memory holds.",
  "keep-both": "Both memories hold now.",
  withdraw: "Taken back.",
};

/** Send a correction, tell it with a way back, and call `after`. */
export async function correct({ app, api, namespace }, body, after) {
  await app.attempt(async () => {
    const { id, undo } = await api.post(path("ns", namespace, "explain", "corrections"), body);
    await after(id);
    app.say(SAID[body.action], undo && (() => correct({ app, api, namespace }, undo, () => after(body.id))));
  });
}

/** Buttons for a memory that the key may change; `after` gets the id of the memory that holds afterwards, if any. */
export function correctionButtons(view, { id, memory, isForgotten }, after) {
  if (!view.rights.writes(view.namespace)) return [];
  const send = (action, more = {}) => correct(view, { action, id, ...more }, after);
  const made = (label, click, attributes, symbol) => el("button", { type: "button", "aria-label": `${label}: ${memory}`, ...attributes, on: { click } }, symbol ? icon(symbol) : null, label);
  if (isForgotten) return [made("Restore", () => send("restore"), { class: "primary" })];
  return [
    made("Confirm", () => send("confirm"), { title: "It is still true" }, "check"),
    made("Edit", () => editDialog(memory, (text) => send("edit", { text })), {}, "edit"),
    made("No longer true", () => send("end"), { title: "It was true until now, and is kept as history" }),
    made("Forget", () => send("forget"), { class: "danger", title: "Hide it from every answer; can be undone" }),
  ];
}

function editDialog(memory, save) {
  return showDialog("Edit this memory", (close) => {
    const text = el("textarea.prose", { rows: "3", required: true, maxlength: LONGEST, dir: "auto", autofocus: true }, memory);
    const done = async () => {
      close(true);
      await save(text.value.trim());
    };
    const fields = [field("Memory", text, "One fact in one sentence. The old wording stays in the history."), el("div.actions", {}, button("Cancel", () => close(null)), submit("Save"))];
    return [actionForm(done, { class: "stack" }, fields)];
  });
}
