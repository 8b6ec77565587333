"""Worker of one partition of a stage: handles batches in order and commits each one."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from pipeline.errors import StageFaultError

log = logging.getLogger(__name__)

MAX_QUEUED_BATCHES = 2
"""Number of queued batches at which the partition is paused."""
RETRY_SECONDS = 1.0
BatchHandler = Callable[[Sequence[ConsumerRecord]], Awaitable[None]]


class PartitionWorker:
    """Queue and handling loop of a partition, for as long as this member owns it."""

    def __init__(
        self, topic_partition: TopicPartition, consumer: AIOKafkaConsumer, handle: BatchHandler, batch_size: int
    ) -> None:
        self.topic_partition = topic_partition
        self._consumer = consumer
        self._handle = handle
        self._batch_size = batch_size
        self.batch_start: int | None = None
        """First offset of the current or last batch."""
        self._next_offset: int | None = None
        self._queue: deque[ConsumerRecord] = deque()
        self._records_available = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._owned = asyncio.Event()
        self._owned.set()
        self._paused = False
        self._batch_end: int | None = None
        self._rewinds = 0
        self._rebalances = 0

    def enqueue(self, records: Sequence[ConsumerRecord]) -> None:
        """Queue records of the partition, given in order; those queued before are skipped."""
        if not self._owned.is_set():
            # They are fetched again after the rebalance, together with the dropped ones.
            return
        fresh = [record for record in records if self._next_offset is None or record.offset >= self._next_offset]
        if not fresh:
            return
        self._queue.extend(fresh)
        self._next_offset = fresh[-1].offset + 1
        self._records_available.set()
        if len(self._queue) >= MAX_QUEUED_BATCHES * self._batch_size:
            self._consumer.pause(self.topic_partition)
            self._paused = True

    async def run(self) -> None:
        """Handle batches until cancelled. Before a StageFaultError, everything handled is committed."""
        await self._commit_initial_position()
        while True:
            batch, rewinds = await self._next_batch(), self._rewinds
            self._idle.clear()
            self.batch_start = batch[0].offset
            end = self._batch_end = batch[-1].offset + 1
            try:
                await self._handle(batch)
            except StageFaultError as fault:
                await self._commit(fault.through_offset + 1, rewinds)
                raise
            await self._commit(end, rewinds)
            self._batch_end = None
            self._idle.set()

    async def drain(self, timeout: float | None) -> None:
        """Drop queued records and wait up to `timeout` seconds for the current batch."""
        self._clear_queue()
        self._owned.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), timeout)

    def resume_after_rebalance(self) -> None:
        """Resume after a rebalance that kept the partition; it is read from the committed offset."""
        self._paused = False
        self._rebalances += 1
        self._owned.set()

    def rewind(self) -> None:
        """Drop queued records; the current batch will not be committed."""
        self._rewinds += 1
        self._batch_end = None
        self._clear_queue()

    @property
    def is_paused(self) -> bool:
        """True while the partition is not fetched, because enough of it waits here."""
        return self._paused

    def description(self) -> str:
        """Return topic and partition for messages."""
        return f"{self.topic_partition.topic}/{self.topic_partition.partition}"

    def _clear_queue(self) -> None:
        self._queue.clear()
        self._records_available.clear()
        self._next_offset = self._batch_end

    async def _commit_initial_position(self) -> None:
        """Commit the beginning offset if the group has no position, so that its lag is known at once."""
        while True:
            try:
                if await self._consumer.committed(self.topic_partition) is None:
                    await self._commit_offsets(await self._consumer.beginning_offsets([self.topic_partition]))
            except KafkaError as error:
                log.info(
                    "The initial position of %s could not be committed and will be retried: %s",
                    self.description(),
                    error,
                )
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _next_batch(self) -> list[ConsumerRecord]:
        while not self._queue:
            self._records_available.clear()
            await self._records_available.wait()
        count = min(self._batch_size, len(self._queue))
        batch = [self._queue.popleft() for _ in range(count)]
        if self._paused and len(self._queue) < self._batch_size:
            self._paused = False
            if self.topic_partition in self._consumer.assignment():
                self._consumer.resume(self.topic_partition)
        return batch

    async def _commit_offsets(self, offsets: dict[TopicPartition, int]) -> None:
        """Commit, also to the end if this worker is cancelled: otherwise nobody would receive the commit's error."""
        committing = asyncio.create_task(self._consumer.commit(offsets))
        committing.add_done_callback(_receive_error)
        await asyncio.shield(committing)

    async def _commit(self, offset: int, rewinds: int) -> None:
        while self._rewinds == rewinds:
            rebalances = self._rebalances
            try:
                await self._commit_offsets({self.topic_partition: offset})
            except (CommitFailedError, IllegalStateError) as error:
                # During a rebalance. If the partition stays here, commit afterwards; if it goes, this worker
                # is cancelled and the next owner handles the batch again.
                log.info("The commit of %s waits for a rebalance: %s", self.description(), error)
                if rebalances == self._rebalances:
                    self._owned.clear()
                    self._idle.set()
                    await self._owned.wait()
                    self._idle.clear()
            except KafkaError as error:
                log.warning("The commit of %s failed and will be retried: %s", self.description(), error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return


def _receive_error(committing: "asyncio.Task[None]") -> None:
    if not committing.cancelled():
        committing.exception()
