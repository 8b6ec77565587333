"""Subscription of a listener: live events from a queue, and from the log what it missed."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from api.feed.feed_cursor import FeedPosition
from api.feed.feed_history import FeedHistory, Frame, Part

MAX_QUEUED_EVENTS = 512
"""Events that wait in memory for a listener; a slower one reads the log."""
CHUNK_BYTES = 16 * 1024
"""Events that are sent at once: one write costs more than an event."""
HEARTBEAT_SECONDS = 15.0
RECONNECT_MILLISECONDS = 2000


@dataclass(slots=True, eq=False)
class FeedSubscription:
    """Listener of a namespace. `start` None: from now on."""

    history: FeedHistory
    namespace: str
    start: FeedPosition | None
    may_continue: Callable[[], bool]
    """Whether the listener's key still opens the namespace; asked before anything is sent."""
    _queue: deque[Frame] = field(default_factory=deque)
    _wakes: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: bool = False
    _is_behind: bool = field(init=False)
    """Whether live events are left to the log; from the beginning for a feed that resumes."""
    _cursor: str = field(init=False)
    """Cursor after what was sent."""
    _read_until: FeedPosition = field(init=False)
    """Position up to which the log was read: queued events before it were sent."""
    _sent_at: float = 0.0
    """When something was sent, in the time of the event loop."""
    _reading: asyncio.Task[Part] | None = None
    """Part of the log that this listener waits for."""

    def __post_init__(self) -> None:
        """Take the position now: what is offered before the stream is read lies after it."""
        self._is_behind = self.start is not None
        self._read_until = dict(self.history.reader.position) if self.start is None else self.start
        self._cursor = self.history.reader.encode(self._read_until)

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
        """Yield parts of the stream until the listener may not listen any more, or the feed is closed."""
        yield self._send([f"retry: {RECONNECT_MILLISECONDS}\nid: {self._cursor}\n\n".encode()])
        while self._is_open():
            if self._queue:
                for chunk in self._join(self._take_queued()):
                    yield chunk
                    if not self._is_open():
                        return
            elif self._is_behind:
                async with aclosing(self._catch_up()) as chunks:
                    async for chunk in chunks:
                        yield chunk
                        if not self._is_open():
                            return
            elif not await self._wait_for_event():
                if not self._queue and not self._is_behind:
                    self._cursor = self.history.reader.encode(self.history.reader.position)
                yield self._heartbeat()

    def _is_open(self) -> bool:
        return not self._is_closed and self.may_continue()

    async def _catch_up(self) -> AsyncGenerator[bytes, None]:
        """Yield the events between the cursor and now, and heartbeats meanwhile."""
        position, part = self.history.reader.decode(self._cursor), None
        before_reading = dict(self.history.reader.position)
        while part is None or not part.reaches_now or _is_before(position, before_reading):
            # What comes from now on is queued; what came before is read from the log.
            self._queue.clear()
            self._is_behind = False
            before_reading = dict(self.history.reader.position)
            self._reading = asyncio.create_task(self.history.read_after(self.namespace, position))
            try:
                while not (await asyncio.wait([self._reading], timeout=self._until_heartbeat()))[0]:
                    yield self._heartbeat()
                if self._reading.cancelled():
                    self._is_behind = True
                    return
                part = self._reading.result()
            finally:
                self._reading.cancel()
            for chunk in self._join(part.frames):
                yield chunk
            position = part.end
        # Of other namespaces nothing is left to read before this position.
        self._read_until, self._cursor = position, self.history.reader.encode(position)
        yield self._heartbeat()

    def _take_queued(self) -> Iterator[Frame]:
        while self._queue:
            frame = self._queue.popleft()
            if frame.offset >= self._read_until[frame.place]:
                yield frame

    def _join(self, frames: Iterable[Frame]) -> Iterator[bytes]:
        """Join events to chunks, and move the cursor to the last one of each."""
        parts: list[bytes] = []
        size = 0
        for frame in frames:
            parts.append(frame.data)
            size += len(frame.data)
            self._cursor = frame.cursor
            if size >= CHUNK_BYTES:
                yield self._send(parts)
                parts, size = [], 0
        if parts:
            yield self._send(parts)

    def _send(self, parts: Iterable[bytes]) -> bytes:
        self._sent_at = asyncio.get_running_loop().time()
        return b"".join(parts)

    def _until_heartbeat(self) -> float:
        return max(0.0, self._sent_at + HEARTBEAT_SECONDS - asyncio.get_running_loop().time())

    def _heartbeat(self) -> bytes:
        """A comment, and the cursor: an id without data moves the client's cursor and is not an event."""
        return self._send([f": heartbeat\nid: {self._cursor}\n\n".encode()])

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


def _is_before(position: FeedPosition, other: FeedPosition) -> bool:
    """Return whether something lies between a position and another one."""
    return any(position[place] < offset for place, offset in other.items())
