/** Review: memories that replaced others, side by side with what they replaced, to accept or decline. */

import { to } from "../addresses.js";
import { path } from "../api.js";
import { el, rebuild } from "../dom.js";
import { day, number, plural } from "../format.js";
import { correct } from "../parts/corrections.js";
import { button } from "../parts/forms.js";
import { badge, empty } from "../parts/placeholders.js";
import { describeReason } from "../parts/reason.js";
import { sentence as quote } from "../parts/rich-text.js";

const SHOWN = 20;
const KINDS = {
  contradiction: ["Contradiction", "bad", "Two sources of the same day say different things."],
  unsure: ["Unsure", "warn", "The new statement may be about something else."],
  update: ["Update", "plain", "A later statement replaced an earlier one."],
};

export async function review(view) {
  const { api, namespace, signal } = view;
  const place = el("div");
  const load = async () => {
    const answer = await api.get(path("ns", namespace, "explain", "reviews"), { limit: SHOWN }, signal);
    rebuild(place, listed(view, answer, load));
  };
  await load();
  return [place];
}

function listed(view, { reviews, total, doubtful }, load) {
  if (total === 0) return empty("Nothing to review", "When a new statement replaces what was remembered, it is shown here with both sources until somebody decides.");
  const more = total > reviews.length ? `; the first ${number(reviews.length)} are shown` : "";
  const unsure = doubtful === 0 ? "" : total === 1 ? ", a doubtful one" : `, ${number(doubtful)} of them doubtful`;
  return [
    el("p.muted", {}, `${plural(total, "update")} to review${unsure}${more}. Until you decide, the newer statement counts.`),
    el("ul.plain.passages", {}, reviews.map((one) => el("li.card", {}, decision(view, one, load)))),
  ];
}

function decision(view, { kind, reason, certainty, newer, older }, load) {
  const [word, tone, says] = KINDS[kind];
  const send = (action) => correct(view, { action, id: newer.id, replaced: older.id }, load);
  return [
    el("header", {}, el("span", {}, badge(word, tone), " ", says), el("span.muted", {}, el("bdi", {}, describeReason(reason)), certainty === null ? null : `, certainty ${Math.round(certainty * 100)} %`)),
    el("div.sides", {}, side("Before", older, view.namespace), side("Now", newer, view.namespace)),
    view.rights.corrects(view.namespace)
      ? el(
          "div.row",
          {},
          button("Accept the new one", () => send("accept"), { class: "primary", "aria-label": `Accept: ${newer.memory}` }),
          button("Keep the old one", () => send("decline"), { "aria-label": `Keep: ${older.memory}` }),
          button("Both are true", () => send("keep-both"), { "aria-label": `Both are true: ${newer.memory}` }),
        )
      : null,
  ];
}

function side(name, { id, memory, date, document, title, sentence }, namespace) {
  return el(
    "div",
    {},
    el("h2", {}, `${name}, ${day(date)} ${date.slice(0, 4)}`),
    el("p", {}, el("a", { href: to(["ns", namespace, "memories", id]), dir: "auto" }, memory)),
    sentence ? quote(sentence) : null,
    document ? el("p.muted", {}, el("a", { href: to(["ns", namespace, "documents", document], { memory: id }), dir: "auto" }, title ?? document)) : null,
  );
}
