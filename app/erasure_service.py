"""Erasure of what deletions left on the disk: now, on request of an operator, and in rounds."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from time import monotonic

from app.key_destroyer import KEYS_LOCK, ROUND_ERRORS
from app.pipeline_supervisor import PipelineSupervisor
from app.replay.replay_service import ReplayService
from pipeline.bus.port import ErasableLog, TopicPartition
from pipeline.bus.records import SEALED_HEADER, RawRecord, origin_position
from pipeline.erasure.deleted_content import (
    DELETION_MARK,
    DeletedContent,
    blobs_in,
    incarnation_of,
    is_deletion,
)
from pipeline.erasure.erasure_report import ErasedCounts, ErasureReport, ErasureUnsupportedError, digest_of
from pipeline.erasure.pending_erasures import PendingRewrite, WaitingBlobs
from pipeline.erasure.record_references import TOPICS
from pipeline.errors import OutageError
from pipeline.runtime.fair_event_loop import run_in_background_lane
from pipeline.store.blobs.blob_store import RECENT_PUT_SECONDS
from schemas.topics import ALL_TOPICS, DOCUMENTS_SUBMITTED

log = logging.getLogger(__name__)

FIRST_ROUND_SECONDS = 600.0
UNREFERENCED_BLOB_SECONDS = 3600.0
"""Age from which a blob goes that no record refers to: its record has expired, or its event was never accepted."""
READ_GRACE_SECONDS = 10.0
"""Time for reads of old table versions to end before their files are removed."""
STAGE_TIMEOUT_SECONDS = 30.0
"""Longest wait for stages that have yet to read what is to be erased."""
_STAGE_POLL_SECONDS = 0.2


@dataclass(slots=True)
class _FoundRecords:
    offsets: defaultdict[TopicPartition, list[int]] = field(default_factory=lambda: defaultdict(list))
    blobs: set[str] = field(default_factory=set)
    unowned_incarnations: set[str] = field(default_factory=set)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    """Headers of the records, which name the keys of sealed ones."""
    destroyed_keys: int = 0
    retained: int = 0
    """Records that this log cannot erase: from before it was sealed."""

    def add(self, record: RawRecord, *, owned: bool, erasable: bool) -> None:
        """Add a record; `owned`: its namespace exists. `erasable` False: it is counted, unless it has no words."""
        if not owned:
            self.unowned_incarnations.add(incarnation_of(record.key))
        if not erasable:
            self.retained += not is_deletion(record)
            return
        self.offsets[record.topic, record.partition].append(record.offset)
        self.blobs |= blobs_in(record.content_if_readable)
        self.headers.append(record.headers)

    def merge(self, other: "_FoundRecords") -> None:
        for place, offsets in other.offsets.items():
            self.offsets[place] = sorted({*self.offsets[place], *offsets})
        self.blobs |= other.blobs
        self.headers += other.headers
        self.destroyed_keys += other.destroyed_keys
        self.retained = other.retained
        self.unowned_incarnations |= other.unowned_incarnations

    @property
    def positions(self) -> list[str]:
        return [f"{topic}/{number}/{at}" for (topic, number), offsets in self.offsets.items() for at in offsets]

    def counts(self) -> ErasedCounts:
        events = Counter[str]()
        for (topic, _), offsets in self.offsets.items():
            events[topic] += len(offsets)
        return ErasedCounts(dict(events), len(self.blobs), self.destroyed_keys, retained_events=self.retained)


class ErasureService:
    """Erases from log, blobs, table files and caches what only deleted documents and namespaces still need."""

    def __init__(self, supervisor: PipelineSupervisor, replays: ReplayService, interval_seconds: float) -> None:
        self._supervisor = supervisor
        self._replays = replays
        self._interval_seconds = interval_seconds
        self._handled_deletions: dict[bytes, int] = {}
        self._waiting_blobs = WaitingBlobs(supervisor.resources.settings.data_dir / "waiting-blobs")
        self._pending_rewrite = PendingRewrite(supervisor.resources.settings.data_dir)
        self._left_over = asyncio.Event()
        """Set when an erasure left something that has to wait."""
        self._requested: set[asyncio.Task[ErasureReport]] = set()
        self._stopping = asyncio.Event()

    @property
    def is_supported(self) -> bool:
        """True if the log can erase single records."""
        return self._supervisor.resources.bus.erasable is not None

    def require_support(self) -> None:
        """ErasureUnsupportedError with a log that cannot erase single records."""
        self._require_log()

    async def plan(self, documents: Collection[tuple[str, str]], incarnations: Collection[str]) -> ErasedCounts:
        """Count what an erasure would remove once these documents (incarnation and key) or incarnations are deleted."""
        deleted = await self._deleted_content()
        keys = {f"{incarnation}/{key}".encode(): 1 << 62 for incarnation, key in documents}
        content = DeletedContent(
            {**deleted.deletions, **keys},
            lambda incarnation: incarnation not in incarnations and deleted.is_owned(incarnation),
            {*deleted.fresh, *keys},
        )
        found = await self._find_records(content)
        in_use, _ = await self._read_blobs_in_use({}, found)
        found.blobs = (found.blobs | self._waiting_blobs.digests) - in_use
        of_records = await self._require_log().count_keys(found.headers)
        of_blobs = await self._supervisor.resources.blobs.count_keys(found.blobs)
        return replace(found.counts(), keys=of_records + of_blobs)

    async def erase_now(self, delete: Callable[[], Awaitable[object]] | None = None) -> ErasureReport:
        """Delete something, then erase everything that was deleted, caches and replaced tables too.

        ReplayError while a replay runs: deleted, and not erased.
        """
        task = asyncio.create_task(run_in_background_lane(lambda: self._run_round(delete, on_request=True)))
        self._requested.add(task)
        task.add_done_callback(self._requested.discard)
        # Goes on if the caller leaves: half an erasure would be reported nowhere.
        return await asyncio.shield(task)

    async def stop(self) -> None:
        """End the erasures in progress, which wait for nobody any more; before tables and log are closed."""
        self._stopping.set()
        while self._requested:
            await asyncio.wait(self._requested)

    async def _wait(self, seconds: float) -> None:
        """Sleep, less if the service stops meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def run(self) -> None:
        """Erase in rounds until cancelled. The first one, and one after an erasure that left something, comes soon."""
        soon = min(FIRST_ROUND_SECONDS, self._interval_seconds)
        while True:
            await asyncio.sleep(soon)
            self._left_over.clear()
            try:
                report = await self._run_round()
            except ROUND_ERRORS as error:
                log.warning("What was deleted could not be erased, and will be in the next round: %r", error)
            else:
                if report.counts.events:
                    log.info("Erased what was deleted: %s.", report.counts)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._left_over.wait(), self._interval_seconds - soon)

    async def _run_round(
        self, delete: Callable[[], Awaitable[object]] | None = None, *, on_request: bool = False
    ) -> ErasureReport:
        resources = self._supervisor.resources
        async with resources.locks.acquire("erasure"):
            started_at = resources.clock.now()
            # Held from the deletion on, so that the report counts all that goes with it.
            async with resources.locks.acquire(KEYS_LOCK):
                if delete is not None:
                    await delete()
                generations = await self._replays.clean_up() if on_request else ()
                # Older settings of a namespace hold words too, and are superseded.
                await resources.bus.maintain([topic for topic in ALL_TOPICS if topic.compacted])
                if self._has_connectors_to_clean_up():
                    self._left_over.set()
                counts, digest = await self._erase_log_and_blobs()
            moved = await self._rewrite_tables(is_due=bool(counts.events) or on_request)
            if on_request:
                await resources.vector_cache.clear()
            await self._require_log().shrink()
            return ErasureReport(started_at, resources.clock.now(), counts, moved, generations, on_request, digest)

    def _has_connectors_to_clean_up(self) -> bool:
        """Tell whether connectors ended whose settings, with their words, are not superseded yet."""
        catalog = self._supervisor.pipeline.store.catalog
        return any(
            row.status == "removed" or catalog.namespace_of(row.incarnation) is None for row in catalog.connectors()
        )

    async def _erase_log_and_blobs(self) -> tuple[ErasedCounts, str]:
        """Erase records, rows of deleted namespaces, and blobs."""
        content = await self._deleted_content()
        found, waiting = await self._erase_records(content)
        await self._supervisor.pipeline.store.delete_incarnations(found.unowned_incarnations)
        blobs = self._supervisor.resources.blobs
        listed = self._waiting_blobs.digests | found.blobs
        candidates = listed | await blobs.digests_older_than(UNREFERENCED_BLOB_SECONDS)
        unused = candidates - (await self._blobs_in_use() if candidates else set())
        gone = await blobs.delete(unused)
        left = listed & (unused - set(gone.digests))
        await asyncio.to_thread(self._waiting_blobs.replace, left)
        if waiting or left:
            self._left_over.set()
        counts = replace(
            found.counts(),
            blobs=len(gone.digests),
            keys=found.destroyed_keys + gone.keys,
            waiting_events=waiting,
            waiting_blobs=len(left),
        )
        return counts, digest_of([*found.positions, *gone.digests])

    async def _erase_records(self, content: DeletedContent) -> tuple[_FoundRecords, int]:
        """Erase the records of deleted content, also those that stages publish meanwhile; count those that wait."""
        found = await self._find_records(content)
        waiting = await self._erase_consumed(found)
        while not waiting and (more := await self._find_records(content)).offsets:
            waiting = await self._erase_consumed(more)
            found.merge(more)
        # Where processes share the log, one that lags behind may publish more of what is deleted: looked for each time.
        if not waiting and not self._supervisor.resources.is_multi_process:
            self._handled_deletions.update({key: content.deletions[key] for key in content.fresh})
        return found, waiting

    async def _rewrite_tables(self, *, is_due: bool) -> int:
        """Rewrite tables and snapshots if that is due, or if keys were destroyed since; return the number of rows."""
        note = await asyncio.to_thread(self._pending_rewrite.read)
        if note is None:
            return await self._rewrite_deleted_rows() if is_due else 0
        has_rows = await self._is_lagging()
        moved = await self._rewrite_deleted_rows()
        if has_rows:
            self._left_over.set()
        else:
            await asyncio.to_thread(self._pending_rewrite.remove, note)
        return moved

    async def _is_lagging(self) -> bool:
        """Tell whether stages have yet to delete rows, and still have after a while."""
        deadline = monotonic() + STAGE_TIMEOUT_SECONDS
        while any((await self._supervisor.pipeline.health.lag()).values()):
            if monotonic() >= deadline or self._stopping.is_set():
                return True
            await self._wait(_STAGE_POLL_SECONDS)
        return False

    async def _rewrite_deleted_rows(self) -> int:
        store = self._supervisor.pipeline.store
        moved = await store.erase_deleted_rows()
        await self._wait(READ_GRACE_SECONDS)
        await store.drop_old_versions(timedelta(seconds=READ_GRACE_SECONDS))
        await self._supervisor.pipeline.index_cache.erase_snapshots()
        return moved

    async def _erase_consumed(self, found: _FoundRecords) -> int:
        """Erase the records that every stage has read, or will soon; take the others out of `found`, and count them."""
        await self._ensure_unowned(found)
        # Blobs first, then keys: after a crash in between, what is left in the log is unreadable, and all of it goes in
        # the next round.
        await asyncio.to_thread(self._waiting_blobs.replace, self._waiting_blobs.digests | found.blobs)
        found.destroyed_keys = await self._require_log().destroy_keys(found.headers)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STAGE_TIMEOUT_SECONDS
        waiting = 0
        for place, offsets in found.offsets.items():
            unread = await self._require_log().erase(place, offsets)
            while unread and loop.time() < deadline and not self._stopping.is_set():
                await self._wait(_STAGE_POLL_SECONDS)
                unread = await self._require_log().erase(place, unread)
            found.offsets[place] = sorted(set(offsets) - unread)
            waiting += len(unread)
        return waiting

    async def _ensure_unowned(self, found: _FoundRecords) -> None:
        """Look again whose incarnations nobody owns: another process may have made a namespace a moment ago."""
        await self._supervisor.resources.settings_lock.catch_up()
        owner = self._supervisor.pipeline.store.catalog.namespace_of
        if any(owner(incarnation) for incarnation in found.unowned_incarnations):
            raise OutageError("A namespace was made during the erasure, which begins again later.")

    async def _deleted_content(self) -> DeletedContent:
        """Find the deletions that were not handled yet, and the incarnations that no namespace owns."""
        marked: defaultdict[TopicPartition, list[int]] = defaultdict(list)
        async for place, offset, key in self._require_log().read_keys(DOCUMENTS_SUBMITTED.name, DELETION_MARK):
            if self._handled_deletions.get(key, -1) < offset:
                marked[place].append(offset)
        newest: dict[bytes, int] = {}
        for place, offsets in marked.items():
            async for record in self._require_log().read_records(place, offsets):
                if is_deletion(record):
                    # As of its first reading: one that was redriven deletes nothing that came in between.
                    _, offset = origin_position(record)
                    newest[record.key] = max(offset, newest.get(record.key, 0))
        owner = self._supervisor.pipeline.store.catalog.namespace_of
        known = {**self._handled_deletions, **newest}
        return DeletedContent(known, cache(lambda incarnation: owner(incarnation) is not None), newest.keys())

    async def _find_records(self, content: DeletedContent) -> _FoundRecords:
        found = _FoundRecords()
        removes_plain = self._require_log().removes_plain_records
        for name, topic in TOPICS.items():
            for place, offsets in (await self._candidates(name, content)).items():
                async for record in self._require_log().read_records(place, offsets):
                    if content.covers(topic, record):
                        owned = content.is_owned(incarnation_of(record.key))
                        found.add(record, owned=owned, erasable=removes_plain or SEALED_HEADER in record.headers)
        return found

    async def _candidates(self, topic: str, content: DeletedContent) -> Mapping[TopicPartition, list[int]]:
        """Return the offsets of the records whose key says that they may have to go."""
        offsets: defaultdict[TopicPartition, list[int]] = defaultdict(list)
        async for place, offset, key in self._require_log().read_keys(topic):
            if content.may_cover(key):
                offsets[place].append(offset)
        return offsets

    async def _blobs_in_use(self) -> set[str]:
        """Return the blobs that any record refers to.

        Reads on until what was appended meanwhile takes so little time that a blob put since then counts as recent.
        """
        in_use: set[str] = set()
        read_to: dict[TopicPartition, int] = {}
        while True:
            began = monotonic()
            found, read_to = await self._read_blobs_in_use(read_to, _FoundRecords())
            in_use |= found
            if monotonic() - began < RECENT_PUT_SECONDS / 2:
                return in_use

    async def _read_blobs_in_use(
        self, read_to: Mapping[TopicPartition, int], without: _FoundRecords
    ) -> tuple[set[str], dict[TopicPartition, int]]:
        """Return the blobs of the records from these offsets on, except for some, and the offsets read to."""
        bus = self._supervisor.resources.bus
        in_use: set[str] = set()
        ends: dict[TopicPartition, int] = {}
        skipped = {place: frozenset(offsets) for place, offsets in without.offsets.items()}
        for name in TOPICS:
            for partition, end in (await bus.end_offsets(name)).items():
                place = name, partition
                ends[place] = end
                async for record in bus.read(name, partition, read_to.get(place, 0), end):
                    if record.offset not in skipped.get(place, ()):
                        in_use |= blobs_in(record.content_if_readable)
        return in_use, ends

    def _require_log(self) -> ErasableLog:
        bus = self._supervisor.resources.bus
        if bus.erasable is None:
            raise ErasureUnsupportedError(
                f"Single records cannot be erased from {bus.description}, as it is not sealed: see RECOLLECT_SEALING."
            )
        return bus.erasable
