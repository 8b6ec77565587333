"""What the service asks of a bus: the embedded log and Kafka both are one and pass one contract suite."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from pipeline.ports import Position
from pipeline.records import DeadLetter, Entry, RawRecord
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
Handle = Callable[[Sequence[Record[E]]], Awaitable[None]]
"""What a follower does with records of a partition, in order; a record may come again after a restart."""


class Follower(Protocol):
    """A topic that is being followed."""

    async def current(self) -> None:
        """Wait until all that was published before this call has been handed over."""
        ...


class Bus(Protocol):
    """Publisher, runner of stages and keeper of dead letters. A topic by name where bytes are meant."""

    @property
    def partitions(self) -> int:
        """Partitions of a topic that is not `single`."""
        ...

    @property
    def description(self) -> str:
        """What it is and where, for people."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why nothing can be published now, for people; None: it can, as far as is known."""
        ...

    @property
    def nbytes(self) -> int | None:
        """Bytes on this machine's disk; None: the log is elsewhere. May look at files: for a thread."""
        ...

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append (key, event) pairs in order; durable on return. OutageError when that can't be had."""
        ...

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        """Append raw bytes, as `publish` does."""
        ...

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        """Feed the stages until cancelled, or until every one has consumed all there is."""
        ...

    async def drain(self) -> None:
        """Hand no more to stages; returns when the batches under way are committed. Then cancel `run`."""
        ...

    async def foresee(self, stages: Sequence[Stage[Any]]) -> None:
        """Let these stages, in this order, show what they have yet to handle. Before `run`."""
        ...

    def follow(self, topic: Topic[E], handle: Handle[E]) -> AbstractAsyncContextManager[Follower]:
        """Hand over every record of the topic, from its start, and what is published later.

        Belongs to no group: each process that follows gets all of it. What can't be decoded is left out.
        """
        ...

    async def reached(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Wait until the group has handled (or parked) the record at this offset."""
        ...

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> Mapping[str, Mapping[tuple[str, int], int]]:
        """Records not yet consumed, per group and (topic, partition); 0 where it is up to date.

        Of groups that have positions, and of these stages' groups: one without lags by all there is.
        """
        ...

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Per partition of the topic, the offset that its next record will get."""
        ...

    async def depth(self, topic: str) -> int:
        """How many records the topic holds now; of a `.dlq` topic, how many were not given back."""
        ...

    async def rewind(self, group: str, topic: str) -> None:
        """Let the group read the topic again from its start. Durable on return."""
        ...

    async def adopt(self, group: str, topic: str, other: str) -> None:
        """Let a group that does not run begin where another one is now. Durable on return."""
        ...

    async def forget(self, group: str) -> None:
        """Drop the positions of a group that does not run and will not come back."""
        ...

    def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        """What there was when asked, partition by partition, each from offset `start` to before `end`."""
        ...

    async def record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        """The record at this offset of the key's partition; None where there is none, or none any more."""
        ...

    def since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        """The records of the key's partition from the first one written at that moment or later."""
        ...

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        """Parked records of a topic (its own name, not the `.dlq`), or of all; oldest first per topic."""
        ...

    async def redrive(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Give parked records back to their topic, those with these ids if any; how many there were."""
        ...

    async def drop(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Let go of parked records, those with these ids if any; how many there were."""
        ...

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        """Apply retention and compaction; how many records went. A broker does it by itself: 0."""
        ...

    async def close(self) -> None:
        """Write what waits and let go. Stop `run` first."""
        ...
