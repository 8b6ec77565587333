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
from pipeline.memory.schedule import Schedule
from pipeline.memory.writing import Work
from pipeline.ports import Catalog, Clock, Documents
from pipeline.rows import DocumentRow

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Namespaces that are dreamt about at a time: one whose memories take long holds up no other."""
TOGETHER = 256
"""Documents whose texts are in memory at once."""

HandOver = Callable[[DocumentRow], Awaitable[None]]
"""Gives a document to the log, whose delivery policy judges what can't be formed."""
Sleep = Callable[[float], Awaitable[None]]


class Dreaming(Protocol):
    """Forms the memories of `dynamic` documents once their namespaces are quiet, and of what had to wait."""

    def note(self, space: str, document: str, seq: int) -> None:
        """A document has a text whose memories are to be formed when its namespace is quiet."""
        ...

    def delay(self, space: str, document: str, seq: int, seconds: float) -> None:
        """The memories of a document can't be formed now: to be tried again after so long."""
        ...

    async def run(self) -> None:
        """For ever."""
        ...


@dataclass(slots=True)
class _Waiting:
    """The documents of a namespace that wait: key to the `seq` that was noted."""

    first: datetime
    last: datetime
    not_before: datetime | None = None
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
        schedule: Schedule,
        hand_over: HandOver,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._former = former
        self._documents = documents
        self._catalog = catalog
        self._clock = clock
        self._schedule = schedule
        self._hand_over = hand_over
        self._sleep = sleep
        self._waiting: dict[str, _Waiting] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._noted = asyncio.Event()

    def note(self, space: str, document: str, seq: int) -> None:
        """A document has a text whose memories are to be formed when its namespace is quiet."""
        self._note(space, document, seq, self._clock.now())

    def delay(self, space: str, document: str, seq: int, seconds: float) -> None:
        """As `Dreaming.delay`: nothing of its namespace is tried before, since it would wait too."""
        now = self._clock.now()
        # Others that come meanwhile do not put it off any more.
        waiting = self._note(space, document, seq, now - self._schedule.longest)
        if waiting is not None:
            waiting.not_before = now + timedelta(seconds=seconds)

    async def run(self) -> None:
        """For ever: first what a former run left, then whatever becomes due, some namespaces at a time."""
        await self._resume()
        async with asyncio.TaskGroup() as dreams:
            while True:
                await self._slots.acquire()
                waiting = await self._next_due()
                dreams.create_task(self._dream(*waiting)).add_done_callback(lambda _: self._slots.release())

    def _note(self, space: str, document: str, seq: int, at: datetime) -> _Waiting | None:
        owner = self._catalog.owner(space)
        if owner is None:
            return None
        waiting = self._waiting.setdefault(owner.name, _Waiting(at, at))
        waiting.first, waiting.last = min(waiting.first, at), max(waiting.last, at)
        waiting.documents[document] = max(seq, waiting.documents.get(document, seq))
        if request := tracing.origin(document, seq):
            waiting.requests[document, seq] = request
        self._noted.set()
        return waiting

    async def _resume(self) -> None:
        """What waited before the start waits from when it came, so a restart puts nothing off."""
        now = self._clock.now()
        for row in await self._documents.unfinished():
            if row.text_seq == row.current_seq:
                self._note(row.space, row.key, row.current_seq, min(row.updated_at, now))

    async def _next_due(self) -> tuple[str, _Waiting]:
        """The namespace that is due first, when it is; it waits no more then."""
        while True:
            self._heed(self._clock.now())
            self._noted.clear()
            name = self._next()
            if name is None:
                await self._noted.wait()
                continue
            delay = (self._due(self._waiting[name]) - self._clock.now()).total_seconds()
            if delay <= 0:
                return name, self._waiting.pop(name)
            await self._rest(delay)

    async def _rest(self, seconds: float) -> None:
        """Until then, or until something is noted, which may be due earlier than what was put off."""
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        noted = asyncio.ensure_future(self._noted.wait())
        try:
            await asyncio.wait([sleeping, noted], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            noted.cancel()

    def _next(self) -> str | None:
        return min(self._waiting, key=lambda name: self._due(self._waiting[name]), default=None)

    def _due(self, waiting: _Waiting) -> datetime:
        due = self._schedule.due(waiting.first, waiting.last)
        return due if waiting.not_before is None else max(due, waiting.not_before)

    async def _dream(self, name: str, waiting: _Waiting) -> None:
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
        for one in await self._former.form([work(row) for row in ready]):
            log.info("The memories of %s wait %.0f s.", one.work.document, one.seconds)
            self.delay(one.work.space, one.work.document, one.work.seq, one.seconds)

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
        supporting_context=row.supporting_context,
    )
