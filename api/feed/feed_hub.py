"""Hub of a process: follows the tail of the log once and hands its events to every listener."""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from api.errors.http_errors import ApiError, BadRequestError, ServiceUnavailableError, TooManyRequestsError
from api.feed import feed_sources
from api.feed.event_reader import EventReader
from api.feed.feed_cursor import CursorCipher, FeedPosition
from api.feed.feed_events import FeedTables
from api.feed.feed_history import FeedHistory, to_frame
from api.feed.feed_subscription import FeedSubscription
from api.feed.past_events import count_between
from api.feed.repeated_records import RepeatedRecords, read_lookback
from api.feed.rows_ahead import MAX_RECORDS_AHEAD
from pipeline.bus.port import Bus
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.stage import Record, consumer_group

T = TypeVar("T")
MAX_LISTENERS = 256
"""Listeners of one process."""
MAX_LISTENERS_PER_KEY = 64
MAX_RESUMED_RECORDS = 200_000
"""Records of the log, of all namespaces, that a resumed feed may read before it is live."""
MAX_QUEUED_RECORDS = 256
"""Records of a source's partition that wait for the stages; then the log is read later."""
REFUSED_RETRY_SECONDS = 30
REACH_SECONDS = 10.0
"""Wait for this process to come as far as the one where a listener was before."""
MAX_AHEAD_SECONDS = 0.25
"""Time for which rows that were read ahead are used: they may be deleted meanwhile."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Ahead:
    """Rows that a worker has read ahead, up to an offset."""

    tables: FeedTables | None = None
    until: int = 0
    read_at: float = 0.0


class CursorTooOldError(ApiError):
    """410: the cursor lies too far back."""

    status = 410


class FeedHub:
    """Feed of each namespace. It follows the log while anyone listens.

    `tables`: the active tables. A record is sent when its stages have handled it, in log order within its partition.
    """

    def __init__(
        self, bus: Bus, settings_lock: SettingsLock, tables: Callable[[], FeedTables], cursor_keys: str | None = None
    ) -> None:
        self.reader = EventReader(bus, tables, CursorCipher(cursor_keys))
        self.history = FeedHistory(bus, self.reader)
        self._bus = bus
        self._settings_lock = settings_lock
        self._position = self.reader.position
        self._listeners: defaultdict[str, set[FeedSubscription]] = defaultdict(set)
        self._listeners_by_key: Counter[str] = Counter()
        self._queues: dict[tuple[str, int], asyncio.Queue[Record[Any]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._advanced = asyncio.Event()
        self._is_broken = False
        """Whether a worker ended after an error: then everything begins anew with the next listener."""
        self._followers: AsyncExitStack | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def listen(
        self, namespace: str, key: str, cursor: str | None, may_continue: Callable[[], bool]
    ) -> AsyncIterator[FeedSubscription]:
        """Add a listener; from now on, or from after a cursor.

        Raises:
            ApiError: 400 a cursor that is none, 410 one that lies too far back or beyond the log, 429 too many
                listeners, 503 this process has not come so far.
        """
        start = None if cursor is None else self._decode_last_event_id(cursor)
        self._require_place(key)
        self._listeners_by_key[key] += 1
        try:
            async with self._lock:
                await self._start()
            if start is not None:
                await self._wait_until_sent(start)
                self._require_reachable(start)
            subscription = FeedSubscription(self.history, namespace, start, may_continue)
            self._listeners[namespace].add(subscription)
            try:
                yield subscription
            finally:
                self._listeners[namespace].discard(subscription)
                if not self._listeners[namespace]:
                    del self._listeners[namespace]
        finally:
            self._listeners_by_key[key] -= 1
            async with self._lock:
                if not self._listeners and not self._listeners_by_key.total():
                    await self._stop()

    async def close(self) -> None:
        """End every stream and stop following."""
        self.end_streams()
        async with self._lock:
            await self._stop()

    def end_streams(self) -> None:
        """End every stream, so that clients connect again, here or elsewhere."""
        for subscription in [one for listeners in self._listeners.values() for one in listeners]:
            subscription.close()

    def _require_place(self, key: str) -> None:
        if self._listeners_by_key.total() >= MAX_LISTENERS or self._listeners_by_key[key] >= MAX_LISTENERS_PER_KEY:
            raise TooManyRequestsError(
                f"More than {MAX_LISTENERS_PER_KEY} feeds of this key, or {MAX_LISTENERS} in all, are open",
                REFUSED_RETRY_SECONDS,
            )

    def _decode_last_event_id(self, cursor: str) -> FeedPosition:
        try:
            return self.reader.decode(cursor)
        except ValueError as error:
            raise BadRequestError(
                "The Last-Event-ID is not one of this feed", f"{error}. Connect without it to begin anew."
            ) from error

    async def _wait_until_sent(self, start: FeedPosition) -> None:
        """Wait until this process has sent what another sent before the cursor; else it would be sent twice."""
        try:
            async with asyncio.timeout(REACH_SECONDS):
                while any(self._position[place] < offset for place, offset in start.items()):
                    self._advanced.clear()
                    await self._advanced.wait()
        except TimeoutError as error:
            for source in feed_sources.FEED_SOURCES:
                ends = await self._bus.end_offsets(source.topic.name)
                if any(name == source.name and ends.get(part, 0) < end for (name, part), end in start.items()):
                    raise CursorTooOldError(
                        "The feed can't be resumed from there",
                        "The log ends before it. Read the lists of documents and memories, and connect without"
                        " Last-Event-ID.",
                    ) from error
            raise ServiceUnavailableError("The feed has not come so far here", "Connect again in a moment.") from error

    def _require_reachable(self, start: FeedPosition) -> None:
        count = count_between(start, self._position)
        if count > MAX_RESUMED_RECORDS:
            raise CursorTooOldError(
                "The feed can't be resumed from there",
                f"{count:,} records of the log lie after it, more than {MAX_RESUMED_RECORDS:,}. Read the lists of"
                " documents and memories, and connect without Last-Event-ID.",
            )

    async def _start(self) -> None:
        """Follow every source from its end; does nothing if it is followed and every worker is well."""
        if self._is_broken:
            await self._stop()
        if self._followers is not None:
            return
        async with AsyncExitStack() as stack:
            # Later sources first: none may begin beyond the source before it.
            for source in reversed(feed_sources.FEED_SOURCES):
                starts = await self._start_offsets(source)
                for partition in range(self._bus.partitions):
                    self._position[source.name, partition] = starts.get(partition, 0)
                await stack.enter_async_context(
                    self._bus.follow(source.topic, partial(self._enqueue, source), dict(starts))
                )
            self._followers = stack.pop_all()

    async def _start_offsets(self, source: feed_sources.FeedSource) -> Mapping[int, int]:
        """Return the end of a source, or where the texts end that were made of it: each is sent after its text."""
        if source is not feed_sources.PROCESSED:
            return await self._bus.end_offsets(source.topic.name)
        stage, topic = source.stages[0]
        return await self._bus.positions(consumer_group(stage, self.reader.tables().generation), topic.name)

    async def _stop(self) -> None:
        followers, self._followers = self._followers, None
        if followers is not None:
            await followers.aclose()
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self.history.close()
        self._workers.clear()
        self._queues.clear()
        self._is_broken = False

    async def _enqueue(self, source: feed_sources.FeedSource, batch: Sequence[Record[Any]]) -> None:
        # A namespace that began in another process must be known before its first record is looked at.
        await self.reader.retried(self._settings_lock.catch_up)
        for record in batch:
            await self._queue_of(source, record.partition).put(record)

    def _queue_of(self, source: feed_sources.FeedSource, partition: int) -> asyncio.Queue[Record[Any]]:
        place = (source.name, partition)
        if place not in self._queues:
            self._queues[place] = asyncio.Queue(MAX_QUEUED_RECORDS)
            worker = asyncio.create_task(self._work(source, self._queues[place]), name=f"feed {place}")
            self._workers.add(worker)
            worker.add_done_callback(self._on_worker_done)
        return self._queues[place]

    async def _work(self, source: feed_sources.FeedSource, queue: asyncio.Queue[Record[Any]]) -> None:
        repeated: RepeatedRecords | None = None
        pending: deque[Record[Any]] = deque()
        ahead = _Ahead()
        while True:
            if not pending:
                pending.append(await queue.get())
            while len(pending) < MAX_RECORDS_AHEAD and not queue.empty():
                pending.append(queue.get_nowait())
            record = pending.popleft()
            if repeated is None:
                repeated = await self.reader.retried(
                    partial(read_lookback, self._bus, source, record.partition, record.log_offset)
                )
            is_news = not repeated.is_repeated(record) and bool(self._listeners_of(record))
            # Without listeners too: one that resumes reads up to this position, and hears the earlier source live.
            await self.reader.wait_until_handled(source, record)
            if source is feed_sources.FORGOTTEN or (
                source is feed_sources.PROCESSED and record.event.operation == "delete"
            ):
                self.history.withdraw()
            rows = await self._rows_ahead(source, record, pending, ahead) if is_news else None
            event = await self.reader.build_event(source, record, rows) if is_news else None
            await self._wait_for_earlier(source, record)
            # No await from here on: a listener that joins has either the event in its position or hears it.
            self._position[source.name, record.partition] = record.log_offset + 1
            self._advanced.set()
            if event is not None and (listeners := self._listeners_of(record)):
                place = (source.name, record.partition)
                frame = to_frame(place, record.log_offset, self.reader.encode(self._position), event)
                for listener in listeners:
                    listener.offer(frame)

    async def _rows_ahead(
        self, source: feed_sources.FeedSource, record: Record[Any], pending: Iterable[Record[Any]], ahead: "_Ahead"
    ) -> FeedTables | None:
        """Return the rows of a record, read together with those of the handled records after it."""
        now = asyncio.get_running_loop().time()
        if record.log_offset >= ahead.until or now - ahead.read_at > MAX_AHEAD_SECONDS:
            handled = [record, *takewhile(lambda later: self.reader.progress.is_handled(source, later), pending)]
            ahead.tables = (
                await self.reader.read_ahead([(source, each) for each in handled]) if len(handled) > 1 else None
            )
            ahead.until, ahead.read_at = handled[-1].log_offset + 1, now
        return ahead.tables

    async def _wait_for_earlier(self, source: feed_sources.FeedSource, record: Record[Any]) -> None:
        """Wait until the source before this one has sent its events of the record's document or memories."""
        if source is feed_sources.EXTRACTED:
            place, end = (feed_sources.SUBMITTED.name, record.partition), record.event.seq + 1
        elif source is feed_sources.PROCESSED:
            place, end = (
                (feed_sources.EXTRACTED.name, record.partition),
                self.reader.progress.made_until(source, record.partition),
            )
        elif source is feed_sources.FORGOTTEN:
            ends = await self.reader.retried(lambda: self._bus.end_offsets(feed_sources.FORMED.topic.name))
            place, end = (feed_sources.FORMED.name, record.partition), ends.get(record.partition, 0)
        else:
            return
        while self._position[place] < end:
            self._advanced.clear()
            await self._advanced.wait()

    def _listeners_of(self, record: Record[Any]) -> set[FeedSubscription]:
        namespace = self.reader.tables().catalog.namespace_of(record.event.incarnation)
        return self._listeners.get(namespace.name, set()) if namespace is not None else set()

    def _on_worker_done(self, worker: asyncio.Task[None]) -> None:
        if not worker.cancelled() and (error := worker.exception()) is not None:
            log.error("A feed stopped after an error; its listeners connect again.", exc_info=error)
            self._is_broken = True
            self.end_streams()
