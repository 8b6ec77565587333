"""Following a topic without a group: every process that wants all of it, from the start and for ever."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pipeline.bus.port import Handle
from pipeline.records import RawRecord, decode
from pipeline.stage import Record
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of a partition in order; `after` is the offset at which its next batch begins."""

    partition: int
    records: Sequence[RawRecord]
    after: int


class Feed(Protocol):
    """A topic from its start."""

    async def ends(self) -> Mapping[int, int]:
        """Per partition, the offset that its next record will get."""
        ...

    def batches(self) -> AsyncGenerator[Batch, None]:
        """All there is and all there will be; waits where there is nothing more yet."""
        ...


class TopicFollower(Generic[E]):
    """Hands a topic over, and knows how far it is."""

    def __init__(self, feed: Feed, topic: Topic[E], handle: Handle[E]) -> None:
        self._feed = feed
        self._topic = topic
        self._handle = handle
        self._applied: defaultdict[int, int] = defaultdict(int)
        self._moved = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"follow {topic.name}")
        self._task.add_done_callback(self._ended)

    async def current(self) -> None:
        """Wait until all that was published before this call has been handed over.

        Raises what ended the following, if anything did: from then on nothing is current.
        """
        ends = await self._feed.ends()
        while any(self._applied[partition] < end for partition, end in ends.items()):
            if self._task.done():
                await self._task
            self._moved.clear()
            await self._moved.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        # Who is stopped while it hands over leaves no connection behind.
        async with aclosing(self._feed.batches()) as batches:
            async for batch in batches:
                records = self._decoded(batch.records)
                if records:
                    await self._handle(records)
                self._applied[batch.partition] = batch.after
                self._moved.set()

    def _decoded(self, batch: Sequence[RawRecord]) -> list[Record[E]]:
        records = []
        for raw in batch:
            try:
                records.append(decode(self._topic, raw))
            except ValueError as error:
                # The stage that reads the topic parks it; whoever follows has no use for it.
                log.warning("Can't follow %s/%d/%d: %s", raw.topic, raw.partition, raw.offset, error)
        return records

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("No longer following %s", self._topic.name, exc_info=error)
        self._moved.set()


@asynccontextmanager
async def following(feed: Feed, topic: Topic[E], handle: Handle[E]) -> AsyncIterator[TopicFollower[E]]:
    """Follow the topic until the block ends."""
    follower = TopicFollower(feed, topic, handle)
    try:
        yield follower
    finally:
        await follower.close()
