/** Changing a document: its text, what is said of it, or all it holds by a file. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { About } from "./about.js";
import { DREAMING } from "./adding.js";
import { acting, field, select, submit } from "./forms.js";

/** `newest`: gives the document as it is when somebody begins. */
export function changing(view, newest) {
  const place = el("div.two");
  const begin = (event) => {
    if (event.target.open && !place.hasChildNodes()) place.append(typing(view, newest()), uploading(view));
  };
  return el("details", { id: "change", on: { toggle: begin } }, el("summary", {}, "Change this document"), place);
}

function typing({ app, api, namespace, id }, { content, metadata }) {
  const text = el("textarea.prose", { rows: "10", spellcheck: "false" });
  text.value = content ?? "";
  const before = text.value;
  const dreaming = select(DREAMING, "dynamic");
  const about = new About(metadata);
  const save = async () => {
    const body = { ...(text.value === before ? {} : { content: text.value, dreaming: dreaming.value }), ...about.read() };
    if (Object.keys(body).length === 0) return app.say("Nothing is changed.");
    await api.patch(path("ns", namespace, "document", id), body);
    app.say("The document is changed.");
    return app.show();
  };
  return acting(
    save,
    { class: "stack" },
    field("Text", text, "Another text takes its place; passages and memories are made anew."),
    field("Form memories", dreaming),
    about.node,
    el("p.hint", {}, "What is left empty stays as it is."),
    submit("Save"),
  );
}

function uploading({ app, api, namespace, id }) {
  const file = el("input", { type: "file", required: true });
  const replace = async () => {
    const content = new FormData();
    content.append("file", file.files[0], file.files[0].name);
    await api.upload(path("ns", namespace, "document", "file", id), content, "PATCH");
    app.say("The document is what the file says.");
    await app.show();
  };
  return acting(replace, { class: "stack" }, field("File", file, "What it says takes the place of the text; metadata stays."), submit("Replace the text", {}));
}
