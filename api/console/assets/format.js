/** Numbers, times and sizes for people, in the browser's language of numbers. */

import { el } from "./dom.js";

const NUMBERS = new Intl.NumberFormat("en");
const TIMES = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const DAYS = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export const number = (value) => NUMBERS.format(value);

/** The beginning of a text of more characters. */
export function shortened(text, most) {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most).join("")}…` : text;
}

/** Format a count: "3 documents"; `many`: irregular plural. */
export const plural = (count, noun, many = `${noun}s`) => `${number(count)} ${count === 1 ? noun : many}`;

/** Format a size: 1536 → "1.5 KiB"; null: not on a local disk. */
export function bytes(value) {
  if (value === null || value === undefined) return "elsewhere";
  let at = 0;
  for (; value >= 1024 && at < UNITS.length - 1; at += 1) value /= 1024;
  return `${at === 0 ? value : value.toFixed(1)} ${UNITS[at]}`;
}

/** Format a day: "2026-03-02" → "Mar 2". */
export const day = (iso) => DAYS.format(new Date(`${iso}T00:00`));

export const moment = (iso) => TIMES.format(new Date(iso));

/** Format a time relative to now: "3 minutes ago". */
export function ago(iso, now = Date.now()) {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return AGO.format(Math.round(seconds / length), unit);
  }
  return "just now";
}

/** Relative time with the exact one as a tooltip. */
export function time(iso) {
  if (!iso) return el("span.muted", {}, "never");
  return el("time", { datetime: iso, title: moment(iso) }, ago(iso));
}
