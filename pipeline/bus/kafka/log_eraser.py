"""Erasure of single records from topics: their keys are destroyed, and their ciphertext stays until it is dropped."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from time import monotonic

from aiokafka import TopicPartition

from pipeline.bus import port
from pipeline.bus.kafka.offsets import Offsets
from pipeline.bus.records import RawRecord
from pipeline.bus.sealing.sealed_records import key_label, key_labels
from pipeline.bus.sealing.sealer import Sealer

SMALL_VALUE_BYTES = 64 * 1024
"""A deletion is never larger."""
RECORDS_PER_LOOK = 512
"""Records whose keys are looked up together."""
MAX_GAP = 1000
"""Offsets that are read for nothing between two that are wanted, rather than asking the broker twice."""
POSITIONS_SECONDS = 0.1
"""Time for which the positions of groups are known: each partition of each topic asks for them."""
ReadPartition = Callable[[TopicPartition, int, int], AsyncGenerator[RawRecord, None]]
ReadRanges = Callable[
    [Mapping[TopicPartition, tuple[int, int]]], AsyncGenerator[tuple[TopicPartition, Sequence[RawRecord], int], None]
]


class KafkaLogEraser:
    """`ErasableLog` on topics. A record whose key was destroyed counts as gone."""

    removes_plain_records = False

    def __init__(
        self, read_partition: ReadPartition, read_ranges: ReadRanges, offsets: Offsets, sealer: Sealer
    ) -> None:
        self._read_partition = read_partition
        self._read_ranges = read_ranges
        self._offsets = offsets
        self._sealer = sealer
        self._positions: list[dict[TopicPartition, int]] = []
        self._asked_at = -POSITIONS_SECONDS

    async def read_keys(
        self, topic: str, containing: bytes | None = None
    ) -> AsyncGenerator[tuple[port.TopicPartition, int, bytes], None]:
        """Read as `ErasableLog.read_keys`; the broker sends the values too."""
        for partition, end in sorted((await self._offsets.end_offsets([topic])).items()):
            async with aclosing(self._remaining(self._read_partition(partition, 0, end))) as records:
                async for record in records:
                    if containing is None or _is_small_with(record.value, containing):
                        yield (topic, partition.partition), record.offset, record.key

    async def read_records(
        self, topic_partition: port.TopicPartition, offsets: Sequence[int]
    ) -> AsyncGenerator[RawRecord, None]:
        """Read as `ErasableLog.read_records`."""
        for first, last, wanted in _runs(offsets):
            records = self._read_partition(TopicPartition(*topic_partition), first, last + 1)
            async with aclosing(self._remaining(records)) as remaining:
                async for record in remaining:
                    if record.offset in wanted:
                        yield record

    async def ends(self, topics: Collection[str]) -> dict[port.TopicPartition, int]:
        """Return ends as `ErasableLog.ends`."""
        return {(place.topic, place.partition): end for place, end in (await self._offsets.end_offsets(topics)).items()}

    async def read_ranges(
        self, ranges: Mapping[port.TopicPartition, tuple[int, int]]
    ) -> AsyncGenerator[tuple[port.TopicPartition, Sequence[RawRecord], int], None]:
        """Read as `ErasableLog.read_ranges`."""
        wanted = {TopicPartition(*place): offsets for place, offsets in ranges.items()}
        async with aclosing(self._read_ranges(wanted)) as batches:
            async for place, records, position in batches:
                yield (place.topic, place.partition), records, position

    async def erase(self, topic_partition: port.TopicPartition, offsets: Collection[int]) -> set[int]:
        """Return the offsets that a group has yet to read, as what it makes of them is to be erased too."""
        partition = TopicPartition(*topic_partition)
        if monotonic() - self._asked_at > POSITIONS_SECONDS:
            groups = await self._offsets.groups()
            self._positions = [await self._offsets.committed_offsets(group) for group in groups]
            self._asked_at = monotonic()
        consumed = min((of_group[partition] for of_group in self._positions if partition in of_group), default=None)
        return set() if consumed is None else {offset for offset in offsets if offset >= consumed}

    async def count_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        """Count as `ErasableLog.count_keys`."""
        return await self._sealer.count(key_labels(records))

    async def destroy_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        """Destroy as `ErasableLog.destroy_keys`; without records too, what an interrupted erasure left."""
        return await self._sealer.destroy(key_labels(records))

    async def shrink(self) -> None:
        """Remove the keys of records that the broker has dropped; it gives space back itself."""
        await self._sealer.remove_expired()

    async def _remaining(self, records: AsyncGenerator[RawRecord, None]) -> AsyncGenerator[RawRecord, None]:
        """Pass on records, without those whose keys were destroyed."""
        async with aclosing(records) as read:
            part: list[RawRecord] = []
            async for record in read:
                part.append(record)
                if len(part) == RECORDS_PER_LOOK:
                    for remaining in await self._without_erased(part):
                        yield remaining
                    part = []
            for remaining in await self._without_erased(part):
                yield remaining

    async def _without_erased(self, records: Sequence[RawRecord]) -> list[RawRecord]:
        destroyed = await self._sealer.destroyed(key_labels(record.headers for record in records))
        return [record for record in records if key_label(record.headers) not in destroyed]


def _is_small_with(value: bytes, containing: bytes) -> bool:
    return len(value) <= SMALL_VALUE_BYTES and containing in value


def _runs(offsets: Sequence[int]) -> list[tuple[int, int, frozenset[int]]]:
    """Group offsets into ranges without large gaps: first, last, and which are wanted.

    >>> [(first, last) for first, last, _ in _runs([1, 5000, 7])]
    [(1, 7), (5000, 5000)]
    """
    runs: list[list[int]] = []
    for offset in sorted(offsets):
        if runs and offset - runs[-1][-1] <= MAX_GAP:
            runs[-1].append(offset)
        else:
            runs.append([offset])
    return [(run[0], run[-1], frozenset(run)) for run in runs]
