"""Audit log of administrative operations: each is an event, published before its response is sent.

Entries hold ids, names, counts and options of a request; never a body, a key or a credential.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.requests import Request

from api.policies.api_keys import Principal
from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from pipeline.ports import Clock
from pipeline.runtime import correlation
from schemas.events import AuditEntryRecorded, AuditOutcome
from schemas.topics import AUDIT_RECORDED

AUDIT_FIELDS_SCOPE_KEY: Final = "recollect.audit_fields"
"""Scope key of the fields that a route adds to its audit entry."""
PARTITION_KEY: Final = "audit"
"""Record key of every entry, so that all entries are in one partition, in one order."""
REFUSAL_WINDOW: Final = timedelta(minutes=1)
"""Time within which further refusals of an act are counted: each entry is kept for years, and costs a key nothing."""
MAX_DETAIL_CHARS: Final = 200
"""Maximum length of a field's value, in characters."""
AUDITED_OPERATIONS: Final[Mapping[str, str]] = {
    "postAdminKeys": "key issued",
    "patchAdminKeysById": "key changed",
    "postAdminKeysByIdRotate": "key rotated",
    "deleteAdminKeysById": "key revoked",
    "patchOrganization": "organization changed",
    "putAdminBuckets": "buckets set",
    "deleteAdminBuckets": "buckets deleted",
    "postAdminReplay": "replay started",
    "deleteAdminReplay": "replay cancelled",
    "postAdminReplayRollback": "replay rolled back",
    "postAdminReplayCleanUp": "previous generation removed",
    "getAdminDlqRecord": "dead letter read",
    "postAdminDlqRedrive": "dead letters redriven",
    "deleteAdminDlq": "dead letters dropped",
    "postAdminErasures": "erased",
    "putAdminConnectorsByIdOptions": "connector options changed",
    "getAdminExport": "exported",
    "postAdminImport": "imported",
    "postNsByNamespaceConnectors": "connector created",
    "patchNsByNamespaceConnectorsById": "connector changed",
    "deleteNsByNamespaceConnectorsById": "connector removed",
    "putAdminConnectorsByIdSchedule": "connector scheduled",
    "postAdminConnectorsByIdReconnect": "connector reconnected",
    "postAdminConnectorsRotateCredentials": "credentials re-encrypted",
    "putNsByNamespaceExplainRecallLog": "recall log switched",
    "deleteNsByNamespace": "namespace erased or moved",
    "deleteNsByNamespaceDocument": "documents erased",
    "postNsByNamespaceExplainRedactions": "sentences redacted",
    "postNsByNamespaceExplainCorrections": "memory corrected",
    "postNsByNamespaceExplainQuestions": "standing question asked",
    "patchNsByNamespaceExplainQuestionsById": "standing question changed",
    "postNsByNamespaceExplainQuestionsByIdRotate": "secret of a standing question rotated",
    "postNsByNamespaceExplainQuestionsByIdTest": "standing question tried",
    "postNsByNamespaceExplainQuestionsByIdDeadLetters": "undelivered notifications redelivered or discarded",
    "deleteNsByNamespaceExplainQuestionsById": "standing question deleted",
    # The same acts over the earlier interfaces.
    "patchV3Settings": "organization changed",
    "postV3ConnectionsByProvider": "connector created",
    "deleteV3ConnectionsByProvider_or_id": "connector removed",
    "deleteV3ContainerTagsByNamespace": "namespace erased or moved",
    "postV3ContainerTagsMerge": "namespace erased or moved",
    "deleteV3DocumentsById": "documents erased",
    "deleteV3DocumentsBulk": "documents erased",
}
"""Audited operations: operation id to action."""
log = logging.getLogger("recollect.audit")


@dataclass(slots=True)
class _Refusals:
    """Refusals of an act to a key since `began_at`: the last one, and how many are not written yet."""

    began_at: datetime
    last: AuditEntryRecorded
    count: int = 0


@dataclass(frozen=True, slots=True)
class AuditLog:
    bus: Bus
    _refusals: dict[tuple[str, str], _Refusals] = field(default_factory=dict)

    async def newest(self, limit: int, before: int | None = None) -> list[tuple[int, AuditEntryRecorded]]:
        """Return entries with their offsets, newest first; `before`: only entries below that offset."""
        await self.write_counted()
        ends = await self.bus.end_offsets(AUDIT_RECORDED.name)
        partition, end = max(ends.items(), key=lambda item: item[1], default=(0, 0))
        end = end if before is None else min(before, end)
        entries = [
            (record.offset, AuditEntryRecorded.model_validate_json(record.value))
            async for record in self.bus.read(AUDIT_RECORDED.name, partition, max(0, end - limit), end)
        ]
        return entries[::-1]

    async def record(self, entry: AuditEntryRecorded) -> None:
        """Publish an entry; if the bus is unavailable, it is only in the process's log."""
        log.info(
            "%s by %s (%s)", entry.action, entry.key, entry.outcome, extra={"fields": entry.model_dump(mode="json")}
        )
        if entry.outcome == "refused":
            refusals = self._refusals.setdefault((entry.key, entry.action), _Refusals(entry.at, entry))
            if refusals.last is not entry and entry.at - refusals.began_at < REFUSAL_WINDOW:
                refusals.last, refusals.count = entry, refusals.count + 1
                return
            await self._write_count(refusals)
            refusals.began_at, refusals.last = entry.at, entry
        await self._publish(entry)

    async def write_counted(self) -> None:
        """Write one entry, with the number of `times`, for the refusals of each act that were only counted so far."""
        for refusals in list(self._refusals.values()):
            await self._write_count(refusals)

    async def _write_count(self, refusals: _Refusals) -> None:
        count, refusals.count = refusals.count, 0
        if count:
            details = {**refusals.last.details, "times": str(count)}
            await self._publish(refusals.last.model_copy(update={"details": details}))

    async def _publish(self, entry: AuditEntryRecorded) -> None:
        try:
            await self.bus.publish(AUDIT_RECORDED, [(PARTITION_KEY, entry)])
        except RetryableError as error:
            log.error("Audit entry not published (%s): %s", error, entry.model_dump_json())  # noqa: TRY400 - no traceback needed


def audit_entry(
    request: Request, principal: Principal, action: str, outcome: AuditOutcome, clock: Clock
) -> AuditEntryRecorded:
    audit_fields: Mapping[str, Any] = request.scope.get(AUDIT_FIELDS_SCOPE_KEY, {})
    details = {**request.path_params, **request.query_params, **audit_fields}
    return AuditEntryRecorded(
        at=clock.now(),
        action=action,
        outcome=outcome,
        key=principal.id,
        role=principal.role,
        address=None if request.client is None else request.client.host,
        request_id=correlation.current_request_id(),
        details={name: str(value)[:MAX_DETAIL_CHARS] for name, value in details.items()},
    )
