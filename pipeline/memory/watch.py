"""Dynamic dreaming where processes share tables: one of them at a time watches who has become quiet."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.memory.dreamer import HandOver, Sleep
from pipeline.memory.schedule import Schedule
from pipeline.ports import Catalog, Clock, Documents, Locks
from pipeline.rows import DocumentRow

LOOKS = 4
"""How often the table is looked at in a quiet time."""
LONGEST_PAUSE = 5.0
SHORTEST_PAUSE = 0.25
AGAIN = timedelta(minutes=10)
"""A document whose memories are still not there so long after it was handed over is handed over again."""
SOON = timedelta(seconds=5)
"""One that could not be formed, its row says why, is handed over again after so long, then twice as long…"""
_LOCK = "dreaming"


@dataclass(frozen=True, slots=True)
class _Handed:
    """A document was handed over, for the `times`-th time."""

    at: datetime
    times: int

    def rests(self, row: DocumentRow, now: datetime) -> bool:
        """Whether it is too early to hand it over again."""
        delayed = row.dreaming_error is not None
        return now - self.at < (min(AGAIN, SOON * 2 ** min(self.times - 1, 10)) if delayed else AGAIN)


class Watch:
    """What is due is handed to the log, so that it is formed wherever its namespace is worked on."""

    def __init__(
        self,
        *,
        documents: Documents,
        catalog: Catalog,
        clock: Clock,
        locks: Locks,
        schedule: Schedule,
        hand_over: HandOver,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._locks = locks
        self._schedule = schedule
        self._pause = min(LONGEST_PAUSE, max(SHORTEST_PAUSE, schedule.quiet.total_seconds() / LOOKS))
        self._hand_over = hand_over
        self._sleep = sleep
        self._handed: dict[tuple[str, int], _Handed] = {}

    def note(self, space: str, document: str, seq: int) -> None:
        """Nothing to remember: the table says it, to whichever process watches."""

    def delay(self, space: str, document: str, seq: int, seconds: float) -> None:
        """As `note`: the document's row says that it could not be formed."""

    async def run(self) -> None:
        """For ever; waits until it is this process's turn to watch."""
        async with self._locks.hold(_LOCK) as hold:
            while True:
                hold.check()
                await self.look()
                await self._sleep(self._pause)

    async def look(self) -> int:
        """Hand over what is due now; how many documents."""
        now = self._clock.now()
        rows = [row for row in await self._documents.unfinished() if _has_text(row)]
        self._handed = {
            (row.key, row.content_seq): handed
            for row in rows
            if (handed := self._handed.get((row.key, row.content_seq))) is not None
        }
        fresh = [row for row in self._due(rows, now) if not self._rests(row, now)]
        for row in fresh:
            await self._hand_over(row)
            before = self._handed.get((row.key, row.content_seq))
            self._handed[row.key, row.content_seq] = _Handed(now, 1 if before is None else before.times + 1)
        return len(fresh)

    def _due(self, rows: Sequence[DocumentRow], now: datetime) -> Sequence[DocumentRow]:
        """Those of quiet namespaces, and `instant` ones that were tried and could not be formed."""
        dynamic = [row for row in rows if row.dreaming_mode == "dynamic"]
        delayed = [row for row in rows if row.dreaming_mode != "dynamic" and row.dreaming_error is not None]
        due = [*due_of(self._by_owner(dynamic), now, self._schedule), *delayed]
        return sorted(due, key=lambda row: row.content_seq)

    def _rests(self, row: DocumentRow, now: datetime) -> bool:
        handed = self._handed.get((row.key, row.content_seq))
        return handed is not None and handed.rests(row, now)

    def _by_owner(self, rows: Iterable[DocumentRow]) -> dict[str, list[DocumentRow]]:
        owned: defaultdict[str, list[DocumentRow]] = defaultdict(list)
        for row in rows:
            if (owner := self._catalog.owner(row.space)) is not None:
                owned[owner.name].append(row)
        return owned


def due_of(waiting: dict[str, list[DocumentRow]], now: datetime, schedule: Schedule) -> Sequence[DocumentRow]:
    """The documents of namespaces that were quiet for so long, or waited long enough.

    A time in the future, by another machine's clock, counts as now.
    """
    due: list[DocumentRow] = []
    for rows in waiting.values():
        since = [min(row.updated_at, now) for row in rows]
        if schedule.due(min(since), max(since)) <= now:
            due += rows
    return due


def _has_text(row: DocumentRow) -> bool:
    """Its text is there; an `instant` one is formed by the stage that has it already."""
    return row.text_seq == row.content_seq and row.status != "failed"
