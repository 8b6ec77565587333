"""One run of one connector: from what a provider yields to documents in the log, and state behind them.

Documents are durable before the state that knows them, and that before the cursor moves on: a killed run
continues from its last checkpoint, and whatever it does twice says the same twice.
"""

import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import JsonValue

from connectors.allowance import Allowance
from connectors.documents import Fingerprint, deletion, document_id, document_prefix, submission
from connectors.errors import (
    ConnectorError,
    CursorExpiredError,
    NotFetchedError,
    RateLimitedError,
    UsedUpError,
)
from connectors.known import KnownItems
from connectors.ports import (
    Checkpoint,
    Connection,
    Failure,
    Item,
    Kept,
    Note,
    Provider,
    Removed,
    Step,
)
from connectors.strays import strays
from pipeline.errors import RetryableError
from pipeline.ports import Blobs, Clock, Hold, Publisher
from pipeline.store.connector_state import ConnectorState, StateRow
from schemas.base import Event
from schemas.events import ConnectorChanged, DocumentSubmitted, SyncError, SyncFailed, SyncReported
from schemas.topics import DOCUMENTS_SUBMITTED

BATCH_ITEMS: Final = 100
BATCH_BYTES: Final = 4 * 1024 * 1024
STATE_ROWS: Final = 2000
REPORT_EVERY: Final = timedelta(seconds=5)
FAILURES: Final = 100
"""Failures of a run that are kept in full; all are counted."""
_RESTARTS: Final = 1
_PROGRESS: Final = ""

log = logging.getLogger(__name__)


class Progress(Event):
    """Where a connector stands, kept with its state. `listing` numbers complete listings; `full`: one is on.

    `revision`: that of the connector's settings which the listing obeys.
    """

    cursor: dict[str, JsonValue] | None = None
    listing: int = 0
    full: bool = False
    revision: int = -1
    listed_at: datetime | None = None
    kept: tuple[str, ...] = ()
    run: str = ""
    processed: int = 0
    failed: int = 0
    left_out: int = 0
    failures: tuple[SyncFailed, ...] = ()


@dataclass(slots=True)
class _Batch:
    """Documents on their way to the log."""

    events: list[DocumentSubmitted] = field(default_factory=list)
    bytes: int = 0
    contents: int = 0
    """How many of them count towards quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What every run works with."""

    publisher: Publisher
    blobs: Blobs
    clock: Clock
    report: Callable[[ConnectorChanged, SyncReported], Awaitable[None]]
    documents: Callable[[str, str], Awaitable[Sequence[str]]]
    """The ids of the documents in a space that begin so."""
    allowance: Allowance

    async def run(
        self,
        row: ConnectorChanged,
        asked: SyncReported,
        *,
        provider: Provider,
        connect: Callable[[], Awaitable[Connection]],
        state: ConnectorState,
        hold: Hold,
    ) -> SyncReported:
        """Everything that is due; the last report. The caller has the connector's lock."""
        kept = (await state.get("run", [_PROGRESS])).get(_PROGRESS)
        progress = Progress.model_validate_json(kept.value) if kept else Progress()
        if progress.run != asked.run:
            progress = progress.model_copy(
                update={"run": asked.run, "processed": 0, "failed": 0, "left_out": 0, "failures": ()}
            )
        run = _Run(self, row, asked, provider=provider, state=state, hold=hold, progress=progress)
        error: ConnectorError | None = None
        try:
            await run.through(connect)
        except ConnectorError as known:
            error = known
        except NotFetchedError as one:
            error = ConnectorError(str(one))
        except RetryableError:
            raise  # the lock, the log or the store: the run stays asked for
        except Exception as unforeseen:  # noqa: BLE001 - a provider's surprise ends its run, not the service
            error = ConnectorError("Something unforeseen happened. The service's log has more.")
            # Without its message: that may hold what the provider sent, or was sent.
            frames = "".join(traceback.format_tb(unforeseen.__traceback__))
            log.error("Run %s of %s: %s\n%s", asked.run, row.id, type(unforeseen).__name__, frames)  # noqa: TRY400 - see above
        return await run.finish(error)


class _Run:
    """A run under way."""

    def __init__(
        self,
        runner: Runner,
        row: ConnectorChanged,
        asked: SyncReported,
        *,
        provider: Provider,
        state: ConnectorState,
        hold: Hold,
        progress: Progress,
    ) -> None:
        self._runner = runner
        self._row = row
        self._asked = asked
        self._provider = provider
        self._state = state
        self._hold = hold
        self._progress = progress
        self._known = KnownItems(state, listing=0, full=False, limit=0, documents=0, placed=0)
        self._batch = _Batch()
        self._listing = False
        self._reported_at = runner.clock.now()

    async def through(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        """From where it stands to the end of what the provider has."""
        await self._begin(full=self._full_is_due())
        await self._runner.report(self._row, self._report("running"))
        connection = await connect()
        for left in reversed(range(_RESTARTS + 1)):
            try:
                await self._follow(connection)
                break
            except CursorExpiredError as error:
                if not left:
                    raise ConnectorError("The provider takes back each cursor that it gives.") from error
                self._batch = _Batch()
                await self._begin(full=True)
        await self._complete()

    async def finish(self, error: ConnectorError | None) -> SyncReported:
        """Say how it ended."""
        now = self._runner.clock.now()
        code: SyncError | None = None if error is None else error.code
        after = error.after if isinstance(error, RateLimitedError) else None
        if error is not None:
            log.warning("Run %s of %s failed (%s): %s", self._asked.run, self._row.id, code, error)
        report = self._report("completed" if error is None else "failed").model_copy(
            update={
                "completed_at": now,
                "error_code": code,
                "error": None if error is None else str(error),
                "retry_at": None if after is None else now + after,
            }
        )
        await self._runner.report(self._row, report)
        return report

    def _full_is_due(self) -> bool:
        """Whether to list everything anew, rather than to go on."""
        progress = self._progress
        if progress.revision != self._row.revision or progress.cursor is None:
            return True
        if progress.full:
            return False
        listed = progress.listed_at
        overdue = listed is None or self._runner.clock.now() - listed >= self._provider.reconcile
        return self._asked.full or overdue

    async def _begin(self, *, full: bool) -> None:
        progress = self._progress
        if full:
            update: dict[str, Any] = {
                "cursor": None,
                "listing": progress.listing + 1,
                "full": True,
                "revision": self._row.revision,
                "kept": (),
            }
            progress = progress.model_copy(update=update)
        self._progress = progress
        self._listing |= progress.full
        listing = progress.listing
        placed = await self._state.count("item", "failed", seen=listing) if progress.full else 0
        self._known = KnownItems(
            self._state,
            listing=listing,
            full=progress.full,
            limit=self._row.document_limit,
            documents=await self._state.count("item"),
            placed=placed,
        )

    async def _follow(self, connection: Connection) -> None:
        steps = self._provider.sync(connection, self._progress.cursor, self._known)
        try:
            async for step in steps:
                await self._take(step)
                await self._show()
                if len(self._batch.events) >= BATCH_ITEMS or self._batch.bytes >= BATCH_BYTES:
                    await self._publish()
                if self._known.waiting >= STATE_ROWS:
                    await self._save()
        except ConnectorError:
            # What came before it counts: the next run goes on from here.
            await self._save()
            raise
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()

    async def _take(self, step: Step) -> None:
        match step:
            case Item():
                await self._item(step)
            case Removed():
                self._count(processed=1)
                if await self._known.removed(step.id):
                    self._delete(document_id(self._row, step.id))
            case Failure():
                await self._failure(step)
            case Note():
                self._known.noted(step)
            case Kept():
                kept = (*self._progress.kept, step.prefix)
                self._progress = self._progress.model_copy(update={"kept": kept})
            case Checkpoint():
                self._progress = self._progress.model_copy(update={"cursor": dict(step.cursor)})
                await self._save()

    async def _item(self, item: Item) -> None:
        fits, sent = await self._known.arrived(item)
        if not fits:
            return
        fingerprint = Fingerprint.of(item)
        if sent != fingerprint:
            self._require_one_more()
        try:
            event = await submission(
                self._row, item, sent, fingerprint, blobs=self._runner.blobs, at=self._runner.clock.now()
            )
        except NotFetchedError as error:
            await self._failure(Failure(item.id, str(error), item.title))
            return
        self._count(processed=1)
        size = len(event.content.text or "") if event.content else 0
        self._send(event, 1000 + size)
        await self._known.sent(item, fingerprint)

    def _require_one_more(self) -> None:
        """UsedUpError where no further content may come in: what is known and the cursor stay before it."""
        refusal = self._runner.allowance.refusal(self._row.key, self._batch.contents + 1)
        if refusal is not None:
            raise UsedUpError(refusal)

    async def _failure(self, failure: Failure) -> None:
        self._count(processed=1, failed=1)
        if len(self._progress.failures) < FAILURES:
            told = SyncFailed(
                document=document_id(self._row, failure.id),
                title=failure.title,
                code=failure.code,
                message=failure.message,
                at=self._runner.clock.now(),
            )
            failures = (*self._progress.failures, told)
            self._progress = self._progress.model_copy(update={"failures": failures})
        await self._known.unreadable(failure)

    async def _complete(self) -> None:
        """The provider has named all there is."""
        await self._save()
        if self._progress.full:
            async for rows in self._known.unmentioned():
                await self._remove(rows)
            await self._sweep()
            update = {"full": False, "kept": (), "listed_at": self._runner.clock.now()}
            self._progress = self._progress.model_copy(update=update)
        await self._save()

    async def _remove(self, rows: list[StateRow]) -> None:
        kept = self._progress.kept
        for row in rows:
            if kept and row.id.startswith(kept):
                continue
            if await self._known.removed(row.id) and row.kind == "item":
                self._delete(document_id(self._row, row.id))
        await self._save()

    async def _sweep(self) -> None:
        """Documents that nothing here knows of: the state was lost, and what they were of is gone."""
        documents = await self._runner.documents(self._row.space, document_prefix(self._row))
        async for stray in strays(self._row, documents, self._state, self._progress.kept):
            self._delete(stray)
            if len(self._batch.events) >= BATCH_ITEMS:
                await self._publish()

    def _delete(self, public: str) -> None:
        self._send(deletion(self._row, public, self._runner.clock.now()), 200)

    def _send(self, event: DocumentSubmitted, size: int) -> None:
        self._batch.events.append(event)
        self._batch.bytes += size
        self._batch.contents += event.content is not None or event.upload is not None

    async def _publish(self) -> None:
        batch, self._batch = self._batch, _Batch()
        if batch.events:
            self._hold.check()
            entries = [(f"{event.space}/{event.document}", event) for event in batch.events]
            await self._runner.publisher.publish(DOCUMENTS_SUBMITTED, entries)
            self._runner.allowance.count(self._row.key, batch.contents)

    async def _save(self) -> None:
        """Documents first, then what is known of them together with the cursor."""
        await self._publish()
        self._count(left_out=self._known.left_out)
        self._known.left_out = 0
        rows, gone = self._known.take()
        self._hold.check()
        progress = StateRow("run", _PROGRESS, value=self._progress.model_dump_json())
        await self._state.commit([*rows, progress], gone)

    async def _show(self) -> None:
        """How far the run is, also between two checkpoints of a slow source."""
        now = self._runner.clock.now()
        if now - self._reported_at >= REPORT_EVERY:
            self._reported_at = now
            await self._runner.report(self._row, self._report("running"))

    def _count(self, *, processed: int = 0, failed: int = 0, left_out: int = 0) -> None:
        progress = self._progress
        self._progress = progress.model_copy(
            update={
                "processed": progress.processed + processed,
                "failed": progress.failed + failed,
                "left_out": progress.left_out + left_out,
            }
        )

    def _report(self, status: Any) -> SyncReported:
        progress = self._progress
        return self._asked.model_copy(
            update={
                "status": status,
                "full": self._listing or self._asked.full,
                "processed": progress.processed,
                "failed": progress.failed,
                "left_out": progress.left_out,
                "failures": progress.failures,
                "documents": self._known.documents,
            }
        )
