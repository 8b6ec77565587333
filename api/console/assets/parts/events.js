/** What the log has of something. */

import { el } from "../dom.js";
import { time } from "../format.js";

/** What was done, when, by what and at whose request. */
export function events(rows) {
  return el("ol", {}, rows.map(event));
}

function event({ stage, id, recordedAt, by, requestId }) {
  const more = [by ? `by ${by}` : "", requestId ? `request ${requestId}` : ""].filter(Boolean).join(", ");
  return el("li", {}, `${stage}, `, time(recordedAt), more ? `, ${more}` : "", ": ", el("code", {}, id));
}
