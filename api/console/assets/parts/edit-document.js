/** Form that changes a document's text and details, or replaces it with a file. */

import { ApiError, path } from "../api.js";
import { el } from "../dom.js";
import { DocumentDetails } from "./document-details.js";
import { DREAMING } from "./add-document.js";
import { actionForm, field, select, submit } from "./forms.js";

/** Build the forms: for its text and details, and for another file. */
export function editDocumentForm(view, shown) {
  return el("div.two", { id: "change" }, typing(view, shown), uploading(view));
}

function typing({ app, api, namespace, id }, { content, metadata }) {
  const text = el("textarea.prose", { rows: "10", spellcheck: "false" });
  text.value = content ?? "";
  let before = text.value;
  const dreaming = select(DREAMING, "dynamic");
  const about = new DocumentDetails(metadata);
  /** Fail once if somebody else replaced the text since it was shown. */
  const refuseIfChanged = async () => {
    const now = (await api.get(path("ns", namespace, "document", id))).content ?? "";
    if (now === before) return;
    before = now;
    throw new ApiError(409, "Somebody changed the text meanwhile", "Save again to replace theirs with yours.");
  };
  const save = async () => {
    if (text.value !== before) await refuseIfChanged();
    const body = { ...(text.value === before ? {} : { content: text.value, dreaming: dreaming.value }), ...about.read() };
    if (Object.keys(body).length === 0) return app.say("Nothing is changed.");
    await api.patch(path("ns", namespace, "document", id), body);
    app.say("The document is changed.");
    return app.show();
  };
  return actionForm(
    save,
    { class: "stack" },
    field("Text", text, "Replaces the text; chunks and memories are rebuilt."),
    field("Extract memories", dreaming),
    about.node,
    el("p.hint", {}, "Empty fields are unchanged."),
    submit("Save"),
  );
}

function uploading({ app, api, namespace, id }) {
  const file = el("input", { type: "file", required: true });
  const replace = async () => {
    const content = new FormData();
    content.append("file", file.files[0], file.files[0].name);
    await api.upload(path("ns", namespace, "document", "file", id), content, "PATCH");
    app.say("The document text was replaced by the file.");
    await app.show();
  };
  return actionForm(replace, { class: "stack" }, field("File", file, "Replaces the text with the file; metadata is kept."), submit("Replace the text", {}));
}
