"""Deferred extraction in one process: documents of a namespace wait until it is quiet."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from pipeline.errors import RetryableError
from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.memory_extractor import MemoryExtractor, needs_extraction
from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.ports import Catalog, Clock, DocumentTable
from pipeline.rows import DocumentRow
from pipeline.runtime import correlation

log = logging.getLogger(__name__)

MAX_CONCURRENT_NAMESPACES = 8
"""Namespaces extracted at a time, so that a slow one does not hold up the others."""
DOCUMENTS_PER_BATCH = 256
"""Documents whose texts are in memory at once."""

EnqueueDocument = Callable[[DocumentRow], Awaitable[None]]
"""Publishes a document to the log, whose delivery policy handles a document that always fails."""
Sleep = Callable[[float], Awaitable[None]]


class DeferredExtraction(Protocol):
    """Extracts memories of `dynamic` documents of quiet namespaces, and retries delayed extractions."""

    def schedule(self, incarnation: str, document: str, seq: int) -> None:
        """Schedule a document with a text for when its namespace is quiet."""
        ...

    def retry_later(self, incarnation: str, document: str, seq: int, seconds: float) -> None:
        """Retry a document's extraction after this many seconds."""
        ...

    async def run(self) -> None:
        """Run forever."""
        ...


@dataclass(slots=True)
class _PendingNamespace:
    """The waiting documents of a namespace: key to the `seq` that was scheduled."""

    first_submitted_at: datetime
    last_submitted_at: datetime
    not_before: datetime | None = None
    documents: dict[str, int] = field(default_factory=dict)
    request_ids: dict[correlation.SubmissionKey, str] = field(default_factory=dict)


class DeferredExtractionWorker:
    """Schedules in memory and extracts in `run`. A restart reloads pending documents from the table."""

    def __init__(
        self,
        *,
        memory_extractor: MemoryExtractor,
        documents: DocumentTable,
        catalog: Catalog,
        clock: Clock,
        debounce_policy: DebouncePolicy,
        enqueue: EnqueueDocument,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._memory_extractor = memory_extractor
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._debounce_policy = debounce_policy
        self._enqueue = enqueue
        self._sleep = sleep
        self._pending: dict[str, _PendingNamespace] = {}
        self._concurrency_limit = asyncio.Semaphore(MAX_CONCURRENT_NAMESPACES)
        self._scheduled = asyncio.Event()

    def schedule(self, incarnation: str, document: str, seq: int) -> None:
        """Schedule a document with a text for when its namespace is quiet."""
        self._add_pending(incarnation, document, seq, self._clock.now())

    def retry_later(self, incarnation: str, document: str, seq: int, seconds: float) -> None:
        """Retry after this many seconds; the whole namespace waits, as its documents would fail too."""
        now = self._clock.now()
        # Submissions in the meantime must not postpone the retry further.
        pending = self._add_pending(incarnation, document, seq, now - self._debounce_policy.max_wait)
        if pending is not None:
            pending.not_before = now + timedelta(seconds=seconds)

    async def run(self) -> None:
        """Load documents left by an earlier run, then extract namespaces as they become due, forever."""
        await self._load_pending()
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._concurrency_limit.acquire()
                due = await self._pop_next_due()
                tasks.create_task(self._extract_namespace(*due)).add_done_callback(
                    lambda _: self._concurrency_limit.release()
                )

    def _add_pending(
        self, incarnation: str, document: str, seq: int, submitted_at: datetime
    ) -> _PendingNamespace | None:
        owner = self._catalog.namespace_of(incarnation)
        if owner is None:
            return None
        pending = self._pending.setdefault(owner.name, _PendingNamespace(submitted_at, submitted_at))
        pending.first_submitted_at, pending.last_submitted_at = (
            min(pending.first_submitted_at, submitted_at),
            max(pending.last_submitted_at, submitted_at),
        )
        pending.documents[document] = max(seq, pending.documents.get(document, seq))
        if request_id := correlation.submission_request_id(document, seq):
            pending.request_ids[document, seq] = request_id
        self._scheduled.set()
        return pending

    async def _load_pending(self) -> None:
        """Schedule the table's pending documents from their submission time, so a restart adds no delay."""
        now = self._clock.now()
        for row in await self._documents.pending_extraction():
            if row.text_seq == row.searchable_seq:
                self._add_pending(row.incarnation, row.key, row.searchable_seq, min(row.updated_at, now))

    async def _pop_next_due(self) -> tuple[str, _PendingNamespace]:
        """Wait for the next namespace to become due and remove it from the pending ones."""
        while True:
            self._clamp_to_now(self._clock.now())
            self._scheduled.clear()
            name = self._earliest_due_name()
            if name is None:
                await self._scheduled.wait()
                continue
            delay = (self._due_at(self._pending[name]) - self._clock.now()).total_seconds()
            if delay <= 0:
                return name, self._pending.pop(name)
            await self._sleep_or_wake(delay)

    async def _sleep_or_wake(self, seconds: float) -> None:
        """Sleep until then, or until a document is scheduled, which may be due earlier."""
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        scheduled = asyncio.ensure_future(self._scheduled.wait())
        try:
            await asyncio.wait([sleeping, scheduled], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            scheduled.cancel()

    def _earliest_due_name(self) -> str | None:
        return min(self._pending, key=lambda name: self._due_at(self._pending[name]), default=None)

    def _due_at(self, pending: _PendingNamespace) -> datetime:
        due = self._debounce_policy.due_at(pending.first_submitted_at, pending.last_submitted_at)
        return due if pending.not_before is None else max(due, pending.not_before)

    async def _extract_namespace(self, name: str, pending: _PendingNamespace) -> None:
        documents = sorted(pending.documents.items(), key=lambda item: item[1])
        try:
            with correlation.correlation_scope(correlation.Correlation(pending.request_ids)):
                for begin in range(0, len(documents), DOCUMENTS_PER_BATCH):
                    await self._extract_isolating_failures(dict(documents[begin : begin + DOCUMENTS_PER_BATCH]))
        except RetryableError as error:
            log.warning("Extracting memories of namespace %s is retried later: %s", name, error)
            await self._reschedule(pending.documents)

    async def _extract_isolating_failures(self, seq_by_document: dict[str, int]) -> None:
        """Extract documents together; if that fails, one by one, so that a bad one affects no other."""
        try:
            await self._extract(seq_by_document)
        except RetryableError:
            raise
        except Exception:
            if len(seq_by_document) == 1:
                log.exception("Deferred extraction of document %s failed; it is enqueued to the log", *seq_by_document)
                for rows in (await self._documents.get(seq_by_document)).values():
                    await self._enqueue(rows[0])
                return
            for key, seq in seq_by_document.items():
                await self._extract_isolating_failures({key: seq})

    async def _extract(self, seq_by_document: dict[str, int]) -> None:
        rows_by_key = await self._documents.get(seq_by_document)
        rows = [
            document_rows[0]
            for document_rows in rows_by_key.values()
            if needs_extraction(document_rows, seq_by_document[document_rows[0].key])
        ]
        unparsed = [row for row in rows if row.text_seq < row.searchable_seq]
        await self._reschedule(row.key for row in unparsed)
        ready = sorted((row for row in rows if row.text_seq == row.searchable_seq), key=lambda row: row.searchable_seq)
        for delayed in await self._memory_extractor.extract([job_from_row(row) for row in ready]):
            log.info(
                "Extraction of document %s is retried in %.0f s", delayed.job.document, delayed.retry_after_seconds
            )
            self.retry_later(
                delayed.job.incarnation, delayed.job.document, delayed.job.seq, delayed.retry_after_seconds
            )

    async def _reschedule(self, documents: Iterable[str]) -> None:
        rows_by_key = await self._documents.get(list(documents))
        for rows in rows_by_key.values():
            for row in rows:
                self.schedule(row.incarnation, row.key, row.searchable_seq)

    def _clamp_to_now(self, now: datetime) -> None:
        """Move times in the future to now, after the clock was set back."""
        for pending in self._pending.values():
            pending.last_submitted_at = min(pending.last_submitted_at, now)
            pending.first_submitted_at = min(pending.first_submitted_at, now)


def job_from_row(row: DocumentRow) -> ExtractionJob:
    return ExtractionJob(
        incarnation=row.incarnation,
        document=row.key,
        seq=row.text_seq,
        at=row.updated_at,
        text=row.text or "",
        date=row.date,
        group=row.group_metadata,
        supporting_context=row.supporting_context,
        type=row.type,
    )
