"""Consumers of the embedded log: positions, and one task per stage and partition."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline.bus.delivery import Delivery
from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord
from pipeline.bus.sqlite.log_database import GroupPartition
from pipeline.bus.stage_consumers import cancel_and_wait, consumer_failure, reject_duplicate_groups
from pipeline.errors import StageFaultError
from pipeline.stage import Stage

FetchRecords = Callable[[TopicPartition, int, int], Awaitable[list[RawRecord]]]


class ConsumerPositions:
    """End offsets of partitions and positions of groups, with waiters for both. For the event loop only."""

    def __init__(
        self,
        end_offsets: dict[TopicPartition, int],
        offsets: dict[GroupPartition, int],
        save: Callable[[GroupPartition, int], None],
    ) -> None:
        self._end_offsets = end_offsets
        self.offsets = offsets
        self.rewind_counts: Counter[GroupPartition] = Counter()
        self._save = save
        self._appended: defaultdict[TopicPartition, asyncio.Event] = defaultdict(asyncio.Event)
        self._any_appended = asyncio.Event()
        self._position_changed = asyncio.Event()
        self._waiters: defaultdict[GroupPartition, list[tuple[int, asyncio.Future[None]]]] = defaultdict(list)

    def end_offset(self, topic_partition: TopicPartition) -> int:
        """Return the offset of the partition's next record."""
        return self._end_offsets.get(topic_partition, 0)

    def on_append(self, end_offsets: Mapping[TopicPartition, int]) -> None:
        """Set the end offsets after a commit and wake the waiters."""
        self._end_offsets.update(end_offsets)
        self._any_appended.set()
        for topic_partition in end_offsets:
            self._appended[topic_partition].set()

    def set_position(self, group_partition: GroupPartition, offset: int) -> None:
        """Set a position, forwards or backwards, and queue it to be saved."""
        self.offsets[group_partition] = offset
        self._save(group_partition, offset)
        self._position_changed.set()
        self._appended[group_partition[1:]].set()
        waiting = self._waiters.pop(group_partition, [])
        for awaited, future in waiting:
            if awaited < offset and not future.done():
                future.set_result(None)
        if pending := [waiter for waiter in waiting if not waiter[1].done()]:
            self._waiters[group_partition] = pending

    def rewind(self, group_partition: GroupPartition) -> None:
        """Set the position to the start; a batch in progress will not advance it."""
        self.rewind_counts[group_partition] += 1
        self.set_position(group_partition, 0)

    def delete_group(self, group: str) -> None:
        for key in [key for key in self.offsets if key[0] == group]:
            del self.offsets[key]

    async def wait_for_records(self, group_partition: GroupPartition) -> int:
        topic_partition = group_partition[1:]
        while self.offsets[group_partition] >= self.end_offset(topic_partition):
            self._appended[topic_partition].clear()
            await self._appended[topic_partition].wait()
        return self.offsets[group_partition]

    async def wait_for_append(self, next_offsets: Mapping[TopicPartition, int]) -> None:
        """Wait until any of these partitions has a record at or after its offset."""
        while all(self.end_offset(topic_partition) <= offset for topic_partition, offset in next_offsets.items()):
            self._any_appended.clear()
            await self._any_appended.wait()

    async def wait_until_consumed(self, group_partition: GroupPartition, offset: int) -> None:
        if self.offsets.get(group_partition, 0) <= offset:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters[group_partition].append((offset, future))
            await future

    async def wait_until_idle(self, group_partitions: Sequence[GroupPartition]) -> None:
        """Wait until all these positions have reached their end offsets at the same moment."""
        while any(self.offsets[key] < self.end_offset(key[1:]) for key in group_partitions):
            self._position_changed.clear()
            await self._position_changed.wait()

    def min_position(self, topic_partition: TopicPartition) -> int:
        """Return the lowest position of any group, else the end: records below it may be removed."""
        positions = [offset for key, offset in self.offsets.items() if key[1:] == topic_partition]
        return min(positions, default=self.end_offset(topic_partition))


class StageConsumers:
    """Runs stages: records in partition order, position advanced after each batch."""

    def __init__(self, positions: ConsumerPositions, delivery: Delivery, fetch: FetchRecords, partitions: int) -> None:
        self._positions = positions
        self._delivery = delivery
        self._fetch = fetch
        self._partitions = partitions
        self._running_groups: set[str] = set()
        self._accepting = asyncio.Event()
        self._accepting.set()
        self._busy_partitions: set[GroupPartition] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        groups = [stage.group for stage in stages]
        reject_duplicate_groups(groups, self._running_groups)
        self._running_groups.update(groups)
        try:
            await self._run_consumers(stages, until_idle=until_idle)
        finally:
            self._running_groups.difference_update(groups)

    async def drain(self) -> None:
        """Start no more batches and wait until the positions after those in progress are set."""
        self._accepting.clear()
        await self._idle.wait()

    def delete_group(self, group: str) -> None:
        """Delete the positions of a group that does not run."""
        self.ensure_not_running(group)
        self._positions.delete_group(group)

    def ensure_not_running(self, group: str) -> None:
        """Raise ValueError if the group runs."""
        if group in self._running_groups:
            raise ValueError(f"group {group} is running; stop it first")

    async def _run_consumers(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        assignment = self._assign_partitions(stages)
        tasks = {
            asyncio.create_task(self._consume(stage, key), name=f"{stage.name} {key[1]}/{key[2]}"): key
            for key, stage in assignment.items()
        }
        idle = asyncio.create_task(self._positions.wait_until_idle(list(assignment)) if until_idle else _wait_forever())
        try:
            done, _ = await asyncio.wait([*tasks, idle], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait([*tasks, idle])
        for task in done - {idle}:
            raise consumer_failure(task, self._positions.offsets[tasks[task]])

    def _assign_partitions(self, stages: Sequence[Stage[Any]]) -> dict[GroupPartition, Stage[Any]]:
        assignment: dict[GroupPartition, Stage[Any]] = {}
        for stage in stages:
            for partition in range(self._partitions):
                key = (stage.group, stage.source.name, partition)
                assignment[key] = stage
                if key not in self._positions.offsets:
                    # A saved position makes retention wait for the group.
                    self._positions.set_position(key, 0)
        return assignment

    async def _consume(self, stage: Stage[Any], group_partition: GroupPartition) -> None:
        while True:
            start = await self._positions.wait_for_records(group_partition)
            await self._accepting.wait()
            with self._mark_busy(group_partition):
                await self._process_batch(stage, group_partition, start)

    @contextmanager
    def _mark_busy(self, group_partition: GroupPartition) -> Iterator[None]:
        self._busy_partitions.add(group_partition)
        self._idle.clear()
        try:
            yield
        finally:
            self._busy_partitions.discard(group_partition)
            if not self._busy_partitions:
                self._idle.set()

    async def _process_batch(self, stage: Stage[Any], group_partition: GroupPartition, start: int) -> None:
        """Deliver one batch from this offset and advance the position."""
        topic_partition = group_partition[1:]
        end, rewinds = (self._positions.end_offset(topic_partition), self._positions.rewind_counts[group_partition])
        batch = await self._fetch(topic_partition, start, stage.batch_size)
        if batch:
            end = batch[-1].offset + 1
            try:
                await self._delivery.deliver(stage, batch)
            except StageFaultError as fault:
                self._advance(group_partition, fault.through_offset + 1, rewinds)
                raise
        self._advance(group_partition, end, rewinds)

    def _advance(self, group_partition: GroupPartition, end: int, rewinds: int) -> None:
        # A batch that was read before a rewind must not advance the position.
        if self._positions.rewind_counts[group_partition] == rewinds:
            self._positions.set_position(group_partition, end)


async def _wait_forever() -> None:
    await asyncio.get_running_loop().create_future()
