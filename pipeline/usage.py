"""What API keys used in each month: every process counts by itself, and the bus tells them of each other.

Counters that only grow (a G-counter): a record that is read twice, late or out of order changes nothing.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from pipeline.ports import Clock, Publisher
from pipeline.stage import Record
from schemas.events import UsageCounted
from schemas.topics import USAGE_COUNTED

TELL_SECONDS: Final = 1.0
"""How often a process tells the others; one that is killed forgets what it counted since."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents taken and searches answered."""

    documents: int = 0
    searches: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.documents + other.documents, self.searches + other.searches)

    def grown(self, other: "Counts") -> "Counts":
        """The larger of each."""
        return Counts(max(self.documents, other.documents), max(self.searches, other.searches))

    def since(self, before: "Counts") -> "Counts":
        """How much more it is."""
        return Counts(self.documents - before.documents, self.searches - before.searches)


def month_of(now: datetime) -> str:
    """`2026-01`, in UTC."""
    return now.astimezone(UTC).strftime("%Y-%m")


class Usage:
    """Counts of this process (`counter`) and of all others that it was told of."""

    def __init__(self, counter: str | None = None) -> None:
        self._counter = counter or uuid4().hex
        self._parts: dict[tuple[str, str, str], Counts] = {}
        self._keys: defaultdict[str, dict[str, Counts]] = defaultdict(dict)
        self._months: dict[str, Counts] = {}
        self._untold: set[tuple[str, str]] = set()

    def count(self, key: str, now: datetime, counts: Counts) -> None:
        """Add to what a key used."""
        month = month_of(now)
        before = self._parts.get((month, self._counter, key), Counts())
        self._grow(month, self._counter, key, before + counts)
        self._untold.add((month, key))

    def take(self, event: UsageCounted) -> None:
        """What a process counted, this one's own words included."""
        self._grow(event.month, event.counter, event.key, Counts(event.documents, event.searches))

    def of_key(self, key: str, month: str) -> Counts:
        """What a key used in a month."""
        return self._keys.get(month, {}).get(key, Counts())

    def of_all(self, month: str) -> Counts:
        """What all keys used in a month."""
        return self._months.get(month, Counts())

    def by_key(self, month: str) -> Mapping[str, Counts]:
        """What each key used in a month."""
        return dict(self._keys.get(month, {}))

    def untold(self, now: datetime) -> list[UsageCounted]:
        """What the others have to be told, once; `tell_again` if it could not be said."""
        told = []
        for month, key in sorted(self._untold):
            counts = self._parts[month, self._counter, key]
            told.append(
                UsageCounted(
                    month=month,
                    counter=self._counter,
                    key=key,
                    documents=counts.documents,
                    searches=counts.searches,
                    at=now,
                )
            )
        self._untold.clear()
        return told

    def tell_again(self, events: Sequence[UsageCounted]) -> None:
        """They could not be published."""
        self._untold.update((event.month, event.key) for event in events)

    def _grow(self, month: str, counter: str, key: str, counts: Counts) -> None:
        before = self._parts.get((month, counter, key), Counts())
        after = before.grown(counts)
        more = after.since(before)
        self._parts[month, counter, key] = after
        keys = self._keys[month]
        keys[key] = keys.get(key, Counts()) + more
        self._months[month] = self._months.get(month, Counts()) + more


@asynccontextmanager
async def keeping(usage: Usage, bus: Bus, clock: Clock) -> AsyncIterator[None]:
    """Know what was counted before, and keep the others and this process informed until the block ends."""

    async def handle(batch: Sequence[Record[UsageCounted]]) -> None:
        for record in batch:
            usage.take(record.event)

    async with bus.follow(USAGE_COUNTED, handle) as follower:
        await follower.current()
        telling = asyncio.create_task(_tell(usage, bus, clock), name="tell usage")
        try:
            yield
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling
            await tell(usage, bus, clock)


async def tell(usage: Usage, publisher: Publisher, clock: Clock) -> None:
    """Publish what the others do not know yet; while the log is away it waits."""
    events = usage.untold(clock.now())
    if not events:
        return
    try:
        await publisher.publish(USAGE_COUNTED, [(_key(event), event) for event in events])
    except RetryableError as error:
        usage.tell_again(events)
        log.warning("What %d keys used can't be told now, and is told later: %s", len(events), error)
    except asyncio.CancelledError:
        usage.tell_again(events)
        raise


async def _tell(usage: Usage, bus: Bus, clock: Clock) -> None:
    while True:
        await asyncio.sleep(TELL_SECONDS)
        await tell(usage, bus, clock)


def _key(event: UsageCounted) -> str:
    return f"{event.month}/{event.counter}/{event.key}"
