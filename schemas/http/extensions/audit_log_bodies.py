"""Bodies of the audit log and of recall logs (extension of the contract)."""

from schemas.base import RequestBody, ResponseBody
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


class RecallLogBody(RequestBody):
    """Setting of a namespace. `recallLog`: whether its reads are recorded."""

    recall_log: bool


class RecallLogSetting(ResponseBody):
    """Setting of a namespace."""

    recall_log: bool


class RecallEntry(ResponseBody):
    """Read of the namespace. `queryDigest`: SHA-256 of the namespace's incarnation and the query, in hex."""

    at: Timestamp
    operation: str
    key: str
    purpose: str | None
    query_digest: str | None
    ids: list[str]
    address: str | None
    request_id: str | None


class RecallLogResponse(RecallLogSetting):
    """Entries, newest first; `before`: pass it to get older entries, null if there are none. Treat it as opaque."""

    entries: list[RecallEntry]
    before: str | None
