"""Interface of the event bus. The embedded log and Kafka implement it and pass one contract suite."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from pipeline.bus.records import DeadLetter, ProducerRecord, RawRecord
from pipeline.bus.topic_follower import RecordHandler, TopicFollower
from pipeline.ports import ContentKeys, Position
from pipeline.stage import Stage
from schemas.topics import E, Topic

TopicPartition = tuple[str, int]
"""Topic name and partition number."""


class ErasableLog(Protocol):
    """The part of a log that erases single records: the embedded one removes them, sealed ones lose their key."""

    @property
    def removes_plain_records(self) -> bool:
        """True if records that are not sealed can be erased too."""

    def read_keys(
        self, topic: str, containing: bytes | None = None
    ) -> AsyncGenerator[tuple[TopicPartition, int, bytes], None]:
        """Read place, offset and key of each record; of small ones that contain these bytes, if given."""

    def read_records(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> AsyncGenerator[RawRecord, None]:
        """Read the records at these offsets, in order; those that are gone are left out."""

    async def ends(self, topics: Collection[str]) -> Mapping[TopicPartition, int]:
        """Return the offset of the next record of each partition of these topics."""

    def read_ranges(
        self, ranges: Mapping[TopicPartition, tuple[int, int]]
    ) -> AsyncGenerator[tuple[TopicPartition, Sequence[RawRecord], int], None]:
        """Read partitions from an offset to another in batches, each with the offset up to which it reads."""

    async def erase(self, topic_partition: TopicPartition, offsets: Collection[int]) -> set[int]:
        """Erase records; return the offsets of those that stay, as a group has yet to read them.

        Offsets are never reused.
        """

    async def count_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        """Count the keys of these records, given by their headers, that were not destroyed yet."""

    async def destroy_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        """Destroy the keys of sealed records, given by their headers; return how many. For good on return."""

    async def shrink(self) -> None:
        """Give the space of erased records back, and empty SQLite's write-ahead log: their bytes are gone on return."""


class Bus(Protocol):
    """Publisher of events, runner of stages, store of dead letters. Methods on bytes take topic names."""

    @property
    def partitions(self) -> int:
        """Number of partitions of a topic that is not `single_partition`."""

    @property
    def description(self) -> str:
        """Kind and location of the bus, for the operator."""

    @property
    def erasable(self) -> ErasableLog | None:
        """Eraser of single records; None if there is none: on Kafka without sealing."""

    @property
    def content_keys(self) -> ContentKeys | None:
        """Keys for contents that are stored elsewhere, as blobs; None if nothing was ever sealed."""

    @property
    def health_issue(self) -> str | None:
        """Reason why nothing can be published now, for the operator; None if no problem is known."""

    @property
    def disk_bytes(self) -> int | None:
        """Bytes on this machine's disk; None if the log is elsewhere. Reads the disk: call it in a thread."""

    def partition_of(self, key: str, partitions: int) -> int:
        """Return the partition of records with this key in a topic with so many partitions."""

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append (key, event) pairs in order; durable on return. OutageError if the log can't be written."""

    async def append(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        """Append raw records in order; durable on return. OutageError if the log can't be written."""

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        """Run the stages until cancelled; with `until_idle`, until every stage has consumed every record."""

    async def drain(self) -> None:
        """Start no more batches and wait until those in progress are committed. Cancel `run` afterwards."""

    async def apply_optimistically(self, stages: Sequence[Stage[Any]]) -> None:
        """Pass each stage, in order, its unhandled records by `Stage.apply_optimistically`. Before `run`."""

    def follow(
        self, topic: Topic[E], handle: RecordHandler[E], start: Mapping[int, int] | None = None
    ) -> AbstractAsyncContextManager[TopicFollower[E]]:
        """Pass the records of the topic, from its start and as published later, to `handle`.

        `start`: the first offset of each partition that does not begin at its start. Follows without a
        consumer group, so every process gets every record. Undecodable records are skipped.
        """

    async def wait_until_consumed(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Wait until the group has handled or dead-lettered the record at this offset."""

    async def positions(self, group: str, topic: str) -> Mapping[int, int]:
        """Return the offset of the first unhandled record of each partition where the group has a position."""

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> Mapping[str, Mapping[tuple[str, int], int]]:
        """Count unconsumed records per group and (topic, partition); 0 if up to date.

        Covers groups with positions and those of `stages`; without a position, a group lags by every record.
        """

    async def end_offsets(self, topic: str) -> Mapping[int, int]:
        """Return the offset of the next record of each partition."""

    async def depth(self, topic: str) -> int:
        """Count the records of the topic; of a `.dlq` topic, those not redriven or dropped."""

    async def rewind(self, group: str, topic: str) -> None:
        """Move the group back to the start of the topic. Durable on return."""

    async def copy_offsets(self, group: str, topic: str, source_group: str) -> None:
        """Set the position of an idle group to that of another. Durable on return; ValueError if it runs."""

    async def delete_group(self, group: str) -> None:
        """Delete the positions of an idle group; retention no longer waits for it. ValueError if it runs."""

    def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        """Read the records present at the call, by partition, with offsets in [start, end)."""

    async def read_record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        """Return the record at this offset of the key's partition; None if there is none (any more)."""

    def records_since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        """Read the key's partition from the first record written at `moment` or later."""

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        """List dead letters of a topic (its name without `.dlq`) or of all; oldest first per topic."""

    async def redrive(self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None) -> int:
        """Send dead letters (those with these ids, if given) back to their topic; return their number.

        A redriven record keeps its original position, so stages treat it as a late redelivery.
        """

    async def drop_dead_letters(
        self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None
    ) -> int:
        """Discard dead letters (those with these ids, if given); return their number."""

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        """Apply retention and compaction; return the number of removed records (0 on Kafka)."""

    async def close(self) -> None:
        """Flush pending writes and release resources. Stop `run` first."""
