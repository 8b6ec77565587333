"""Run of one connector: it turns a provider's messages into document events and connector state.

Documents become durable before the state that lists them, and the state before the cursor advances. A killed
run continues from its last checkpoint; repeating work after it is idempotent.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from pydantic import BaseModel, JsonValue

from connectors import errors, sync_messages
from connectors.provider_interface import Connection, Provider
from connectors.sync import item_submission
from connectors.sync.sync_state import BufferedSyncState
from pipeline.errors import RetryableError
from pipeline.ports import Blobs, Clock, Lease, Publisher
from pipeline.runtime.log_format import trace_of
from pipeline.store.tables.connector_state_table import ConnectorStateRow, ConnectorStateTable
from schemas.events import ConnectorChanged, DocumentSubmitted, SyncError, SyncItemFailure, SyncReported
from schemas.topics import DOCUMENTS_SUBMITTED

MAX_BATCH_ITEMS: Final = 100
MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
MAX_PENDING_STATE_ROWS: Final = 2000
REPORT_INTERVAL: Final = timedelta(seconds=5)
MAX_REPORTED_FAILURES: Final = 100
"""Failures of a run that are reported in detail; all are counted."""
_MAX_RESTARTS: Final = 1
_PROGRESS_ID: Final = ""

log = logging.getLogger(__name__)


class DocumentQuota(Protocol):
    """Document quota by API key; `api_key_id` is the connector's creator, None if unknown."""

    def check(self, api_key_id: str | None, requested: int) -> str | None:
        """Return a message if this many more documents exceed the quota, else None."""

    def record_documents(self, api_key_id: str | None, documents: int) -> None:
        """Count documents that were published to the log."""


class SyncProgress(BaseModel):
    """Progress of a connector, stored with its state and changed in place.

    `listing_number` numbers complete listings, `full_sync` is true during one, and `revision` is the selection
    revision that the listing is based on.
    """

    cursor: dict[str, JsonValue] | None = None
    listing_number: int = 0
    full_sync: bool = False
    revision: int = -1
    listed_at: datetime | None = None
    unlistable_prefixes: tuple[str, ...] = ()
    run: str = ""
    processed: int = 0
    failed: int = 0
    over_limit: int = 0
    failures: tuple[SyncItemFailure, ...] = ()


@dataclass(slots=True)
class _Batch:
    events: list[DocumentSubmitted] = field(default_factory=list)
    bytes: int = 0
    quota_documents: int = 0
    """Events that count towards the quota."""


@dataclass(slots=True, kw_only=True)
class SyncRunner:
    """One run of a connector, whose lock the caller holds."""

    publisher: Publisher
    blobs: Blobs
    clock: Clock
    report: Callable[[ConnectorChanged, SyncReported], Awaitable[None]]
    document_ids: Callable[[str, str], Awaitable[Sequence[str]]]
    """Lookup of an incarnation's document ids by prefix."""
    quota: DocumentQuota
    row: ConnectorChanged
    requested_run: SyncReported
    provider: Provider
    state: ConnectorStateTable
    lease: Lease
    _progress: SyncProgress = field(init=False)
    _sync_state: BufferedSyncState = field(init=False)
    _batch: _Batch = field(default_factory=_Batch, init=False)
    _full_listing: bool = field(default=False, init=False)
    _reported_at: datetime = field(init=False)

    async def run(self, connect: Callable[[], Awaitable[Connection]]) -> SyncReported:
        """Execute the requested run and return its last report."""
        await self._restore_progress()
        error: errors.ConnectorError | None = None
        try:
            await self._execute(connect)
        except errors.ConnectorError as expected:
            error = expected
        except errors.ItemError as failure:
            error = errors.UnusableSourceError(str(failure))
        except RetryableError:
            raise  # a failure of the lock, the log or the store: the run stays requested
        except Exception as unexpected:  # a provider's bug ends its run, not the service
            error = errors.ConnectorError("An unexpected error ended the run. See the service's log for details.")
            log.exception("Run %s of %s", self.requested_run.run_id, self.row.id, exc_info=trace_of(unexpected))
        return await self._finish(error)

    async def _restore_progress(self) -> None:
        """Load the progress of this run if it was begun before, else that of earlier runs, with nothing counted."""
        stored = (await self.state.get("run", [_PROGRESS_ID])).get(_PROGRESS_ID)
        self._progress = SyncProgress.model_validate_json(stored.value) if stored else SyncProgress()
        if self._progress.run != self.requested_run.run_id:
            self._progress = self._progress.model_copy(
                update={"run": self.requested_run.run_id, "processed": 0, "failed": 0, "over_limit": 0, "failures": ()}
            )
        self._sync_state = BufferedSyncState(self.state, clock=self.clock)
        self._reported_at = self.clock.now()

    async def _execute(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        """Sync from the stored cursor to the end of the provider's data."""
        await self._begin(full_sync=self._needs_full_sync())
        await self.report(self.row, self._build_report("running"))
        connection = await connect()
        for restarts_left in reversed(range(_MAX_RESTARTS + 1)):
            try:
                await self._consume(connection)
                break
            except errors.CursorExpiredError as error:
                if not restarts_left:
                    raise errors.ProviderUnavailableError(
                        "The provider does not know the places in its lists that it names. The next run tries again."
                    ) from error
                self._batch = _Batch()
                await self._begin(full_sync=True)
        await self._finish_listing()

    async def _finish(self, error: errors.ConnectorError | None) -> SyncReported:
        now = self.clock.now()
        code: SyncError | None = None if error is None else error.code
        after = error.retry_after if isinstance(error, errors.RateLimitedError) else None
        if error is not None:
            log.warning("Run %s of %s failed (%s): %s", self.requested_run.run_id, self.row.id, code, error)
        report = self._build_report("completed" if error is None else "failed").model_copy(
            update={
                "completed_at": now,
                "error_code": code,
                "error": None if error is None else str(error),
                "retry_at": None if after is None else now + after,
            }
        )
        await self.report(self.row, report)
        return report

    def _needs_full_sync(self) -> bool:
        """Return whether a complete listing is due rather than an incremental run."""
        progress = self._progress
        if progress.revision != self.row.selection_revision or progress.cursor is None:
            return True
        if progress.full_sync:
            return False
        listed = progress.listed_at
        overdue = listed is None or self.clock.now() - listed >= self.provider.full_sync_interval
        return self.requested_run.full or overdue

    async def _begin(self, *, full_sync: bool) -> None:
        progress = self._progress
        if full_sync:
            progress.cursor = None
            progress.listing_number += 1
            progress.full_sync = True
            progress.revision = self.row.selection_revision
            progress.unlistable_prefixes = ()
        self._full_listing |= progress.full_sync
        listing = progress.listing_number
        placed = await self.state.count("item", "failed", in_listing=listing) if progress.full_sync else 0
        self._sync_state = BufferedSyncState(
            self.state,
            listing_number=listing,
            full_sync=progress.full_sync,
            document_limit=self.row.document_limit,
            document_count=await self.state.count("item"),
            slots_taken=placed,
            clock=self.clock,
        )

    async def _consume(self, connection: Connection) -> None:
        steps = self.provider.sync(connection, self._progress.cursor, self._sync_state)
        try:
            async for step in steps:
                await self._handle(step)
                await self._report_progress()
                if len(self._batch.events) >= MAX_BATCH_ITEMS or self._batch.bytes >= MAX_BATCH_BYTES:
                    await self._publish()
                if self._sync_state.pending_count >= MAX_PENDING_STATE_ROWS:
                    await self._commit()
        except errors.ConnectorError:
            # Messages before the error are kept: the next run continues after them.
            await self._commit()
            raise
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()

    async def _handle(self, step: sync_messages.SyncMessage) -> None:
        match step:
            case sync_messages.SourceItem():
                await self._handle_item(step)
            case sync_messages.RemovedItem():
                self._progress.processed += 1
                if await self._sync_state.on_removed(step.id):
                    self._enqueue_deletion(item_submission.document_id(self.row, step.id))
            case sync_messages.FailedItem():
                await self._handle_failure(step)
            case sync_messages.ProviderState():
                self._sync_state.on_provider_state(step)
            case sync_messages.UnlistablePrefix():
                self._progress.unlistable_prefixes += (step.prefix,)
            case sync_messages.Checkpoint():
                self._progress.cursor = dict(step.cursor)
                await self._commit()

    async def _handle_item(self, item: sync_messages.SourceItem) -> None:
        fits, sent = await self._sync_state.on_item(item)
        if not fits:
            return
        fingerprint = item_submission.ContentFingerprint.of_item(item)
        if sent != fingerprint:
            self._check_quota()
        try:
            event = await item_submission.build_submission(
                self.row, item, sent, fingerprint, blobs=self.blobs, submitted_at=self.clock.now()
            )
        except errors.ItemError as error:
            await self._handle_failure(sync_messages.FailedItem.of_error(item.id, item.title, error))
            return
        self._progress.processed += 1
        size = len(event.content.text or "") if event.content else 0
        self._enqueue(event, 1000 + size)
        await self._sync_state.on_submitted(item, fingerprint)

    def _check_quota(self) -> None:
        """QuotaExhaustedError if no further content may be added; state and cursor stay before the item."""
        refusal = self.quota.check(self.row.created_by_key, self._batch.quota_documents + 1)
        if refusal is not None:
            raise errors.QuotaExhaustedError(refusal)

    async def _handle_failure(self, failure: sync_messages.FailedItem) -> None:
        self._progress.processed += 1
        self._progress.failed += 1
        if len(self._progress.failures) < MAX_REPORTED_FAILURES:
            reported = SyncItemFailure(
                document=item_submission.document_id(self.row, failure.id),
                title=failure.title,
                code=failure.code,
                message=failure.message,
                at=self.clock.now(),
            )
            self._progress.failures += (reported,)
        await self._sync_state.on_failure(failure)

    async def _finish_listing(self) -> None:
        """Commit the listing and, after a complete one, remove what it did not contain."""
        await self._commit()
        if self._progress.full_sync:
            async for rows in self._sync_state.unlisted_rows():
                await self._remove_unlisted(rows)
            await self._remove_orphans()
            self._progress.full_sync = False
            self._progress.unlistable_prefixes = ()
            self._progress.listed_at = self.clock.now()
        await self._commit()

    async def _remove_unlisted(self, rows: list[ConnectorStateRow]) -> None:
        kept = self._progress.unlistable_prefixes
        for row in rows:
            if kept and row.id.startswith(kept):
                continue
            if await self._sync_state.on_removed(row.id) and row.kind == "item":
                self._enqueue_deletion(item_submission.document_id(self.row, row.id))
        await self._commit()

    async def _remove_orphans(self) -> None:
        """Delete documents without an item, left behind when the state was lost."""
        documents = await self.document_ids(self.row.incarnation, item_submission.document_id_prefix(self.row))
        async for orphan in item_submission.find_orphaned_documents(
            self.row, documents, self.state, self._progress.unlistable_prefixes
        ):
            self._enqueue_deletion(orphan)
            if len(self._batch.events) >= MAX_BATCH_ITEMS:
                await self._publish()

    def _enqueue_deletion(self, public_id: str) -> None:
        self._enqueue(item_submission.build_deletion(self.row, public_id, self.clock.now()), 200)

    def _enqueue(self, event: DocumentSubmitted, size: int) -> None:
        self._batch.events.append(event)
        self._batch.bytes += size
        self._batch.quota_documents += event.content is not None or event.upload is not None

    async def _publish(self) -> None:
        batch, self._batch = self._batch, _Batch()
        if batch.events:
            self.lease.ensure_valid()
            entries = [(f"{event.incarnation}/{event.document}", event) for event in batch.events]
            await self.publisher.publish(DOCUMENTS_SUBMITTED, entries)
            self.quota.record_documents(self.row.created_by_key, batch.quota_documents)

    async def _commit(self) -> None:
        """Publish the documents, then commit their state together with the cursor."""
        await self._publish()
        self._progress.over_limit += self._sync_state.over_limit
        self._sync_state.over_limit = 0
        rows, gone = self._sync_state.drain()
        self.lease.ensure_valid()
        progress = ConnectorStateRow("run", _PROGRESS_ID, value=self._progress.model_dump_json())
        await self.state.commit([*rows, progress], gone)

    async def _report_progress(self) -> None:
        """Report progress at intervals, also between checkpoints of a slow source."""
        now = self.clock.now()
        if now - self._reported_at >= REPORT_INTERVAL:
            self._reported_at = now
            await self.report(self.row, self._build_report("running"))

    def _build_report(self, status: Any) -> SyncReported:
        counts = self._progress.model_dump(include={"processed", "failed", "over_limit"})
        return self.requested_run.model_copy(
            update={
                **counts,
                "status": status,
                "full": self._full_listing or self.requested_run.full,
                "failures": self._progress.failures,
                "documents": self._sync_state.document_count,
            }
        )
