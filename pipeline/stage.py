"""A stage: what it reads, who it is, and what it does with a batch in partition order."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Record(Generic[E]):
    """An event with its place in the log."""

    topic: str
    partition: int
    offset: int
    key: str
    event: E
    at: datetime
    headers: Mapping[str, str]
    redriven: bool = False
    """A dead letter that an operator gave back: what was given up is to be taken up again."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[E]):
    """`handle` returning means that the batch's offsets may be committed; it must be idempotent.

    `give_up` is told of a record that is parked, and the reason for people, so that what the record is about
    does not seem to be under way for ever. `foresee` shows readers at the start what records that the stage
    has yet to handle do, as whoever published them had seen it. `generation`: whose tables it fills, where
    processes go over to other tables one by one.
    """

    name: str
    source: Topic[E]
    handle: Callable[[Sequence[Record[E]]], Awaitable[None]]
    batch: int = 64
    give_up: Callable[[Record[E], str], Awaitable[None]] | None = None
    foresee: Callable[[Sequence[Record[E]]], Awaitable[None]] | None = None
    generation: int = 0

    @property
    def group(self) -> str:
        """The consumer group on either bus: `recollect.<name>`, or `recollect.g<generation>.<name>`."""
        return group_of(self.name, self.generation)


def group_of(stage: str, generation: int) -> str:
    """The consumer group that fills a generation with a stage's work."""
    return f"recollect.g{generation}.{stage}" if generation else f"recollect.{stage}"


def knowing(stage: Stage[E], current: Callable[[], Awaitable[None]]) -> Stage[E]:
    """The stage, which waits before every batch until this process knows what went before it."""

    async def handle(batch: Sequence[Record[E]]) -> None:
        await current()
        await stage.handle(batch)

    return replace(stage, handle=handle)
