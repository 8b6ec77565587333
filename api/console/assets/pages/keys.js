/** API keys: list, create, change, rotate, revoke. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { confirmAction } from "../parts/dialogs.js";
import { button } from "../parts/forms.js";
import { changeKeyDialog, createKeyForm, rotateKeyDialog } from "../parts/key-forms.js";
import { panel } from "../parts/panel.js";
import { badge, empty } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";
import { describeKey } from "../permissions.js";

/** Unit, plural and period of each limit. */
const LIMITS = { rateLimit: ["request", "requests", "minute"], monthlyDocuments: ["document", "documents", "month"], monthlySearches: ["search", "searches", "month"], monthlyBytes: ["byte", "bytes", "month"], monthlyTokens: ["token", "tokens", "month"] };

export async function keys(view) {
  const { keys: rows } = await view.api.get("admin/keys", {}, view.signal);
  const create = panel("Create a key", () => createKeyForm(view), { primary: true, symbol: "plus" });
  view.head("Keys", create.button);
  return [create.node, listed(view, rows)];
}

function listed(view, rows) {
  if (rows.length === 0) return empty("No keys yet", "Give each application and person a key of their own, with the rights it needs: it can be changed, rotated and revoked by itself.");
  return table(
    `${plural(rows.length, "key")} that you may manage`,
    [
      { name: "Key", show: (row) => [row.name, " ", el("code.muted", {}, row.id)] },
      { name: "Access", align: "free", show: describeKey },
      { name: "Limits", show: limits },
      { name: "State", show: (row) => el("div", {}, state(row)) },
      { name: "Actions", show: (row) => choices(view, row) },
    ],
    rows,
  );
}

function limits(row) {
  const own = Object.entries(LIMITS).filter(([name]) => row[name] !== null);
  if (own.length === 0) return el("span.muted", {}, "default limits");
  return el("ul.plain", {}, own.map(([name, [one, many, span]]) => el("li", {}, `${plural(row[name], one, many)} per ${span}`)));
}

const past = (iso) => iso !== null && new Date(iso) <= new Date();

function state({ createdAt, revokedAt, expiresAt, previousUntil }) {
  if (revokedAt) return [badge("revoked", "bad"), " ", time(revokedAt)];
  if (past(expiresAt)) return [badge("expired", "bad"), " ", time(expiresAt)];
  return [
    badge("active", "good"),
    " created ",
    time(createdAt),
    expiresAt === null ? null : [", expires ", time(expiresAt)],
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
