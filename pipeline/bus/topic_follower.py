"""Followers: consumers without a group that read a topic from given offsets on, and what is published later."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Protocol

from pipeline.bus.failure_messages import error_message
from pipeline.bus.records import ErasedRecordError, RawRecord, decode
from pipeline.errors import FollowerClosedError, OutageError
from pipeline.stage import Record
from schemas.topics import E, Topic

RecordHandler = Callable[[Sequence[Record[E]]], Awaitable[None]]
"""Callback for followed records of a partition, in order; a record may come again after a restart."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowedBatch:
    """Records of a partition, in order, and the offset at which its next batch begins."""

    partition: int
    records: Sequence[RawRecord]
    next_offset: int


class TopicFeed(Protocol):
    """Source of a topic's records from some offsets on."""

    async def end_offsets(self) -> Mapping[int, int]:
        """Return the offset of the next record of each partition."""

    def batches(self) -> AsyncGenerator[FollowedBatch, None]:
        """Yield every record there is and will be; waits for new ones."""


class TopicFollower(Generic[E]):
    """Task that passes a topic to a handler and tracks the applied offsets."""

    def __init__(self, feed: TopicFeed, topic: Topic[E], handle: RecordHandler[E], start: Mapping[int, int]) -> None:
        self._feed = feed
        self._topic = topic
        self._handle = handle
        self._applied_offsets: defaultdict[int, int] = defaultdict(int, start)
        self._progressed = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"follow {topic.name}")
        self._task.add_done_callback(self._on_task_done)

    async def catch_up(self, answer_seconds: float | None = None) -> None:
        """Wait until the handler has got every record published before this call.

        OutageError if the log does not answer within these seconds; the error that ended the task, if one did.
        """
        try:
            async with asyncio.timeout(answer_seconds):
                ends = await self._feed.end_offsets()
        except TimeoutError as error:
            raise OutageError(f"The log does not say how far {self._topic.name} goes.") from error
        await self.wait_for(ends)

    async def wait_for(self, next_offsets: Mapping[int, int]) -> None:
        """Wait until the handler has got every record before these offsets (by partition).

        FollowerClosedError if the follower is closed first, so that its end does not cancel who waits.
        """
        while any(self._applied_offsets[partition] < end for partition, end in next_offsets.items()):
            if self._task.cancelled():
                raise FollowerClosedError(f"Topic {self._topic.name} is not followed any more.")
            if self._task.done():
                await self._task
            self._progressed.clear()
            await self._progressed.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        # aclosing: a task cancelled inside the handler must still close the feed's connection.
        async with aclosing(self._feed.batches()) as batches:
            async for batch in batches:
                records = self._decode(batch.records)
                if records:
                    await self._handle(records)
                self._applied_offsets[batch.partition] = batch.next_offset
                self._progressed.set()

    def _decode(self, batch: Sequence[RawRecord]) -> list[Record[E]]:
        records = []
        for raw in batch:
            try:
                records.append(decode(self._topic, raw))
            except ErasedRecordError:
                continue
            except ValueError as error:
                # The stage that reads the topic sends it to the dead letter queue.
                place = f"{raw.topic}/{raw.partition}/{raw.offset}"
                log.warning("Skipped undecodable record %s: %s", place, error_message(error))
        return records

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Stopped following topic %s after an error", self._topic.name, exc_info=error)
        self._progressed.set()


@asynccontextmanager
async def follow_topic(
    feed: TopicFeed, topic: Topic[E], handle: RecordHandler[E], start: Mapping[int, int]
) -> AsyncIterator[TopicFollower[E]]:
    """Follow the topic until the end of the block; the feed begins at `start` (by partition; else at 0)."""
    follower = TopicFollower(feed, topic, handle, start)
    try:
        yield follower
    finally:
        await follower.close()
