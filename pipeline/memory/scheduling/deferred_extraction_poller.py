"""Deferred extraction for processes that share tables: one process at a time polls for quiet namespaces."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.memory.scheduling.deferred_extraction_worker import EnqueueDocument, Sleep
from pipeline.ports import Catalog, Clock, DocumentTable, Locks
from pipeline.rows import DocumentRow

POLLS_PER_QUIET_PERIOD = 4
"""Polls of the table within one quiet period."""
MAX_POLL_INTERVAL_SECONDS = 5.0
MIN_POLL_INTERVAL_SECONDS = 0.25
_REST_FACTOR = 10
"""Polling may take one part in this many of the time."""
REDELIVERY_DELAY = timedelta(minutes=10)
"""Time after which an enqueued document without memories is enqueued again."""
INITIAL_RETRY_DELAY = timedelta(seconds=5)
"""First delay of a document whose extraction failed; doubles with each attempt up to REDELIVERY_DELAY."""
_LOCK_NAME = "deferred_extraction"


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The last delivery of a document to the log."""

    delivered_at: datetime
    attempts: int

    def is_backing_off(self, row: DocumentRow, now: datetime) -> bool:
        """Return whether it is too early to enqueue the document again."""
        has_failed = row.extraction_error is not None
        return now - self.delivered_at < (
            min(REDELIVERY_DELAY, INITIAL_RETRY_DELAY * 2 ** min(self.attempts - 1, 10))
            if has_failed
            else REDELIVERY_DELAY
        )


class DeferredExtractionPoller:
    """Enqueues due documents to the log, so that the process owning their partition extracts them."""

    def __init__(
        self,
        *,
        documents: DocumentTable,
        catalog: Catalog,
        clock: Clock,
        locks: Locks,
        debounce_policy: DebouncePolicy,
        enqueue: EnqueueDocument,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._locks = locks
        self._debounce_policy = debounce_policy
        self._poll_interval = min(
            MAX_POLL_INTERVAL_SECONDS,
            max(MIN_POLL_INTERVAL_SECONDS, debounce_policy.quiet_period.total_seconds() / POLLS_PER_QUIET_PERIOD),
        )
        self._enqueue = enqueue
        self._sleep = sleep
        self._deliveries: dict[tuple[str, int], _Delivery] = {}

    def schedule(self, incarnation: str, document: str, seq: int) -> None:
        """Do nothing: the documents table holds the pending state for whichever process polls."""

    def retry_later(self, incarnation: str, document: str, seq: int, seconds: float) -> None:
        """Do nothing: the document's row holds the extraction error."""

    async def run(self) -> None:
        """Poll forever, once this process holds the lock."""
        async with self._locks.acquire(_LOCK_NAME) as lease:
            while True:
                lease.ensure_valid()
                started = time.monotonic()
                await self.poll()
                await self._sleep(max(self._poll_interval, _REST_FACTOR * (time.monotonic() - started)))

    async def poll(self) -> int:
        """Enqueue the documents that are due now and return their number."""
        now = self._clock.now()
        rows = [row for row in await self._documents.pending_extraction() if _is_text_ready(row)]
        self._deliveries = {
            (row.key, row.content_seq): delivery
            for row in rows
            if (delivery := self._deliveries.get((row.key, row.content_seq))) is not None
        }
        deliverable = [row for row in self._due_rows(rows, now) if not self._is_backing_off(row, now)]
        for row in deliverable:
            await self._enqueue(row)
            previous = self._deliveries.get((row.key, row.content_seq))
            self._deliveries[row.key, row.content_seq] = _Delivery(
                now, 1 if previous is None else previous.attempts + 1
            )
        return len(deliverable)

    def _due_rows(self, rows: Sequence[DocumentRow], now: datetime) -> Sequence[DocumentRow]:
        """Return documents of quiet namespaces, and `instant` ones whose extraction failed."""
        dynamic = [row for row in rows if row.extraction_mode == "dynamic"]
        failed_instant = [row for row in rows if row.extraction_mode != "dynamic" and row.extraction_error is not None]
        due = [*due_documents(self._by_namespace(dynamic), now, self._debounce_policy), *failed_instant]
        return sorted(due, key=lambda row: row.content_seq)

    def _is_backing_off(self, row: DocumentRow, now: datetime) -> bool:
        delivery = self._deliveries.get((row.key, row.content_seq))
        return delivery is not None and delivery.is_backing_off(row, now)

    def _by_namespace(self, rows: Iterable[DocumentRow]) -> dict[str, list[DocumentRow]]:
        rows_by_namespace: defaultdict[str, list[DocumentRow]] = defaultdict(list)
        for row in rows:
            if (owner := self._catalog.namespace_of(row.incarnation)) is not None:
                rows_by_namespace[owner.name].append(row)
        return rows_by_namespace


def due_documents(
    rows_by_namespace: dict[str, list[DocumentRow]], now: datetime, debounce_policy: DebouncePolicy
) -> Sequence[DocumentRow]:
    """Return the documents of namespaces that were quiet or waited long enough.

    A time in the future, from another machine's clock, counts as now.
    """
    due: list[DocumentRow] = []
    for rows in rows_by_namespace.values():
        submitted_at = [min(row.updated_at, now) for row in rows]
        if debounce_policy.due_at(min(submitted_at), max(submitted_at)) <= now:
            due += rows
    return due


def _is_text_ready(row: DocumentRow) -> bool:
    """Return whether the text is parsed; before that, an earlier stage still works on the document."""
    return row.text_seq == row.content_seq and row.status != "failed"
