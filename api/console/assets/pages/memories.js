/** The memories of a namespace; forgetting by meaning. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { confirmAction } from "../parts/dialogs.js";
import { actionForm, checkbox, field, form, submit } from "../parts/forms.js";
import { memoryBadges } from "../parts/memory-badges.js";
import { empty } from "../parts/placeholders.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const FOUND = 50;
/** Low, because a list is looked through: what is about it only in part is shown below. */
const LEAST_SIMILARITY = 0.1;
const SHOWN = 20;

export async function memories({ app, api, rights, namespace, query, signal }) {
  const forgotten = query.get("forgotten") === "yes";
  const wanted = query.get("q") ?? "";
  const found = wanted === "" ? await listPage(api, namespace, forgotten, query.get("page") ?? 1, signal) : await similar(api, namespace, forgotten, wanted, signal);
  const address = (page) => to(["ns", namespace, "memories"], { page, forgotten: forgotten ? "yes" : null });
  return [
    finder(app, namespace, wanted, forgotten),
    found.memories.length > 0 ? listed(found, namespace, wanted) : wanted === "" ? nothing() : empty("No matching memory", `No memory here is about “${wanted}”.`),
    found.pagination ? pager(found.pagination, address) : null,
    rights.writes(namespace) ? forgetting(app, api, namespace) : null,
  ];
}

function listPage(api, namespace, forgotten, page, signal) {
  return api.post(path("ns", namespace, "list", "memories"), { include: { forgotten } }, { page, limit: PER_PAGE }, signal);
}

/** The memories that a search finds, most similar first. */
async function similar(api, namespace, forgotten, wanted, signal) {
  const body = { query: wanted, searchMode: "memories", limit: FOUND, threshold: LEAST_SIMILARITY, include: { forgotten } };
  const { results } = await api.post(path("ns", namespace, "search"), body, undefined, signal);
  // A search never finds what was replaced: what is not current was forgotten.
  return { memories: results.map((row) => ({ ...row, isForgotten: !row.isLatest })) };
}

function finder(app, namespace, wanted, forgotten) {
  const input = el("input", { type: "search", value: wanted, maxlength: "2000", "data-find": true, autocomplete: "off", dir: "auto" });
  const show = () => app.go(["ns", namespace, "memories"], { q: input.value.trim() || null, forgotten: shown.box.checked ? "yes" : null });
  const shown = checkbox("Include replaced, forgotten and expired memories", forgotten, { on: { change: show } });
  return [
    form(show, { role: "search", class: "row" }, field("Find memories about", input), el("button", { type: "submit" }, "Find")),
    shown.node,
  ];
}

function nothing() {
  return empty(
    "No memories yet",
    "Memories are formed from documents, when the namespace has been quiet for a while: mostly from what people say about themselves, unless a language model is configured.",
  );
}

function listed({ memories: rows, pagination }, namespace, wanted) {
  const columns = [
    { name: "Memory", show: (row) => el("a", { href: to(["ns", namespace, "memories", row.id]), dir: "auto" }, row.memory) },
    { name: "State", show: (row) => memoryBadges(row) },
    { name: "Version", align: "number", show: (row) => String(row.version ?? "") },
    { name: "Changed", show: (row) => time(row.system.updatedAt) },
  ];
  const title = pagination ? plural(pagination.totalItems, "memory", "memories") : `${plural(rows.length, "memory", "memories")} about “${wanted}”, most similar first`;
  return table(title, columns, rows);
}

function forgetting(app, api, namespace) {
  const query = el("input", { required: true, maxlength: "2000", autocomplete: "off" });
  const place = path("ns", namespace, "memories", "semantic");
  const look = async () => {
    const { matches } = await api.delete(place, { body: { query: query.value, dryRun: true } });
    if (matches.length === 0) return app.say("No matching memories.");
    const names = matches.slice(0, SHOWN).map((one) => `“${one.memory}”`).join(", ");
    const more = matches.length > SHOWN ? `, and ${matches.length - SHOWN} more` : "";
    const stays = `${names}${more}. ${matches.length === 1 ? "Its" : "Their"} history stays, and is shown on request. Passages that say it are still found until their documents are changed or deleted.`;
    if (!(await confirmAction(`Forget ${plural(matches.length, "memory", "memories")}?`, stays, "Forget"))) return undefined;
    const { count } = await api.delete(path("ns", namespace, "memories"), { body: { ids: matches.map((one) => one.id) } });
    app.say(`Forgotten: ${count}.`);
    return app.show();
  };
  return el(
    "details",
    {},
    el("summary", {}, "Forget by description"),
    actionForm(look, { class: "row" }, field("What to forget", query, "Describe what to forget. Matches are previewed first."), submit("Look", {})),
  );
}
