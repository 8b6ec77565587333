/** What a language model is told when it looks for memories: of a namespace, or of all of them. */

import { el } from "../dom.js";
import { acting, field, submit } from "./forms.js";

/** `save` is called with the text, or null where there is to be none. */
export function contextForm(app, { label, hint, value, longest }, save) {
  const text = el("textarea.prose", { rows: "4", maxlength: longest }, value ?? "");
  const saving = async () => {
    await save(text.value.trim() || null);
    app.say("The context is saved.");
  };
  return acting(saving, { class: "stack" }, field(label, text, hint), submit("Save"));
}
