"""Dynamic dreaming where processes share tables: one of them at a time watches who has become quiet."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from pipeline.memory.dreamer import PATIENCE, HandOver, Sleep
from pipeline.ports import Catalog, Clock, Documents, Locks
from pipeline.rows import DocumentRow

LOOKS = 4
"""How often the table is looked at in a quiet time."""
LONGEST_PAUSE = 5.0
SHORTEST_PAUSE = 0.25
AGAIN = timedelta(minutes=10)
"""A document whose memories are still not there so long after it was handed over is handed over again."""
_LOCK = "dreaming"


class Watch:
    """What is due is handed to the log, so that it is formed wherever its namespace is worked on."""

    def __init__(
        self,
        *,
        documents: Documents,
        catalog: Catalog,
        clock: Clock,
        locks: Locks,
        quiet_seconds: float,
        hand_over: HandOver,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._locks = locks
        self._quiet = timedelta(seconds=quiet_seconds)
        self._pause = min(LONGEST_PAUSE, max(SHORTEST_PAUSE, quiet_seconds / LOOKS))
        self._hand_over = hand_over
        self._sleep = sleep
        self._handed: dict[tuple[str, int], datetime] = {}

    def note(self, space: str, document: str, seq: int) -> None:
        """Nothing to remember: the table says it, to whichever process watches."""

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
        rows = [row for row in await self._documents.unfinished() if _is_ready(row)]
        self._handed = {
            (row.key, row.content_seq): at
            for row in rows
            if (at := self._handed.get((row.key, row.content_seq))) is not None and now - at < AGAIN
        }
        due = due_of(self._by_owner(rows), now, self._quiet)
        fresh = [row for row in due if (row.key, row.content_seq) not in self._handed]
        for row in fresh:
            await self._hand_over(row)
            self._handed[row.key, row.content_seq] = now
        return len(fresh)

    def _by_owner(self, rows: Iterable[DocumentRow]) -> dict[str, list[DocumentRow]]:
        owned: defaultdict[str, list[DocumentRow]] = defaultdict(list)
        for row in rows:
            if (owner := self._catalog.owner(row.space)) is not None:
                owned[owner.name].append(row)
        return owned


def due_of(waiting: dict[str, list[DocumentRow]], now: datetime, quiet: timedelta) -> Sequence[DocumentRow]:
    """The documents of namespaces that were quiet for so long, or waited long enough; oldest first.

    A time in the future, by another machine's clock, counts as now.
    """
    due: list[DocumentRow] = []
    for rows in waiting.values():
        since = [min(row.updated_at, now) for row in rows]
        if now - max(since) >= quiet or now - min(since) >= PATIENCE * quiet:
            due += rows
    return sorted(due, key=lambda row: row.content_seq)


def _is_ready(row: DocumentRow) -> bool:
    """Its text is there; an `instant` one is formed by the stage that has it already."""
    return row.text_seq == row.content_seq and row.status != "failed" and row.dreaming_mode == "dynamic"
