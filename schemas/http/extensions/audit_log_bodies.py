"""Bodies of the audit log (extension of the contract)."""

from schemas.base import ResponseBody
from schemas.events import AuditOutcome
from schemas.http.field_types import Omittable, Timestamp


class AuditEntry(ResponseBody):
    """Administrative action; `refused`: the key lacked the permission. `offset`: position in the log.

    `address`: absent for a caller over a Unix socket.
    """

    offset: int
    at: Timestamp
    action: str
    outcome: AuditOutcome
    key: str
    role: str
    address: Omittable[str] = None
    request_id: Omittable[str] = None
    details: dict[str, str]


class AuditLogResponse(ResponseBody):
    """Entries, newest first; `before`: pass it to get older entries, null if there are none."""

    entries: list[AuditEntry]
    before: int | None
