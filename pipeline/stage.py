"""A stage: what it reads, who it is, and what it does with a batch in partition order."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Stage(Generic[E]):
    """`handle` returning means that the batch's offsets may be committed; it must be idempotent.

    The consumer group is `recollect.<name>`.
    """

    name: str
    source: Topic[E]
    handle: Callable[[Sequence[Record[E]]], Awaitable[None]]
    batch: int = 64

    @property
    def group(self) -> str:
        """The consumer group on either bus."""
        return f"recollect.{self.name}"
