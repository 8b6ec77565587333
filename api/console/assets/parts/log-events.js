/** Events of the log. */

import { el } from "../dom.js";
import { time } from "../format.js";

/** List of events with stage, time, extractor and request id. */
export function eventList(rows) {
  return el("ol", {}, rows.map(event));
}

function event({ stage, id, recordedAt, extractedBy, requestId }) {
  const more = [extractedBy ? `by ${extractedBy}` : "", requestId ? `request ${requestId}` : ""].filter(Boolean).join(", ");
  return el("li", {}, `${stage}, `, time(recordedAt), more ? `, ${more}` : "", ": ", el("code", {}, id));
}
