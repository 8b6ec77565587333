/** Keys: who may do what and how much, new ones, new secrets, and ending them. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { sure } from "../parts/dialogs.js";
import { button } from "../parts/forms.js";
import { changing, creation, rotation } from "../parts/issuing.js";
import { badge } from "../parts/states.js";
import { table } from "../parts/tables.js";
import { described } from "../rights.js";

/** One of them, more of them, and in which time. */
const LIMITS = { rateLimit: ["request", "requests", "minute"], monthlyDocuments: ["document", "documents", "month"], monthlySearches: ["search", "searches", "month"] };

export async function keys(view) {
  const { keys: rows } = await view.api.get("admin/keys", {}, view.signal);
  return [el("details", {}, el("summary", {}, "Create a key"), creation(view)), listed(view, rows)];
}

function listed(view, rows) {
  return table(
    `${plural(rows.length, "key")} within the scope of yours`,
    [
      { name: "Key", show: (row) => [row.name, " ", el("code.muted", {}, row.id)] },
      { name: "Is a", align: "free", show: described },
      { name: "At most", show: limits },
      { name: "State", show: (row) => el("div", {}, state(row)) },
      { name: "Do", show: (row) => choices(view, row) },
    ],
    rows,
  );
}

function limits(row) {
  const own = Object.entries(LIMITS).filter(([name]) => row[name] !== null);
  if (own.length === 0) return el("span.muted", {}, "as the service is set up");
  return el("ul.plain", {}, own.map(([name, [one, many, span]]) => el("li", {}, `${plural(row[name], one, many)} a ${span}`)));
}

const past = (iso) => iso !== null && new Date(iso) <= new Date();

function state({ createdAt, revokedAt, expiresAt, previousUntil }) {
  if (revokedAt) return [badge("revoked", "bad"), " ", time(revokedAt)];
  if (past(expiresAt)) return [badge("expired", "bad"), " ", time(expiresAt)];
  return [
    badge("open", "good"),
    " made ",
    time(createdAt),
    expiresAt === null ? null : [", ends ", time(expiresAt)],
    previousUntil === null || past(previousUntil) ? null : el("p.muted", {}, "The secret before ends ", time(previousUntil)),
  ];
}

function choices(view, row) {
  if (row.revokedAt) return "";
  return el("div.row", {}, [
    past(row.expiresAt) ? null : button("Change", () => changing(view, row), { "aria-label": `Change ${row.name}` }),
    past(row.expiresAt) ? null : button("New secret", () => rotation(view, row), { "aria-label": `New secret for ${row.name}` }),
    button("Revoke", () => revoke(view, row), { "aria-label": `Revoke ${row.name}`, class: "danger" }),
  ]);
}

async function revoke({ app, api }, { id, name }) {
  const text = app.who.id === id ? "It is the key that you are signed in with. It opens nothing from then on." : "It opens nothing from then on.";
  if (!(await sure(`Revoke ${name}?`, text, "Revoke"))) return;
  await app.attempt(async () => {
    await api.delete(path("admin", "keys", id));
    await app.show();
    return `${name} is revoked.`;
  });
}
