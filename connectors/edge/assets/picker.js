"use strict";

const base = document.body.dataset.base;
const byId = (id) => document.getElementById(id);
const state = { path: [], query: "", next: null, chosen: new Map(), limit: 500, asked: 0 };

const make = (tag, fields = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), fields);
  node.append(...children);
  return node;
};
const say = (text) => { byId("status").textContent = text; };
const key = (kind, id) => `${kind}/${id}`;

async function ask(path, options) {
  const answer = await fetch(base + path, { credentials: "same-origin", ...options });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error || `The service answered ${answer.status}.`);
  return body;
}

async function list(page) {
  const mine = ++state.asked;
  const here = state.path.at(-1);
  const asked = new URLSearchParams();
  if (state.query) asked.set("q", state.query);
  else if (here) asked.set("parent", here.id);
  if (page) asked.set("page", page);
  say("Loading …");
  let found;
  try {
    found = await ask(`/entries?${asked}`);
  } catch (error) {
    if (mine === state.asked) say(error.message);
    return;
  }
  if (mine !== state.asked) return; // something else was asked for meanwhile
  if (!page) byId("entries").replaceChildren();
  const first = byId("entries").children.length;
  byId("entries").append(...found.entries.map(row));
  state.next = found.next;
  byId("more").hidden = !found.next;
  const all = byId("entries").children.length;
  say(all ? `${all} shown` : "Nothing was found.");
  if (page) byId("entries").children[first]?.querySelector("input, button")?.focus();
}

function row(entry) {
  const item = make("li");
  const name = make("span", { className: "name", textContent: entry.name });
  const detail = make("span", { className: "detail", textContent: entry.detail });
  if (entry.kind) {
    const box = make("input", { type: "checkbox", checked: state.chosen.has(key(entry.kind, entry.id)) });
    box.dataset.key = key(entry.kind, entry.id);
    box.addEventListener("change", () => { choose(entry, box.checked); });
    item.append(make("label", {}, box, name, detail));
  } else {
    item.append(make("label", {}, name, detail));
  }
  if (entry.opens) {
    const open = make("button", { type: "button", textContent: "Open" });
    open.setAttribute("aria-label", `Open ${entry.name}`);
    open.addEventListener("click", () => { enter(entry); });
    item.append(open);
  }
  return item;
}

function choose(entry, wanted) {
  const of = [...state.chosen.values()].filter((one) => one.kind === entry.kind).length;
  if (wanted && of >= state.limit) {
    say(`At most ${state.limit} can be chosen.`);
    wanted = false;
  }
  if (wanted) state.chosen.set(key(entry.kind, entry.id), entry);
  else state.chosen.delete(key(entry.kind, entry.id));
  const box = document.querySelector(`input[data-key="${CSS.escape(key(entry.kind, entry.id))}"]`);
  if (box) box.checked = wanted;
  basket();
}

function basket() {
  const many = state.chosen.size;
  byId("count").textContent = many ? `${many} chosen` : "Nothing is chosen";
  byId("chosen").replaceChildren(...[...state.chosen.values()].map((entry) => {
    const drop = make("button", { type: "button", textContent: "×" });
    drop.setAttribute("aria-label", `Leave out ${entry.name}`);
    drop.addEventListener("click", () => { choose(entry, false); byId("count").focus(); });
    return make("li", {}, drop, make("span", { textContent: entry.name }));
  }));
}

function enter(entry) {
  state.query = byId("query").value = "";
  const at = state.path.findIndex((one) => one.id === entry.id);
  state.path = at < 0 ? [...state.path, entry] : state.path.slice(0, at + 1);
  move();
}

function move() {
  const steps = [{ name: "Top" }, ...state.path];
  byId("path").replaceChildren(...(steps.length < 2 ? [] : steps.map((step, at) => {
    const button = make("button", { type: "button", textContent: step.name });
    if (at === steps.length - 1) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => { state.path = state.path.slice(0, at); move(); });
    return button;
  })));
  list().then(() => byId("entries").querySelector("input, button")?.focus());
}

async function save() {
  byId("save").disabled = true;
  const selection = {};
  for (const { kind, id, name } of state.chosen.values()) (selection[kind] ??= []).push({ id, name });
  for (const kind of state.kinds) selection[kind] ??= [];
  try {
    const done = await ask("/selection", {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ selection }),
    });
    if (done.return) { location.assign(done.return); return; }
    for (const part of document.querySelectorAll("form, nav, main, footer")) part.remove();
    say("Saved. What you chose is being read. You can close this window.");
  } catch (error) {
    say(error.message);
    byId("save").disabled = false;
  }
}

// Up and down go through the list, also between its checkboxes and buttons.
byId("entries").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const item = event.target.closest("li");
  if (!step || !item) return;
  const rows = [...byId("entries").children];
  const next = rows[rows.indexOf(item) + step];
  if (next) {
    event.preventDefault();
    next.querySelector("input, button")?.focus();
  }
});

let typing;
byId("query").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { state.query = byId("query").value.trim(); list(); }, 250);
});
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  state.query = byId("query").value.trim();
  list();
});
byId("more").addEventListener("click", () => { list(state.next); });
byId("save").addEventListener("click", save);

(async () => {
  try {
    const before = await ask("/selection");
    state.limit = before.limit;
    state.kinds = before.kinds;
    for (const [kind, choices] of Object.entries(before.selection)) {
      for (const choice of choices) state.chosen.set(key(kind, choice.id), { ...choice, kind });
    }
    basket();
    await list();
    byId("query").focus();
  } catch (error) {
    say(error.message);
  }
})();
