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
export async function correct(view, body, after) {
  await view.app.attempt(async () => tell(view, body, await send(view, body), after));
}

function send({ api, namespace }, body) {
  return api.post(path("ns", namespace, "explain", "corrections"), body);
}

async function tell(view, body, { id, undo }, after) {
  await after(id);
  view.app.say(SAID[body.action], undo && (() => correct(view, undo, () => after(body.id))));
}

/** Buttons for a memory that the key may change; `after` gets the id of the memory that holds afterwards, if any. */
export function correctionButtons(view, { id, memory, isForgotten }, after) {
  if (!view.rights.corrects(view.namespace)) return [];
  const act = (action) => () => correct(view, { action, id }, after);
  const made = (label, click, attributes, symbol) => el("button", { type: "button", "aria-label": `${label}: ${memory}`, ...attributes, on: { click } }, symbol ? icon(symbol) : null, label);
  if (isForgotten) return [made("Restore", act("restore"), { class: "primary" })];
  return [
    made("Confirm", act("confirm"), { title: "It is still true" }, "check"),
    made("Edit", () => edit(view, { id, memory }, after), {}, "edit"),
    made("No longer true", act("end"), { title: "It was true until now, and is kept as history" }),
    made("Forget", act("forget"), { class: "danger", title: "Hide it from every answer; can be undone" }),
  ];
}

async function edit(view, { id, memory }, after) {
  const text = el("textarea.prose", { rows: "3", required: true, maxlength: LONGEST, dir: "auto", autofocus: true }, memory);
  const body = () => ({ action: "edit", id, text: text.value.trim() });
  const changed = await showDialog("Edit this memory", (close) => {
    const fields = [field("Memory", text, "One fact in one sentence. The old wording stays in the history."), el("div.actions", {}, button("Cancel", () => close(null)), submit("Save"))];
    return [actionForm(async () => close(await send(view, body())), { class: "stack" }, fields)];
  });
  if (changed !== null) await view.app.attempt(() => tell(view, body(), changed, after));
}
