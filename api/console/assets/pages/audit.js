/** Audit log, for operators. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge, empty } from "../parts/placeholders.js";
import { table } from "../parts/tables.js";

const AT_ONCE = 50;

export async function audit({ api, query, signal }) {
  const { entries, before } = await api.get("admin/audit", { limit: AT_ONCE, before: query.get("before") }, signal);
  if (entries.length === 0) return empty("No audit entries yet", "Changes to keys, connectors, replays and settings are recorded here.");
  const columns = [
    { name: "Action", show: (row) => row.action },
    { name: "When", show: (row) => time(row.at) },
    { name: "Outcome", show: (row) => badge(row.outcome, row.outcome === "refused" ? "bad" : "good") },
    { name: "Key", align: "free", show: (row) => `${row.key} (${row.role})` },
    { name: "From", align: "free", show: (row) => row.address ?? "" },
    { name: "Details", align: "free", show: (row) => Object.entries(row.details).map(([name, value]) => `${name}: ${value}`).join(", ") },
  ];
  return [
    table("Audit log, newest first", columns, entries),
    before === null ? null : el("nav.pager", { "aria-label": "Pages" }, el("a", { href: to(["audit"], { before }) }, "Older →")),
  ];
}
