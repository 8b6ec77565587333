"""Dynamic dreaming: a namespace's documents wait until nothing new came for a while."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from pipeline import tracing
from pipeline.errors import RetryableError
from pipeline.memory.former import Former, is_wanted
from pipeline.memory.writing import Work
from pipeline.ports import Catalog, Clock, Documents
from pipeline.rows import DocumentRow

log = logging.getLogger(__name__)

PATIENCE = 12
"""A namespace that is never quiet is formed after this many quiet times all the same."""
TOGETHER = 256
"""Documents whose texts are in memory at once."""

HandOver = Callable[[DocumentRow], Awaitable[None]]
"""Gives a document to the log, whose delivery policy judges what can't be formed."""
Sleep = Callable[[float], Awaitable[None]]


class Dreaming(Protocol):
    """Forms the memories of `dynamic` documents once their namespaces are quiet."""

    def note(self, space: str, document: str, seq: int) -> None:
        """A document has a text whose memories are to be formed when its namespace is quiet."""
        ...

    async def run(self) -> None:
        """For ever."""
        ...


@dataclass(slots=True)
class _Waiting:
    """The documents of a namespace that wait: key to the `seq` that was noted."""

    first: datetime
    last: datetime
    documents: dict[str, int] = field(default_factory=dict)
    requests: dict[tracing.Subject, str] = field(default_factory=dict)


class Dreamer:
    """`note` returns at once, `run` does the work. A restart loses nothing: the table knows what waits."""

    def __init__(
        self,
        *,
        former: Former,
        documents: Documents,
        catalog: Catalog,
        clock: Clock,
        quiet_seconds: float,
        hand_over: HandOver,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._former = former
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._quiet = timedelta(seconds=quiet_seconds)
        self._hand_over = hand_over
        self._sleep = sleep
        self._waiting: dict[str, _Waiting] = {}
        self._noted = asyncio.Event()

    def note(self, space: str, document: str, seq: int) -> None:
        """A document has a text whose memories are to be formed when its namespace is quiet."""
        owner = self._catalog.owner(space)
        if owner is None:
            return
        now = self._clock.now()
        waiting = self._waiting.setdefault(owner.name, _Waiting(now, now))
        waiting.last = now
        waiting.documents[document] = max(seq, waiting.documents.get(document, seq))
        if request := tracing.origin(document, seq):
            waiting.requests[document, seq] = request
        self._noted.set()

    async def run(self) -> None:
        """For ever: first what a former run left, then whatever becomes due."""
        await self._resume()
        while True:
            self._heed(self._clock.now())
            name = self._next()
            if name is None:
                self._noted.clear()
                await self._noted.wait()
                continue
            delay = (self._due(self._waiting[name]) - self._clock.now()).total_seconds()
            if delay > 0:
                # Nothing noted meanwhile can be due earlier, because every namespace waits equally long.
                await self._sleep(delay)
            else:
                await self._dream(name)

    async def _resume(self) -> None:
        for row in await self._documents.unfinished():
            if row.text_seq == row.current_seq:
                self.note(row.space, row.key, row.current_seq)

    def _next(self) -> str | None:
        return min(self._waiting, key=lambda name: self._due(self._waiting[name]), default=None)

    def _due(self, waiting: _Waiting) -> datetime:
        return min(waiting.last + self._quiet, waiting.first + PATIENCE * self._quiet)

    async def _dream(self, name: str) -> None:
        waiting = self._waiting.pop(name)
        noted = sorted(waiting.documents.items(), key=lambda item: item[1])
        try:
            with tracing.within(tracing.Origins(waiting.requests)):
                for begin in range(0, len(noted), TOGETHER):
                    await self._isolated(dict(noted[begin : begin + TOGETHER]))
        except RetryableError as error:
            log.warning("Forming the memories of %s again later: %s", name, error)
            await self._again(waiting.documents)

    async def _isolated(self, noted: dict[str, int]) -> None:
        """One document whose memories can't be formed keeps the others from nothing."""
        try:
            await self._form(noted)
        except RetryableError:
            raise
        except Exception:
            if len(noted) == 1:
                log.exception("The memories of %s can't be formed in a quiet moment.", *noted)
                for rows in (await self._documents.get(noted)).values():
                    await self._hand_over(rows[0])
                return
            for key, seq in noted.items():
                await self._isolated({key: seq})

    async def _form(self, noted: dict[str, int]) -> None:
        found = await self._documents.get(noted)
        rows = [rows[0] for rows in found.values() if is_wanted(rows, noted[rows[0].key])]
        early = [row for row in rows if row.text_seq < row.current_seq]
        await self._again(row.key for row in early)
        ready = sorted(
            (row for row in rows if row.text_seq == row.current_seq), key=lambda row: row.current_seq
        )
        await self._former.form([work(row) for row in ready])

    async def _again(self, documents: Iterable[str]) -> None:
        found = await self._documents.get(list(documents))
        for rows in found.values():
            for row in rows:
                self.note(row.space, row.key, row.current_seq)

    def _heed(self, now: datetime) -> None:
        """Where the clock was set back, what was noted in its future was noted now."""
        for waiting in self._waiting.values():
            waiting.last = min(waiting.last, now)
            waiting.first = min(waiting.first, now)


def work(row: DocumentRow) -> Work:
    """A document row as work, with the text it holds."""
    return Work(
        space=row.space,
        document=row.key,
        seq=row.text_seq,
        at=row.updated_at,
        text=row.text or "",
        date=row.date,
        group=row.group,
    )
