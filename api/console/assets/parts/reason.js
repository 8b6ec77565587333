/** Why memories are related, in words for people; the log has them in short. */

const CHANGE = /^(?:is of )?(.+?): (.+) -> (.+)$/;
const DETAIL = /^more about (.+): shares (.+)$/;

const CORRECTION = "client's update";

export function describeReason(reason) {
  if (reason === CORRECTION) return "Corrected by hand, or by an application";
  const detail = DETAIL.exec(reason);
  if (detail) return `Both are about ${detail[1]}, and name ${detail[2]}`;
  return reason.replace(CHANGE, "$1: $2 → $3");
}
