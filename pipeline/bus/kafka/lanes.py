"""One partition of one stage: its records in order, a batch at a time, each committed when it is handled."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from pipeline.errors import StageFaultError

log = logging.getLogger(__name__)

FULL = 2
"""A lane that holds so many batches asks for no more."""
RETRY_SECONDS = 1.0
Handle = Callable[[Sequence[ConsumerRecord]], Awaitable[None]]


class Consumer(Protocol):
    """What a lane asks of aiokafka's consumer."""

    async def commit(self, offsets: dict[TopicPartition, int]) -> None: ...

    async def committed(self, partition: TopicPartition) -> int | None: ...

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]: ...

    def assignment(self) -> set[TopicPartition]: ...

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...


class Lane:
    """Lives as long as this member owns the partition, through rebalances that leave it here."""

    def __init__(self, place: TopicPartition, consumer: Consumer, handle: Handle, batch: int) -> None:
        self.place = place
        self._consumer = consumer
        self._handle = handle
        self._batch = batch
        self.at: int | None = None
        """The first offset of the batch that is being handled, or was at last."""
        self._after: int | None = None
        self._waiting: deque[ConsumerRecord] = deque()
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._owned = asyncio.Event()
        self._owned.set()
        self._held = False
        self._handling: int | None = None
        self._rewinds = 0
        self._rebalances = 0

    def take(self, records: Sequence[ConsumerRecord]) -> None:
        """Records of this partition, in order; what is here already is left out."""
        if not self._owned.is_set():
            # They come again when the rebalance is over, together with those that were dropped.
            return
        fresh = [record for record in records if self._after is None or record.offset >= self._after]
        if not fresh:
            return
        self._waiting.extend(fresh)
        self._after = fresh[-1].offset + 1
        self._arrived.set()
        if len(self._waiting) >= FULL * self._batch:
            self._consumer.pause(self.place)
            self._held = True

    async def run(self) -> None:
        """Until cancelled. StageFaultError with everything before it committed; other errors as they come."""
        await self._introduce()
        while True:
            batch, rewinds = await self._next(), self._rewinds
            self._idle.clear()
            self.at = batch[0].offset
            end = self._handling = batch[-1].offset + 1
            try:
                await self._handle(batch)
            except StageFaultError as fault:
                await self._commit(fault.through + 1, rewinds)
                raise
            await self._commit(end, rewinds)
            self._handling = None
            self._idle.set()

    async def settle(self, seconds: float | None) -> None:
        """A rebalance or the end begins: forget what waits, and let the batch at hand end if it soon does."""
        self._drop()
        self._owned.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)

    def keep(self) -> None:
        """The rebalance left the partition here; it is read again from what is committed."""
        self._held = False
        self._rebalances += 1
        self._owned.set()

    def rewind(self) -> None:
        """What waits is of before, and what is being handled commits nothing."""
        self._rewinds += 1
        self._handling = None
        self._drop()

    def where(self) -> str:
        """For people."""
        return f"{self.place.topic}/{self.place.partition}"

    def _drop(self) -> None:
        self._waiting.clear()
        self._arrived.clear()
        self._after = self._handling

    async def _introduce(self) -> None:
        """Let the group have a position, so that its lag is known before its first record.

        Where a group without one begins, and not where the consumer is by now: nothing has been handled.
        """
        while True:
            try:
                if await self._consumer.committed(self.place) is None:
                    await self._consumer.commit(await self._consumer.beginning_offsets([self.place]))
            except KafkaError as error:
                log.info("%s has no position yet: %s", self.where(), error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _next(self) -> list[ConsumerRecord]:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        count = min(self._batch, len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        if self._held and len(self._waiting) < self._batch:
            self._held = False
            if self.place in self._consumer.assignment():
                self._consumer.resume(self.place)
        return batch

    async def _commit(self, offset: int, rewinds: int) -> None:
        while self._rewinds == rewinds:
            rebalances = self._rebalances
            try:
                await self._consumer.commit({self.place: offset})
            except (CommitFailedError, IllegalStateError) as error:
                # In the middle of a rebalance. If the partition stays here, it can be committed then; if
                # it goes, this lane ends, and its next owner handles the batch once more.
                log.info("%s waits for a rebalance: %s", self.where(), error)
                if rebalances == self._rebalances:
                    self._owned.clear()
                    self._idle.set()
                    await self._owned.wait()
                    self._idle.clear()
            except KafkaError as error:
                log.warning("%s can't be committed now: %s", self.where(), error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return
