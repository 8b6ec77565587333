/** Who did what to the service. For operators. */

import { to } from "../addresses.js";
import { el } from "../dom.js";
import { time } from "../format.js";
import { badge, empty } from "../parts/states.js";
import { table } from "../parts/tables.js";

const AT_ONCE = 50;

export async function audit({ api, query, signal }) {
  const { acts, before } = await api.get("admin/audit", { limit: AT_ONCE, before: query.get("before") }, signal);
  if (acts.length === 0) return empty("Nothing was administered yet", "Keys, connectors, replays and settings leave a line here when somebody changes them.");
  const columns = [
    { name: "Act", show: (row) => row.act },
    { name: "When", show: (row) => time(row.at) },
    { name: "Outcome", show: (row) => badge(row.outcome, row.outcome === "done" ? "good" : "bad") },
    { name: "Key", align: "free", show: (row) => `${row.key} (${row.role})` },
    { name: "From", align: "free", show: (row) => row.address ?? "" },
    { name: "Details", align: "free", show: (row) => Object.entries(row.details).map(([name, value]) => `${name}: ${value}`).join(", ") },
  ];
  return [
    table("Administrative acts, newest first", columns, acts),
    before === null ? null : el("nav.pager", { "aria-label": "Pages" }, el("a", { href: to(["audit"], { before }) }, "Older →")),
  ];
}
