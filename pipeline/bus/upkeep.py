"""Retention and compaction of the embedded log, in small transactions between the publishers'."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from pipeline.bus.consumers import Places
from pipeline.bus.journal import Journal, Reader
from pipeline.bus.writer import Writer
from schemas.topics import Topic

T = TypeVar("T")
CHUNK = 512
"""Records per transaction or read."""
PAGES = 1024
"""Pages given back to the file system at a time."""


class Read(Protocol):
    """Runs a query in the reader's thread."""

    def __call__(self, query: Callable[[Reader], T]) -> Awaitable[T]: ...


class Upkeep:
    """Removes what a topic no longer keeps; never a record that a known group has yet to read."""

    def __init__(self, journal: Journal, writer: Writer, places: Places, read: Read) -> None:
        self._journal = journal
        self._writer = writer
        self._places = places
        self._read = read

    async def run(self, topics: Sequence[Topic[Any]], now: int) -> int:
        """`now` in milliseconds since 1970. How many records went."""
        gone = 0
        for topic in topics:
            for partition in range(self._journal.partitions):
                gone += await self._expire(topic, partition, now)
                gone += await self._compact(topic, partition)
        if gone:
            await self._writer.between(lambda: self._journal.shrink(PAGES))
        return gone

    async def _expire(self, topic: Topic[Any], partition: int, now: int) -> int:
        if topic.keep is None:
            return 0
        before = now - round(topic.keep.total_seconds() * 1000)
        gone = 0
        while True:
            until = self._places.lowest((topic.name, partition))
            offsets = await self._read(partial(_expired, topic.name, partition, before, until))
            if not offsets:
                return gone
            gone += await self._remove(topic.name, partition, offsets)

    async def _compact(self, topic: Topic[Any], partition: int) -> int:
        if not topic.compacted:
            return 0
        offsets = await self._read(lambda reader: reader.superseded(topic.name, partition))
        gone = 0
        for start in range(0, len(offsets), CHUNK):
            gone += await self._remove(topic.name, partition, offsets[start : start + CHUNK])
        return gone

    async def _remove(self, topic: str, partition: int, offsets: Sequence[int]) -> int:
        await self._writer.submit(lambda log: log.remove(topic, partition, offsets))
        return len(offsets)


def _expired(topic: str, partition: int, before: int, until: int, reader: Reader) -> list[int]:
    return reader.expired(topic, partition, before, until, CHUNK)
