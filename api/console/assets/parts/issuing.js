/** Secrets of keys: a new key with what it may, and a new secret for one that is there. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { ask } from "./dialogs.js";
import { acting, button, field, given, select, submit } from "./forms.js";

const ROLES = { read: "read: sees, changes nothing", write: "write: adds, changes and deletes", admin: "admin: also issues keys" };

export function creation({ app, api }) {
  const own = app.who.namespaces;
  const name = el("input", { required: true, maxlength: "200", autocomplete: "off" });
  const role = select(ROLES, "write");
  const scopes = el("input", { autocomplete: "off", spellcheck: "false", value: own?.join(", ") ?? "", required: own !== null });
  const numbers = {
    expiresInDays: days(),
    rateLimit: el("input", { type: "number", min: "1" }),
    monthlyDocuments: el("input", { type: "number", min: "0" }),
    monthlySearches: el("input", { type: "number", min: "0" }),
  };
  const create = async () => {
    const namespaces = scopes.value.split(/[\s,]+/).filter(Boolean);
    const some = namespaces.length > 0 ? { namespaces } : {};
    await shown(await api.post("admin/keys", { name: name.value, role: role.value, ...some, ...given(numbers) }));
    await app.show();
  };
  return acting(
    create,
    { class: "stack" },
    field("Name", name, "Whose it is, or what uses it."),
    field("Role", role),
    field("Namespaces", scopes, "Names or prefixes (team-a:*), with commas between them. Empty: all of them."),
    el(
      "div.options",
      {},
      field("Ends after days", numbers.expiresInDays, "Empty: never."),
      field("Requests a minute", numbers.rateLimit, "Empty: as the service is set up."),
      field("Documents a month", numbers.monthlyDocuments, "Empty: as the service is set up."),
      field("Searches a month", numbers.monthlySearches, "Empty: as the service is set up."),
    ),
    submit("Create"),
  );
}

/** Asks how long both secrets are to open the key, makes the new one and shows it. */
export async function rotation({ app, api }, { id, name }) {
  const made = await ask(`A new secret for ${name}`, (close) => {
    const numbers = {
      overlapHours: el("input", { type: "number", min: "0", max: "2160", required: true, value: "24" }),
      expiresInDays: days(),
    };
    const rotate = async () => close(await api.post(`${path("admin", "keys", id)}/rotate`, given(numbers)));
    return [
      el("p", {}, "It stays the same key: its rights, limits and usage do not change."),
      acting(
        rotate,
        { class: "stack" },
        field("The secret before opens it for hours", numbers.overlapHours, "0: not any more."),
        field("Ends after days", numbers.expiresInDays, "From now. Empty: as it was."),
        el("div.actions", {}, button("Cancel", () => close(null)), submit("Make it")),
      ),
    ];
  });
  if (made === null) return;
  if (app.who.id === id) app.goOnWith(made.key);
  await shown(made);
  await app.show();
}

function days() {
  return el("input", { type: "number", min: "1", max: "3650" });
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
