/** Form that adds a text, a URL or files to a namespace. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { bytes, shortened } from "../format.js";
import { DocumentProgress } from "./document-progress.js";
import { DocumentDetails } from "./document-details.js";
import { actionForm, field, select, submit } from "./forms.js";
import { badge, problem } from "./placeholders.js";

export const DREAMING = { dynamic: "When the namespace has been quiet for a while", instant: "At once" };
const AT_ONCE = 2;
const NAME_CHARACTERS = 60;

/** Build the form; `added` is called after each accepted document. */
export function addDocumentForm(view, added = () => {}, { dreaming: usual = "dynamic" } = {}) {
  const { api, namespace } = view;
  const dreaming = select(DREAMING, usual);
  const progress = new DocumentProgress(view);
  const about = new DocumentDetails();
  const rows = el("ul.plain.uploads", { "aria-label": "Uploads", "aria-live": "polite" });
  const upload = (files) => inTurn([...files], (file) => one(api, namespace, file, { dreaming: dreaming.value, ...about.read() }, { rows, progress, added }));
  return el(
    "div.stack",
    {},
    el("div.two", {}, texts(api, namespace, { dreaming, about, progress }, added), dropping(upload)),
    el("details", {}, el("summary", {}, "Metadata, date and context"), about.node),
    rows,
    progress.node,
  );
}

function texts(api, namespace, { dreaming, about, progress }, added) {
  const content = el("textarea.prose", { rows: "5", required: true, placeholder: "Text, or a URL (https://…) to fetch" });
  const id = el("input", { maxlength: "255", autocomplete: "off", spellcheck: "false" });
  const send = async () => {
    const body = { content: content.value, dreaming: dreaming.value, ...about.read(), ...(id.value ? { id: id.value } : {}) };
    await progress.listen();
    const accepted = await api.post(path("ns", namespace, "document"), body);
    progress.add(accepted.id, shortened(content.value.trim().split("\n", 1)[0], NAME_CHARACTERS));
    content.value = id.value = "";
    added();
  };
  return actionForm(
    send,
    { class: "stack" },
    field("Text or URL", content),
    field("Id (optional)", id, "Reusing an id appends to that document."),
    field("Extract memories", dreaming),
    submit("Add"),
  );
}

function dropping(upload) {
  const chosen = () => {
    upload(chooser.files);
    chooser.value = ""; // the same file may be chosen again
  };
  const chooser = el("input", { type: "file", multiple: true, on: { change: chosen } });
  const zone = el(
    "div.drop",
    {
      on: {
        dragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
        dragleave: () => zone.classList.remove("over"),
        drop: (event) => {
          event.preventDefault();
          zone.classList.remove("over");
          upload(event.dataTransfer.files);
        },
      },
    },
    field("Files", chooser, "Or drop files here: PDF, Office, HTML, Markdown, text, mail, source code, up to 50 MB each."),
  );
  return zone;
}

/** Upload a few files at a time: the service holds them in memory. */
async function inTurn(files, send) {
  const next = async () => {
    while (files.length > 0) await send(files.shift());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

async function one(api, namespace, file, said, { rows, progress, added }) {
  const state = el("span", {}, badge("sending", "warn"));
  const row = el("li", {}, `${file.name} (${bytes(file.size)}) `, state);
  rows.append(row);
  const content = new FormData();
  content.append("file", file, file.name);
  for (const [name, value] of Object.entries(said)) content.append(name, typeof value === "string" ? value : JSON.stringify(value));
  try {
    await progress.listen();
    const accepted = await api.upload(path("ns", namespace, "document", "file"), content);
    row.remove();
    progress.add(accepted.id, file.name);
    added();
  } catch (error) {
    state.replaceChildren(badge("refused", "bad"), ` ${problem(error)}`);
  }
}
