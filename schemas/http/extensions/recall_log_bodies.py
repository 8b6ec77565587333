"""Bodies of the recall log (extension of the contract)."""

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Timestamp


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
