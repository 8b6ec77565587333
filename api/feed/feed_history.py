"""Past of a feed, in parts: a part is read from the log, and its events are written down, once for all listeners."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from api.feed.event_reader import OUTAGES, RETRY_SECONDS, EventReader
from api.feed.feed_cursor import FeedPosition, Place
from api.feed.feed_events import FeedEvent
from api.feed.log_blocks import LogBlocks
from api.feed.past_events import PastRecord, read_past_records
from api.feed.rows_ahead import MAX_RECORDS_AHEAD
from pipeline.bus.port import Bus
from pipeline.rows import NamespaceRow

PART_EVENTS = 1024
"""Events of a part."""
MAX_READS = 8
"""Parts that are read at once; others wait for their turn."""
MAX_STAGE_WAIT_SECONDS = 5.0
"""Wait for the stages after which a part ends, so that others may be read."""
SHARED_SECONDS = 5.0
"""Time for which a part is given to others than those who waited for it: its rows may change."""
MAX_SHARED_BYTES = 8 * 1024 * 1024
_PartKey = tuple[tuple[str, ...], str]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Frame:
    """Encoded event, its record in the log, and the cursor after it."""

    place: Place
    offset: int
    cursor: str
    data: bytes


def to_frame(place: Place, offset: int, cursor: str, event: FeedEvent) -> Frame:
    body = event.data.model_dump_json(by_alias=True, exclude_unset=True)
    return Frame(place, offset, cursor, f"id: {cursor}\nevent: {event.name}\ndata: {body}\n\n".encode())


@dataclass(frozen=True, slots=True)
class Part:
    """Events after a position. `reaches_now`: up to everything that was sent live when it was read."""

    frames: Sequence[Frame]
    end: FeedPosition
    reaches_now: bool


@dataclass(frozen=True, slots=True)
class _SharedPart:
    part: Part
    keys: Sequence[_PartKey]
    """Key of the position before each frame, and of the end."""
    read_at: float


async def _windows(records: AsyncIterator[PastRecord]) -> AsyncIterator[Sequence[PastRecord]]:
    """Gather records whose rows are read together."""
    together: list[PastRecord] = []
    async for record in records:
        together.append(record)
        if len(together) == MAX_RECORDS_AHEAD:
            yield together
            together = []
    if together:
        yield together


class FeedHistory:
    """Reads parts. Listeners that come to a position at about the same time get the same one.

    A listener that broke off goes on in the middle of a part, and a part that comes to the position before another's
    frame ends there, so that few parts serve all.
    """

    def __init__(self, bus: Bus, reader: EventReader) -> None:
        self.reads = asyncio.Semaphore(MAX_READS)
        self._partitions = bus.partitions
        self._log = LogBlocks(bus)
        self.reader = reader
        self._shared: deque[_SharedPart] = deque()
        self._bytes = 0
        self._found: dict[_PartKey, tuple[Part, int]] = {}
        self._reading: dict[_PartKey, asyncio.Task[Part]] = {}
        self._withdrawn = 0
        """How often something was taken back: parts whose reading began before are not shared."""

    async def read_after(self, namespace: str, position: FeedPosition) -> Part:
        """Return what follows a position; perhaps nothing yet, if a stage has to work first."""
        row = self.reader.tables().catalog.namespace(namespace)
        if row is None:
            return Part((), dict(self.reader.position), reaches_now=True)
        self._drop_old()
        key = self._key(row, position)
        if key in self._found:
            part, index = self._found[key]
            return Part(part.frames[index:], part.end, part.reaches_now)
        if key not in self._reading:
            self._reading[key] = asyncio.create_task(self._read(row, position), name="feed history")
            self._reading[key].add_done_callback(lambda _: self._reading.pop(key, None))
        # One listener that leaves does not end what others wait for.
        return await asyncio.shield(self._reading[key])

    def withdraw(self) -> None:
        """Share nothing that was read before: something of it was deleted or forgotten."""
        self._withdrawn += 1
        self._shared.clear()
        self._found.clear()
        self._log.clear()
        self._bytes = 0

    async def close(self) -> None:
        reading = list(self._reading.values())
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        await self._log.close()
        self.withdraw()

    async def _read(self, row: NamespaceRow, start: FeedPosition) -> Part:
        async with self.reads:
            frames: list[Frame] = []
            keys, withdrawn = [self._key(row, start)], self._withdrawn
            position, end = dict(start), dict(self.reader.position)
            try:
                reaches_now = await self._read_frames(row, position, end, frames, keys)
            except OUTAGES as error:
                # TimeoutError is one: a stage is slow. What was read is sent, and the rest read again.
                if not isinstance(error, TimeoutError):
                    log.warning("A feed waits for the log and the tables: %r", error)
                    await asyncio.sleep(RETRY_SECONDS)
                reaches_now = False
            part = Part(tuple(frames), end if reaches_now else position, reaches_now)
            if frames and withdrawn == self._withdrawn:
                self._share(part, keys)
            return part

    async def _read_frames(
        self,
        row: NamespaceRow,
        position: dict[Place, int],
        end: FeedPosition,
        frames: list[Frame],
        keys: list[_PartKey],
    ) -> bool:
        """Append frames and the keys of the positions after them; return whether none is left up to the end."""
        async with aclosing(read_past_records(self._log, self._partitions, row.incarnations, position, end)) as records:
            async for together in _windows(records):
                handled = await self._wait_for_stages(together)
                ahead = await self.reader.read_ahead([(past.source, past.record) for past in handled])
                for past in handled:
                    event = await self.reader.build_event(past.source, past.record, ahead)
                    position[past.place] = past.record.log_offset + 1
                    if event is None:
                        continue
                    key = self._key(row, position)
                    frames.append(to_frame(past.place, past.record.log_offset, self.reader.to_cursor(key[1]), event))
                    keys.append(key)
                    if len(frames) >= PART_EVENTS or keys[-1] in self._found:
                        return False
                if len(handled) < len(together):
                    raise TimeoutError
        return True

    async def _wait_for_stages(self, records: Sequence[PastRecord]) -> Sequence[PastRecord]:
        """Return the records before the first one that a stage is slow to handle."""
        for index, past in enumerate(records):
            try:
                async with asyncio.timeout(MAX_STAGE_WAIT_SECONDS):
                    await self.reader.wait_until_handled(past.source, past.record)
            except TimeoutError:
                return records[:index]
        return records

    def _key(self, row: NamespaceRow, position: FeedPosition) -> _PartKey:
        return row.incarnations, self.reader.to_plain_text(position)

    def _share(self, part: Part, keys: Sequence[_PartKey]) -> None:
        now = asyncio.get_running_loop().time()
        self._shared.append(_SharedPart(part, keys[:-1], now))
        self._bytes += sum(len(frame.data) for frame in part.frames)
        for index, key in enumerate(keys[:-1]):
            self._found.setdefault(key, (part, index))
        self._drop_old()
        asyncio.get_running_loop().call_later(SHARED_SECONDS, self._drop_old)

    def _drop_old(self) -> None:
        oldest = asyncio.get_running_loop().time() - SHARED_SECONDS
        while self._shared and (self._bytes > MAX_SHARED_BYTES or self._shared[0].read_at <= oldest):
            shared = self._shared.popleft()
            self._bytes -= sum(len(frame.data) for frame in shared.part.frames)
            for key in shared.keys:
                if self._found.get(key, (None,))[0] is shared.part:
                    del self._found[key]
