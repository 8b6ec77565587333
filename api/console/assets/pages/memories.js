/** The memories of a namespace; forgetting by meaning. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { confirmAction } from "../parts/dialogs.js";
import { actionForm, checkbox, field, submit } from "../parts/forms.js";
import { memoryBadges } from "../parts/memory-badges.js";
import { empty } from "../parts/placeholders.js";
import { pager, table } from "../parts/tables.js";

const PER_PAGE = 25;
const SHOWN = 20;

export async function memories({ app, api, rights, namespace, query, signal }) {
  const forgotten = query.get("forgotten") === "yes";
  const options = { page: query.get("page") ?? 1, limit: PER_PAGE };
  const answer = await api.post(path("ns", namespace, "list", "memories"), { include: { forgotten } }, options, signal);
  const address = (page) => to(["ns", namespace, "memories"], { page, forgotten: forgotten ? "yes" : null });
  return [
    choice(app, namespace, forgotten),
    answer.memories.length === 0 ? nothing() : listed(answer, namespace),
    pager(answer.pagination, address),
    rights.writes(namespace) ? forgetting(app, api, namespace) : null,
  ];
}

function choice(app, namespace, forgotten) {
  const shown = checkbox("Include superseded, forgotten and expired memories", forgotten, {
    on: { change: () => app.go(["ns", namespace, "memories"], { forgotten: shown.box.checked ? "yes" : null }) },
  });
  return shown.node;
}

function nothing() {
  return empty(
    "No memories yet",
    "Memories are formed from documents, when the namespace has been quiet for a while: mostly from what people say about themselves, unless a language model is configured.",
  );
}

function listed({ memories: rows, pagination }, namespace) {
  const columns = [
    { name: "Memory", show: (row) => el("a", { href: to(["ns", namespace, "memories", row.id]) }, row.memory) },
    { name: "Is", show: (row) => memoryBadges(row) },
    { name: "Version", align: "number", show: (row) => String(row.version) },
    { name: "Changed", show: (row) => time(row.system.updatedAt) },
  ];
  return table(plural(pagination.totalItems, "memory", "memories"), columns, rows);
}

function forgetting(app, api, namespace) {
  const query = el("input", { required: true, maxlength: "2000", autocomplete: "off" });
  const place = path("ns", namespace, "memories", "semantic");
  const look = async () => {
    const { matches } = await api.delete(place, { body: { query: query.value, dryRun: true } });
    if (matches.length === 0) return app.say("No matching memories.");
    const names = matches.slice(0, SHOWN).map((one) => `“${one.memory}”`).join(", ");
    const more = matches.length > SHOWN ? `, and ${matches.length - SHOWN} more` : "";
    const stays = `${names}${more}. ${matches.length === 1 ? "Its" : "Their"} history stays, and is shown on request.`;
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
