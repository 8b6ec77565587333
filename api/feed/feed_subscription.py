"""Subscription of one listener: the live events of a namespace, and from the log those it was too slow for."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.feed.feed_cursor import FeedPosition
from api.feed.feed_events import FeedEvent, FeedTables
from api.feed.feed_sources import FeedSource
from api.feed.past_events import read_past_records
from pipeline.bus.port import Bus
from pipeline.stage import Record

MAX_QUEUED_EVENTS = 512
"""Events that wait in memory for a listener; a slower one reads the log."""
PART_EVENTS = 1024
"""Events that are read from the log for a listener before they are sent."""
MAX_STAGE_WAIT_SECONDS = 5.0
"""Wait for the stages after which a listener that reads the log gives its place to another."""
HEARTBEAT_SECONDS = 15.0
RECONNECT_MILLISECONDS = 2000


class LiveFeed(Protocol):
    """The tail of the log that a subscription reads, once it has caught up."""

    @property
    def position(self) -> FeedPosition:
        """Position up to which every event was sent."""
        ...

    def encode(self, position: FeedPosition) -> str: ...

    def decode(self, cursor: str) -> FeedPosition: ...

    def tables(self) -> FeedTables: ...

    @property
    def catch_ups(self) -> asyncio.Semaphore:
        """Places of listeners for which the log is read."""
        ...

    async def wait_until_handled(self, source: FeedSource, record: Record[Any]) -> None:
        """Wait until the stages of the source have handled the record."""
        ...

    async def build_event(self, source: FeedSource, record: Record[Any]) -> FeedEvent | None:
        """Return what a handled record changed."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """Encoded event and the cursor after it."""

    cursor: str
    data: bytes


def to_frame(cursor: str, event: FeedEvent) -> Frame:
    """Encode an event for `text/event-stream`."""
    body = event.data.model_dump_json(by_alias=True, exclude_unset=True)
    return Frame(cursor, f"id: {cursor}\nevent: {event.name}\ndata: {body}\n\n".encode())


def _heartbeat(cursor: str) -> bytes:
    """A comment, and the cursor: an id without data moves the client's cursor and is no event."""
    return f": heartbeat\nid: {cursor}\n\n".encode()


@dataclass(slots=True, eq=False)
class FeedSubscription:
    """Listener of a namespace. `start` None: from now on."""

    feed: LiveFeed
    bus: Bus
    namespace: str
    start: FeedPosition | None
    may_continue: Callable[[], bool]
    """Whether the listener's key still opens the namespace; asked before anything is sent."""
    _queue: deque[Frame] = field(default_factory=deque)
    _wakes: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: bool = False
    _is_behind: bool = field(init=False)
    """Whether live events are left to the log; from the beginning for a feed that resumes."""
    _begin: FeedPosition = field(init=False)
    _reading: asyncio.Task[tuple[list[Frame], FeedPosition]] | None = None
    """Part of the log that is being read for this listener."""

    def __post_init__(self) -> None:
        """Take the position now: what is offered before the stream is read lies after it."""
        self._is_behind = self.start is not None
        self._begin = dict(self.feed.position) if self.start is None else self.start

    def offer(self, frame: Frame) -> None:
        """Queue a live event; a listener with a full queue reads it from the log later."""
        if len(self._queue) >= MAX_QUEUED_EVENTS:
            self._is_behind = True
        if not self._is_behind:
            self._queue.append(frame)
            self._wakes.set()

    def close(self) -> None:
        """End the stream; the client connects again."""
        self._is_closed = True
        self._wakes.set()
        if self._reading is not None:
            self._reading.cancel()

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the frames of the stream until the listener may not listen any more, or the feed is closed."""
        text = self.feed.encode(self._begin)
        yield f"retry: {RECONNECT_MILLISECONDS}\nid: {text}\n\n".encode()
        while self._is_open():
            while self._queue:
                frame = self._queue.popleft()
                text = frame.cursor
                yield frame.data
                if not self._is_open():
                    return
            if self._is_behind:
                async with aclosing(self._catch_up(self.feed.decode(text))) as frames:
                    async for frame in frames:
                        text = frame.cursor
                        yield frame.data
                        if not self._is_open():
                            return
                continue
            if not await self._wait_for_event():
                text = self.feed.encode(self.feed.position) if not self._queue else text
                yield _heartbeat(text)

    def _is_open(self) -> bool:
        return not self._is_closed and self.may_continue()

    async def _catch_up(self, start: FeedPosition) -> AsyncGenerator[Frame, None]:
        """Yield the events between a cursor and now, and heartbeats meanwhile; what comes meanwhile is queued."""
        end, position = dict(self.feed.position), start
        text = self.feed.encode(start)
        self._is_behind = False
        while position != end:
            self._reading = asyncio.create_task(self._read_part(position, end))
            try:
                while not (await asyncio.wait([self._reading], timeout=HEARTBEAT_SECONDS))[0]:
                    yield Frame(text, _heartbeat(text))
                if self._reading.cancelled():
                    return
                frames, position = self._reading.result()
            finally:
                self._reading.cancel()
            for frame in frames:
                text = frame.cursor
                yield frame
        # Of other namespaces nothing is left to read before this position.
        yield Frame(text := self.feed.encode(end), _heartbeat(text))

    async def _read_part(self, start: FeedPosition, end: FeedPosition) -> tuple[list[Frame], FeedPosition]:
        """Read the next events, and the position after them. No place is held while they are sent."""
        frames: list[Frame] = []
        position = dict(start)
        row = self.feed.tables().catalog.namespace(self.namespace)
        if row is None:
            return frames, end
        async with self.feed.catch_ups, aclosing(read_past_records(self.bus, row.incarnations, start, end)) as records:
            async for past in records:
                try:
                    async with asyncio.timeout(MAX_STAGE_WAIT_SECONDS):
                        await self.feed.wait_until_handled(past.source, past.record)
                except TimeoutError:
                    return frames, position  # others may have the place while the stages work
                event = await self.feed.build_event(past.source, past.record)
                position[past.place] = past.record.log_offset + 1
                if event is not None:
                    frames.append(to_frame(self.feed.encode(position), event))
                if len(frames) == PART_EVENTS:
                    return frames, position
        return frames, end

    async def _wait_for_event(self) -> bool:
        """Return False if nothing comes until the next heartbeat is due."""
        self._wakes.clear()
        if self._queue or self._is_behind or self._is_closed:
            return True
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._wakes.wait()
        except TimeoutError:
            return False
        return True
