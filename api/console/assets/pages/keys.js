/** API keys: list, create, change, rotate, revoke. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { confirmAction } from "../parts/dialogs.js";
import { button } from "../parts/forms.js";
import { changeKeyDialog, createKeyForm, rotateKeyDialog } from "../parts/key-forms.js";
import { badge } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";
import { describeKey } from "../permissions.js";

/** Unit, plural and period of each limit. */
const LIMITS = { rateLimit: ["request", "requests", "minute"], monthlyDocuments: ["document", "documents", "month"], monthlySearches: ["search", "searches", "month"] };

export async function keys(view) {
  const { keys: rows } = await view.api.get("admin/keys", {}, view.signal);
  return [el("details", {}, el("summary", {}, "Create a key"), createKeyForm(view)), listed(view, rows)];
}

function listed(view, rows) {
  return table(
    `${plural(rows.length, "key")} within the scope of yours`,
    [
      { name: "Key", show: (row) => [row.name, " ", el("code.muted", {}, row.id)] },
      { name: "Is a", align: "free", show: describeKey },
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
  return el("ul.plain", {}, own.map(([name, [one, many, span]]) => el("li", {}, `${plural(row[name], one, many)} per ${span}`)));
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
    previousUntil === null || past(previousUntil) ? null : el("p.muted", {}, "Previous secret expires ", time(previousUntil)),
  ];
}

function choices(view, row) {
  if (row.revokedAt) return "";
  return el("div.row", {}, [
    past(row.expiresAt) ? null : button("Change", () => changeKeyDialog(view, row), { "aria-label": `Change ${row.name}` }),
    past(row.expiresAt) ? null : button("New secret", () => rotateKeyDialog(view, row), { "aria-label": `New secret for ${row.name}` }),
    button("Revoke", () => revoke(view, row), { "aria-label": `Revoke ${row.name}`, class: "danger" }),
  ]);
}

async function revoke({ app, api }, { id, name }) {
  const text = app.who.id === id ? "You are signed in with this key. It will stop working immediately." : "It will stop working immediately.";
  if (!(await confirmAction(`Revoke ${name}?`, text, "Revoke"))) return;
  await app.attempt(async () => {
    await api.delete(path("admin", "keys", id));
    await app.show();
    return `${name} is revoked.`;
  });
}
