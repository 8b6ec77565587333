/** Forms and dialogs for API keys: create, change, rotate. */

import { path } from "../api.js";
import { el } from "../dom.js";
import { secretDialog, showDialog } from "./dialogs.js";
import { actionForm, button, checkbox, field, filledValues, select, submit } from "./forms.js";

const ROLES = { read: "Read: sees everything, changes nothing", write: "Write: adds, changes and deletes", admin: "Admin: also manages keys" };

export function createKeyForm({ app, api }) {
  const own = app.who.namespaces;
  const name = el("input", { required: true, maxlength: "200", autocomplete: "off" });
  const role = select(ROLES, "write");
  const scopes = el("input", { autocomplete: "off", spellcheck: "false", value: own?.join(", ") ?? "", required: own !== null });
  const numbers = { expiresInDays: days(), ...limits({}) };
  const create = async () => {
    const namespaces = scopes.value.split(/[\s,]+/).filter(Boolean);
    const some = namespaces.length > 0 ? { namespaces } : {};
    await shown(await api.post("admin/keys", { name: name.value, role: role.value, ...some, ...filledValues(numbers) }));
    await app.show();
  };
  return actionForm(
    create,
    { class: "stack" },
    field("Name", name, "Owner or application that uses the key."),
    field("Role", role),
    field("Namespaces", scopes, "Names or prefixes (team-a:*), separated by commas. Leave empty for all."),
    el(
      "div.options",
      {},
      field("Expires after (days)", numbers.expiresInDays, "Leave empty for no expiry."),
      limitFields(numbers),
    ),
    submit("Create"),
  );
}

/** Change a key's name, expiry and limits. */
export async function changeKeyDialog({ app, api }, row) {
  const { id, name: before, expiresAt } = row;
  const changed = await showDialog(`Change ${before}`, (close) => {
    const name = el("input", { required: true, maxlength: "200", autocomplete: "off", value: before });
    const numbers = limits(row);
    const end = { expiresInDays: days() };
    const never = checkbox("No expiry", expiresAt === null);
    const save = async () => {
      const cleared = Object.fromEntries(Object.keys(numbers).map((one) => [one, null]));
      const until = { ...(never.box.checked ? { expiresInDays: null } : {}), ...filledValues(end) };
      close(await api.patch(path("admin", "keys", id), { name: name.value, ...cleared, ...filledValues(numbers), ...until }));
    };
    return [
      actionForm(
        save,
        { class: "stack" },
        field("Name", name),
        limitFields(numbers),
        field("Expires after (days)", end.expiresInDays, expiresAt === null ? "From now." : "Counted from now. Leave empty to keep the current value."),
        never.node,
        el("div.actions", {}, button("Cancel", () => close(null)), submit("Save")),
      ),
    ];
  });
  if (changed === null) return;
  app.say(`${changed.name} is changed.`);
  await app.show();
}

/** Rotate a key's secret and show the new one. */
export async function rotateKeyDialog({ app, api }, { id, name }) {
  const made = await showDialog(`A new secret for ${name}`, (close) => {
    const numbers = {
      overlapHours: el("input", { type: "number", min: "0", max: "2160", required: true, value: "24" }),
      expiresInDays: days(),
    };
    const rotate = async () => close(await api.post(`${path("admin", "keys", id)}/rotate`, filledValues(numbers)));
    return [
      el("p", {}, "Rotates the secret. Rights, limits and usage do not change."),
      actionForm(
        rotate,
        { class: "stack" },
        field("Keep the previous secret valid for (hours)", numbers.overlapHours, "0: it stops working at once."),
        field("Expires after (days)", numbers.expiresInDays, "Counted from now. Leave empty to keep the current value."),
        el("div.actions", {}, button("Cancel", () => close(null)), submit("Rotate")),
      ),
    ];
  });
  if (made === null) return;
  if (app.who.id === id) app.switchKey(made.key);
  await shown(made);
  await app.show();
}

/** Label and smallest value of each limit. */
const LIMITS = {
  rateLimit: ["Requests per minute", "1"],
  monthlyDocuments: ["Documents per month", "0"],
  monthlySearches: ["Searches per month", "0"],
  monthlyBytes: ["Bytes added per month", "0"],
  monthlyTokens: ["Tokens answered per month", "0"],
};

function limits(key) {
  const control = ([name, [, min]]) => [name, el("input", { type: "number", min, value: key[name] })];
  return Object.fromEntries(Object.entries(LIMITS).map(control));
}

function limitFields(controls) {
  return Object.entries(LIMITS).map(([name, [label]]) => field(label, controls[name], "Leave empty for the default."));
}

function days() {
  return el("input", { type: "number", min: "1", max: "3650" });
}

function shown({ name, key }) {
  return secretDialog(`The key ${name}`, "Shown only once. Store it safely.", key);
}
