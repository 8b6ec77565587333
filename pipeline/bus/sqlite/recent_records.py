"""The newest records of partitions, as they were committed: a stage or follower that keeps up does not read the log."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord

_MAX_RECORDS = 128
_MAX_BYTES = 256 * 1024
"""Values kept of a partition; whoever is further behind reads the log."""


class RecentRecords:
    """Records of each partition without a gap, up to its end. For the event loop only."""

    def __init__(self) -> None:
        self._records: defaultdict[TopicPartition, list[RawRecord]] = defaultdict(list)

    def push(self, records: Iterable[RawRecord]) -> None:
        """Add records that were committed, in order."""
        changed = set()
        for record in records:
            self._records[record.topic, record.partition].append(record)
            changed.add((record.topic, record.partition))
        for place in changed:
            del self._records[place][:-_MAX_RECORDS]
            if sum(len(record.value) for record in self._records[place]) > _MAX_BYTES:
                self._records[place].clear()

    def forget(self, places: Collection[TopicPartition]) -> None:
        """Drop the records of partitions of which some were removed from the log."""
        for place in places:
            self._records.pop(place, None)

    def since(self, place: TopicPartition, start: int, limit: int) -> list[RawRecord]:
        """Up to `limit` records from offset `start` on; none where the log has to be read."""
        recent = self._records[place]
        at = start - recent[0].offset if recent else -1
        return recent[at : at + limit] if at >= 0 else []
