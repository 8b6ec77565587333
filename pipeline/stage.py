"""A stage of the pipeline: its source topic, its consumer group, and its batch handler."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic

from schemas.topics import E, Topic


@dataclass(frozen=True, slots=True)
class Record(Generic[E]):
    topic: str
    partition: int
    offset: int
    key: str
    event: E
    timestamp: datetime
    headers: Mapping[str, str]
    redriven: bool = False
    """True for a redriven dead letter: reset what was marked failed, and retry."""
    log_offset: int = -1
    """Offset of the record itself; of a redriven one, `offset` is that of the original. -1: it is in no log."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[E]):
    """A consumer of one topic.

    `handle` gets batches in partition order. When it returns, the batch's offsets may be committed, so its
    effects must be durable by then, and it must be idempotent. `on_dead_letter` gets a record that goes to the
    dead letter queue and a reason for users, so that a document does not stay in progress for ever.
    `apply_optimistically` applies unhandled records to what readers see at start-up, before the stage handles
    them. `generation` is the set of tables that the stage fills (0: the only one).
    """

    name: str
    source: Topic[E]
    handle: Callable[[Sequence[Record[E]]], Awaitable[None]]
    batch_size: int = 64
    on_dead_letter: Callable[[Record[E], str], Awaitable[None]] | None = None
    apply_optimistically: Callable[[Sequence[Record[E]]], Awaitable[None]] | None = None
    generation: int = 0

    @property
    def group(self) -> str:
        """Consumer group on either bus: `recollect.<name>`, or `recollect.g<generation>.<name>`."""
        return consumer_group(self.name, self.generation)


def consumer_group(stage: str, generation: int) -> str:
    return f"recollect.g{generation}.{stage}" if generation else f"recollect.{stage}"


def with_settings_barrier(stage: Stage[E], catch_up: Callable[[], Awaitable[None]]) -> Stage[E]:
    """Return the stage with a call of `catch_up` before every batch, so that it sees current settings."""

    async def handle(batch: Sequence[Record[E]]) -> None:
        await catch_up()
        await stage.handle(batch)

    return replace(stage, handle=handle)
