"""Monthly usage of API keys: each process counts its own, and the bus spreads the counts.

A grow-only counter (G-counter): a record that is read twice, late or out of order changes nothing.
"""

import asyncio
import logging
import operator
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final
from uuid import uuid4

from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from pipeline.ports import Clock, Publisher
from pipeline.stage import Record
from schemas.events import ApiUsageCounted
from schemas.topics import USAGE_COUNTED

PUBLISH_INTERVAL_SECONDS: Final = 1.0
"""Interval of publishing; a killed process loses what it counted since."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """Accepted documents and answered searches; bytes of what was added, tokens of what was answered."""

    documents: int = 0
    searches: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: "UsageCounts") -> "UsageCounts":
        return self._with(other, operator.add)

    def elementwise_max(self, other: "UsageCounts") -> "UsageCounts":
        return self._with(other, max)

    def minus(self, other: "UsageCounts") -> "UsageCounts":
        return self._with(other, operator.sub)

    def _with(self, other: "UsageCounts", combine: Callable[[int, int], int]) -> "UsageCounts":
        # Not by dataclasses.astuple, which copies: this runs at every request.
        return UsageCounts(
            combine(self.documents, other.documents),
            combine(self.searches, other.searches),
            combine(self.bytes, other.bytes),
            combine(self.tokens, other.tokens),
        )


def month_of(now: datetime) -> str:
    """Return the month in UTC, e.g. `2026-01`."""
    return now.astimezone(UTC).strftime("%Y-%m")


def seconds_left_in_month(now: datetime) -> int:
    """Return the seconds until the next month in UTC, rounded up.

    >>> seconds_left_in_month(datetime(2026, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC))
    1
    """
    at = now.astimezone(UTC)
    following = datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=UTC)
    return ceil((following - at).total_seconds())


class UsageCounter:
    """Counts of this process and of all others that it has read."""

    def __init__(self, replica_id: str | None = None) -> None:
        self._replica_id = replica_id or uuid4().hex
        self._counts_by_replica: dict[tuple[str, str, str], UsageCounts] = {}
        self._counts_by_key: defaultdict[str, dict[str, UsageCounts]] = defaultdict(dict)
        self._totals_by_month: dict[str, UsageCounts] = {}
        self._unpublished: set[tuple[str, str]] = set()

    def count(self, key: str, now: datetime, counts: UsageCounts) -> None:
        month = month_of(now)
        before = self._counts_by_replica.get((month, self._replica_id, key), UsageCounts())
        self._merge_counts(month, self._replica_id, key, before + counts)
        self._unpublished.add((month, key))

    def merge(self, event: ApiUsageCounted) -> None:
        """Merge the published counts of a process, also of this one."""
        counts = UsageCounts(event.documents, event.searches, event.bytes, event.tokens)
        self._merge_counts(event.month, event.instance, event.key, counts)

    def for_key(self, key: str, month: str) -> UsageCounts:
        return self._counts_by_key.get(month, {}).get(key, UsageCounts())

    def total(self, month: str) -> UsageCounts:
        return self._totals_by_month.get(month, UsageCounts())

    def by_key(self, month: str) -> Mapping[str, UsageCounts]:
        return dict(self._counts_by_key.get(month, {}))

    def drain_unpublished(self, now: datetime) -> list[ApiUsageCounted]:
        """Return the unpublished counts and clear them; `requeue` them if publishing fails."""
        events = []
        for month, key in sorted(self._unpublished):
            counts = self._counts_by_replica[month, self._replica_id, key]
            events.append(ApiUsageCounted(month=month, instance=self._replica_id, key=key, **asdict(counts), at=now))
        self._unpublished.clear()
        return events

    def requeue(self, events: Sequence[ApiUsageCounted]) -> None:
        """Mark counts as unpublished after a failed publish."""
        self._unpublished.update((event.month, event.key) for event in events)

    def _merge_counts(self, month: str, replica_id: str, key: str, counts: UsageCounts) -> None:
        before = self._counts_by_replica.get((month, replica_id, key), UsageCounts())
        after = before.elementwise_max(counts)
        more = after.minus(before)
        self._counts_by_replica[month, replica_id, key] = after
        keys = self._counts_by_key[month]
        keys[key] = keys.get(key, UsageCounts()) + more
        self._totals_by_month[month] = self._totals_by_month.get(month, UsageCounts()) + more


@asynccontextmanager
async def replicate_usage(counter: UsageCounter, bus: Bus, clock: Clock) -> AsyncIterator[None]:
    """Exchange counts with the other processes inside the block; earlier counts are known at its start."""

    async def handle(batch: Sequence[Record[ApiUsageCounted]]) -> None:
        for record in batch:
            counter.merge(record.event)

    async with bus.follow(USAGE_COUNTED, handle) as follower:
        await follower.catch_up()
        publishing = asyncio.create_task(_publish_periodically(counter, bus, clock), name="publish usage")
        try:
            yield
        finally:
            publishing.cancel()
            with suppress(asyncio.CancelledError):
                await publishing
            await publish_usage(counter, bus, clock)


async def publish_usage(counter: UsageCounter, publisher: Publisher, clock: Clock) -> None:
    """Publish the unpublished counts; if the log is unavailable, they stay for the next call."""
    events = counter.drain_unpublished(clock.now())
    if not events:
        return
    try:
        await publisher.publish(USAGE_COUNTED, [(_record_key(event), event) for event in events])
    except RetryableError as error:
        counter.requeue(events)
        log.warning("Usage could not be published yet and is kept (API keys: %d): %s", len(events), error)
    except asyncio.CancelledError:
        counter.requeue(events)
        raise


async def _publish_periodically(counter: UsageCounter, bus: Bus, clock: Clock) -> None:
    while True:
        await asyncio.sleep(PUBLISH_INTERVAL_SECONDS)
        await publish_usage(counter, bus, clock)


def _record_key(event: ApiUsageCounted) -> str:
    return f"{event.month}/{event.instance}/{event.key}"
