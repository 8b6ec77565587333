"""Destruction of the keys of what was deleted, within seconds: an index says which records a deletion concerns."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import cache, partial
from time import monotonic
from typing import TypeVar

from app.pipeline_supervisor import PipelineSupervisor
from pipeline.bus.port import ErasableLog, TopicPartition
from pipeline.bus.records import SEALED_HEADER
from pipeline.erasure.deleted_content import DeletedContent
from pipeline.erasure.pending_erasures import PendingRewrite
from pipeline.erasure.record_index import RecordIndex, SettledRecords, number
from pipeline.erasure.record_references import TOPICS, references_of
from pipeline.errors import RetryableError
from pipeline.runtime.backoff import exponential_backoff
from pipeline.runtime.cooperative_yield import CooperativeYield
from schemas.topics import CONTENT_TOPICS

T = TypeVar("T")
log = logging.getLogger(__name__)

INTERVAL_SECONDS = 2.0
"""Time between two looks at what is new in the log."""
_MAX_PAUSE_SECONDS = 60.0
ELECTION_SECONDS, ELECTION_PAUSE_SECONDS = 5.0, 60.0
"""Time for which a process waits to be the one with the index, and between two times."""
BLOB_RETRY_SECONDS = 15.0
"""Time between two attempts to delete blobs that were stored a moment ago."""
EXPIRY_SECONDS = (3600.0, 86_400.0)
"""Time after a start, and between two times, at which what the log dropped by itself leaves the index."""
RECORDS_AT_ONCE = 512
KEYS_LOCK = "destroy-keys"
"""Lock of whoever destroys keys. A round of erasures holds it while it looks for what it erases, and counts that."""
ROUND_ERRORS = (RetryableError, OSError, RuntimeError, ValueError, sqlite3.Error)
"""Failures of log, keys, tables and blobs."""


class KeyDestroyer:
    """Destroys the keys of deleted documents and namespaces, and deletes their blobs, as soon as the log says so.

    The index is this process's own, and made from the log: what a kill interrupts goes on after the next start.
    """

    def __init__(self, supervisor: PipelineSupervisor) -> None:
        self._supervisor = supervisor
        self._index: RecordIndex | None = None
        self._names: dict[int, str] | None = None
        """Incarnations with records, by their numbers; None before the index was looked at."""
        self._pending_rewrite = PendingRewrite(supervisor.resources.settings.data_dir)
        self._blobs_tried_at = -BLOB_RETRY_SECONDS
        self._expiry_due = monotonic() + EXPIRY_SECONDS[0]

    @property
    def is_needed(self) -> bool:
        """True if records are sealed, and single ones can be erased."""
        bus = self._supervisor.resources.bus
        return bus.erasable is not None and bus.content_keys is not None

    async def run(self) -> None:
        """Destroy keys until cancelled, in one of the processes that share the log."""
        failures = 0
        while True:
            try:
                async with self._elected():
                    while True:
                        await self.destroy()
                        failures = 0
                        await asyncio.sleep(INTERVAL_SECONDS)
            except ROUND_ERRORS as error:
                failures += 1
                log.warning("Keys of what was deleted could not be destroyed yet: %r", error)
                await asyncio.sleep(exponential_backoff(INTERVAL_SECONDS, failures, _MAX_PAUSE_SECONDS))

    @asynccontextmanager
    async def _elected(self) -> AsyncIterator[None]:
        """Wait for the lock of the index, with pauses: another process may hold it for as long as it lives."""
        async with AsyncExitStack() as held:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ELECTION_SECONDS):
                        await held.enter_async_context(self._supervisor.resources.locks.acquire("record-index"))
                        break
                await asyncio.sleep(ELECTION_PAUSE_SECONDS)
            yield

    async def destroy(self) -> int:
        """Destroy the keys of everything that was deleted before this call; return their number."""
        if self._index is None:
            path = self._supervisor.resources.settings.data_dir / "record-index.db"
            self._index = await self._in_thread(partial(RecordIndex, path))
        index = self._index
        await self._read_log(index)
        await self._find_unowned(index)
        keys = 0
        while waiting := await self._in_thread(partial(index.pending, RECORDS_AT_ONCE)):
            async with self._supervisor.resources.locks.acquire(KEYS_LOCK):
                keys += await self._destroy_keys(index, waiting)
        await self._delete_blobs(index)
        if monotonic() >= self._expiry_due:
            await self._drop_expired(index)
            self._expiry_due = monotonic() + EXPIRY_SECONDS[1]
        if keys:
            log.info("Destroyed %d keys of what was deleted.", keys)
        return keys

    def close(self) -> None:
        if self._index is not None:
            self._index.close()

    async def _read_log(self, index: RecordIndex) -> None:
        ends = await self._log.ends(TOPICS)
        positions = await self._in_thread(index.positions)
        is_shorter = any(position > ends.get(place, 0) for place, position in positions.items())
        if is_shorter or (self._names is None and await self._is_other_log(index)):
            log.warning("The log is not the one that was indexed: the index of its records is made anew.")
            await self._in_thread(index.clear)
            positions, self._names = {}, None
        starts = {place: positions.get(place, 0) for place in ends}
        ranges = {place: (starts[place], end) for place, end in ends.items() if starts[place] < end}
        if not ranges:
            return
        pause = CooperativeYield()
        async with aclosing(self._log.read_ranges(ranges)) as batches:
            async for place, records, position in batches:
                found = []
                for record in records:
                    if (references := references_of(record)) is not None:
                        found.append(references)
                    await pause.checkpoint()
                if len(found) < len(records) or any(each.deletes_before is not None for each in found):
                    await asyncio.to_thread(self._pending_rewrite.note)
                if self._names is not None:
                    self._names |= {number(each.incarnation.encode()): each.incarnation for each in found}
                is_last = bool(records) and records[-1].offset == position - 1
                stamp = records[-1].timestamp.timestamp() if is_last else None
                await self._in_thread(partial(index.add, place, found, position, stamp))

    async def _is_other_log(self, index: RecordIndex) -> bool:
        """Tell whether the log has other records than those that were indexed last: it was restored."""
        last = await self._in_thread(index.last_records)
        if not last:
            return False
        ranges = {place: (offset, offset + 1) for place, (offset, _) in last.items()}
        async with aclosing(self._log.read_ranges(ranges)) as batches:
            async for place, records, _ in batches:
                for record in records:
                    if (record.offset, record.timestamp.timestamp()) != last[place]:
                        return True
        return False

    async def _find_unowned(self, index: RecordIndex) -> None:
        """Mark the records of incarnations that no namespace owns as pending."""
        catalog = self._supervisor.pipeline.store.catalog
        unowned = set[int]()
        if self._names is None:
            owned = {number(key.encode()): key for key in catalog.incarnations()}
            indexed = await self._in_thread(index.incarnations)
            unowned = indexed - owned.keys()
            self._names = {key: owned[key] for key in indexed & owned.keys()}
        unowned |= {key for key, name in self._names.items() if catalog.namespace_of(name) is None}
        if unowned:
            await self._in_thread(partial(index.delete_incarnations, unowned))
            for key in unowned:
                self._names.pop(key, None)

    async def _destroy_keys(self, index: RecordIndex, waiting: Mapping[TopicPartition, Sequence[int]]) -> int:
        await self._supervisor.resources.settings_lock.catch_up()
        owner = self._supervisor.pipeline.store.catalog.namespace_of
        is_owned = cache(lambda incarnation: owner(incarnation) is not None)
        settled, headers, blobs = [], [], set[str]()
        for place, offsets in waiting.items():
            records = {record.offset: record async for record in self._log.read_records(place, offsets)}
            about = {offset: found for offset, record in records.items() if (found := references_of(record))}
            documents = {key for found in about.values() for key in found.documents}
            deletions = await self._in_thread(partial(index.deletions, documents))
            content = DeletedContent(deletions, is_owned, deletions.keys())
            erased = [about[at] for at in about if content.covers(TOPICS[place[0]], records[at])]
            sealed = [found for found in erased if SEALED_HEADER in records[found.offset].headers]
            headers += [records[found.offset].headers for found in sealed]
            # Not those of plain records, which a stage may have yet to read.
            blobs |= {blob for found in sealed for blob in found.blobs}
            settled.append(SettledRecords(place, offsets, erased, set(offsets) - about.keys()))
        await self._in_thread(partial(index.release_blobs, blobs))
        await asyncio.to_thread(self._pending_rewrite.note)
        keys = await self._log.destroy_keys(headers)
        await self._in_thread(partial(index.settle, settled))
        return keys

    async def _delete_blobs(self, index: RecordIndex) -> None:
        """Delete the blobs, with their keys, that only erased records referred to."""
        if monotonic() - self._blobs_tried_at < BLOB_RETRY_SECONDS:
            return
        unneeded = await self._in_thread(index.unneeded_blobs)
        if not unneeded:
            return
        async with self._supervisor.resources.locks.acquire(KEYS_LOCK):
            gone = await self._supervisor.resources.blobs.delete(unneeded)
        await self._in_thread(partial(index.forget_blobs, gone.digests))
        if len(gone.digests) < len(unneeded):
            self._blobs_tried_at = monotonic()

    async def _drop_expired(self, index: RecordIndex) -> None:
        """Remove the records that the log dropped by itself from the index, and their keys."""
        bus = self._supervisor.resources.bus
        for topic in (topic for topic in CONTENT_TOPICS if topic.retention is not None):
            for (name, partition), end in (await self._log.ends([topic.name])).items():
                async with aclosing(bus.read(name, partition)) as records:
                    first = await anext(records, None)
                offset = end if first is None else first.offset
                await self._in_thread(partial(index.drop_before, (name, partition), offset))

    @property
    def _log(self) -> ErasableLog:
        erasable = self._supervisor.resources.bus.erasable
        assert erasable is not None  # noqa: S101 - `is_needed`
        return erasable

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run work on the index in a thread, to its end: the index is closed afterwards."""
        task = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise
