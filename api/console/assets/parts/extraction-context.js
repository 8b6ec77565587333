/** Form for the context passed to the language model that extracts memories. */

import { el } from "../dom.js";
import { actionForm, field, submit } from "./forms.js";

/** Build the form; `save` receives the text, or null if empty. */
export function contextForm(app, { label, hint, value, longest }, save) {
  const text = el("textarea.prose", { rows: "4", maxlength: longest }, value ?? "");
  const saving = async () => {
    await save(text.value.trim() || null);
    app.say("The context is saved.");
  };
  return actionForm(saving, { class: "stack" }, field(label, text, hint), submit("Save"));
}
