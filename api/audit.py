"""Who did what to the service as a whole: each act is an event before its answer goes out.

Never what was said: ids, names, counts and the options of a request, no body, no key, no credential.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.requests import Request

from api.keys import Principal
from pipeline import tracing
from pipeline.errors import RetryableError
from pipeline.ports import Clock, Publisher
from pipeline.records import RawRecord
from schemas.events import ActOutcome, ActRecorded
from schemas.topics import AUDIT_RECORDED

NOTES: Final = "recollect.notes"
"""Where a request keeps what its route has to say of the act."""
KEY: Final = "acts"
"""Of every act, so that all of them are in one partition, in one order."""
SHOWN: Final = 200
"""Characters of a value."""
ACTS: Final[Mapping[str, str]] = {
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
    "postAdminReplayCleanUp": "previous tables removed",
    "getAdminDlqLetter": "dead letter read",
    "postAdminDlqReplay": "dead letters replayed",
    "deleteAdminDlq": "dead letters dropped",
    "getAdminExport": "exported",
    "postAdminImport": "imported",
    "postNsByNamespaceConnectors": "connector made",
    "patchNsByNamespaceConnectorsById": "connector changed",
    "deleteNsByNamespaceConnectorsById": "connector removed",
    "putAdminConnectorsByIdSchedule": "connector scheduled",
    "postAdminConnectorsReseal": "credentials sealed anew",
    "deleteNsByNamespace": "namespace erased or moved",
    "deleteNsByNamespaceDocument": "documents erased",
}
"""Operations that are acts, by their ids."""
log = logging.getLogger("recollect.audit")


class Journal(Protocol):
    """Of a bus, what the audit needs."""

    async def ends(self, topic: str) -> Mapping[int, int]: ...

    def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncIterator[RawRecord]: ...


@dataclass(frozen=True, slots=True)
class Audit:
    """The acts of a deployment, in one order."""

    publisher: Publisher
    journal: Journal

    async def newest(self, limit: int, before: int | None = None) -> list[tuple[int, ActRecorded]]:
        """Acts with their place, newest first; `before`: only older ones than at that place."""
        ends = await self.journal.ends(AUDIT_RECORDED.name)
        partition, end = max(ends.items(), key=lambda one: one[1], default=(0, 0))
        end = end if before is None else min(before, end)
        found = [
            (record.offset, ActRecorded.model_validate_json(record.value))
            async for record in self.journal.read(AUDIT_RECORDED.name, partition, max(0, end - limit), end)
        ]
        return found[::-1]

    async def record(self, act: ActRecorded) -> None:
        """Keep it; where the log can't take it now, the process's own log has it."""
        log.info(
            "%s by %s (%s)", act.act, act.key, act.outcome, extra={"fields": act.model_dump(mode="json")}
        )
        try:
            await self.publisher.publish(AUDIT_RECORDED, [(KEY, act)])
        except RetryableError as error:
            log.error("An act is in no audit log (%s): %s", error, act.model_dump_json())  # noqa: TRY400 - told, not foreseen


def noted(request: Request, principal: Principal, act: str, outcome: ActOutcome, clock: Clock) -> ActRecorded:
    """The act that a request is."""
    notes: Mapping[str, Any] = request.scope.get(NOTES, {})
    told = {**request.path_params, **request.query_params, **notes}
    return ActRecorded(
        at=clock.now(),
        act=act,
        outcome=outcome,
        key=principal.id,
        role=principal.role,
        address=None if request.client is None else request.client.host,
        request_id=tracing.request_id(),
        details={name: str(value)[:SHOWN] for name, value in told.items()},
    )
