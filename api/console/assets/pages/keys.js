/** Keys: who may do what, new ones, and ending them. */

import { el } from "../dom.js";
import { plural, time } from "../format.js";
import { ask, sure } from "../parts/dialogs.js";
import { button, field, form, select } from "../parts/forms.js";
import { badge, problem } from "../parts/states.js";
import { table } from "../parts/tables.js";

const ROLES = { read: "read: sees, changes nothing", write: "write: adds, changes and deletes", admin: "admin: also issues keys" };

export async function keys(view) {
  const { keys: rows } = await view.api.get("admin/keys", {}, view.signal);
  return [el("details", {}, el("summary", {}, "Create a key"), creation(view)), listed(view, rows)];
}

function listed(view, rows) {
  return table(
    `${plural(rows.length, "key")} within the scope of yours`,
    [
      { name: "Name", show: (row) => row.name },
      { name: "Role", show: (row) => row.role },
      { name: "Opens", show: (row) => (row.namespaces === null ? "all namespaces" : row.namespaces.join(", ")) },
      { name: "Created", show: (row) => time(row.createdAt) },
      { name: "State", show: state },
      { name: "Id", show: (row) => el("code", {}, row.id) },
      { name: "End it", show: (row) => (row.revokedAt ? "" : button("Revoke", () => revoke(view, row), { "aria-label": `Revoke ${row.name}`, class: "danger" })) },
    ],
    rows,
  );
}

function state({ revokedAt, expiresAt }) {
  if (revokedAt) return [badge("revoked", "bad"), " ", time(revokedAt)];
  if (expiresAt === null) return badge("open", "good");
  return new Date(expiresAt) <= new Date() ? [badge("expired", "bad"), " ", time(expiresAt)] : [badge("open", "good"), " ends ", time(expiresAt)];
}

function creation(view) {
  const name = el("input", { required: true, maxlength: "200", autocomplete: "off" });
  const role = select(ROLES, "write");
  const own = view.app.who.namespaces;
  const scopes = el("input", { autocomplete: "off", spellcheck: "false", value: own?.join(", ") ?? "", required: own !== null });
  const days = el("input", { type: "number", min: "1", max: "3650" });
  const trouble = el("p.trouble", { role: "alert" });
  const create = async () => {
    trouble.replaceChildren();
    const namespaces = scopes.value.split(/[\s,]+/).filter(Boolean);
    const body = {
      name: name.value,
      role: role.value,
      ...(namespaces.length > 0 ? { namespaces } : {}),
      ...(days.value ? { expiresInDays: days.valueAsNumber } : {}),
    };
    try {
      const made = await view.api.post("admin/keys", body);
      await shown(made);
      await view.app.show();
    } catch (error) {
      trouble.append(problem(error));
    }
  };
  return form(
    create,
    { class: "stack" },
    field("Name", name, "Whose it is, or what uses it."),
    field("Role", role),
    field("Namespaces", scopes, "Names or prefixes (team-a:*), with commas between them. Empty: all of them."),
    field("Ends after days", days, "Empty: never."),
    el("div", {}, el("button.primary", { type: "submit" }, "Create")),
    trouble,
  );
}

/** The secret, which is shown this once. */
function shown({ name, key }) {
  return ask(`The key ${name}`, (close) => {
    const said = el("span", { role: "status" });
    const copy = async () => {
      await navigator.clipboard.writeText(key);
      said.textContent = "Copied.";
    };
    return [
      el("p", {}, "It is shown only now: keep it where it is safe."),
      el("p", {}, el("code.secret", { tabindex: "0" }, key)),
      el("div.actions", {}, said, navigator.clipboard ? button("Copy", copy) : null, button("Done", () => close(true), { class: "primary", autofocus: true })),
    ];
  });
}

async function revoke({ app, api }, { id, name }) {
  const text = app.who.id === id ? "It is the key that you are signed in with. It opens nothing from then on." : "It opens nothing from then on.";
  if (!(await sure(`Revoke ${name}?`, text, "Revoke"))) return;
  try {
    await api.delete(`admin/keys/${encodeURIComponent(id)}`);
    app.say(`${name} is revoked.`);
    await app.show();
  } catch (error) {
    app.say(problem(error));
  }
}
