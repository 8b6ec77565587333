/** A new key with what it may, and other limits or a new secret for one that is there. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { ask } from "./dialogs.js";
import { acting, button, checkbox, field, given, select, submit } from "./forms.js";

const ROLES = { read: "read: sees, changes nothing", write: "write: adds, changes and deletes", admin: "admin: also issues keys" };

export function creation({ app, api }) {
  const own = app.who.namespaces;
  const name = el("input", { required: true, maxlength: "200", autocomplete: "off" });
  const role = select(ROLES, "write");
  const scopes = el("input", { autocomplete: "off", spellcheck: "false", value: own?.join(", ") ?? "", required: own !== null });
  const numbers = { expiresInDays: days(), ...limits({}) };
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
      limitFields(numbers),
    ),
    submit("Create"),
  );
}

/** Asks what a key that is there may from now on. */
export async function changing({ app, api }, row) {
  const { id, name: before, expiresAt } = row;
  const changed = await ask(`Change ${before}`, (close) => {
    const name = el("input", { required: true, maxlength: "200", autocomplete: "off", value: before });
    const numbers = limits(row);
    const end = { expiresInDays: days() };
    const never = checkbox("It does not end", expiresAt === null);
    const save = async () => {
      const cleared = Object.fromEntries(Object.keys(numbers).map((one) => [one, null]));
      const until = { ...(never.box.checked ? { expiresInDays: null } : {}), ...given(end) };
      close(await api.patch(path("admin", "keys", id), { name: name.value, ...cleared, ...given(numbers), ...until }));
    };
    return [
      acting(
        save,
        { class: "stack" },
        field("Name", name),
        limitFields(numbers),
        field("Ends after days", end.expiresInDays, expiresAt === null ? "From now." : "From now. Empty: as it was."),
        never.node,
        el("div.actions", {}, button("Cancel", () => close(null)), submit("Save")),
      ),
    ];
  });
  if (changed === null) return;
  app.say(`${changed.name} is changed.`);
  await app.show();
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

function limits({ rateLimit, monthlyDocuments, monthlySearches }) {
  const control = (min, value) => el("input", { type: "number", min, value });
  return { rateLimit: control("1", rateLimit), monthlyDocuments: control("0", monthlyDocuments), monthlySearches: control("0", monthlySearches) };
}

function limitFields({ rateLimit, monthlyDocuments, monthlySearches }) {
  const named = [["Requests a minute", rateLimit], ["Documents a month", monthlyDocuments], ["Searches a month", monthlySearches]];
  return named.map(([label, control]) => field(label, control, "Empty: as the service is set up."));
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
