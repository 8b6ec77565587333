"""Feeding stages from a log: who has read how far, and one task per stage and partition."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline.bus.following import Batch
from pipeline.bus.journal import Seat, Stream
from pipeline.delivery import Delivery
from pipeline.errors import StageFaultError
from pipeline.records import RawRecord
from pipeline.stage import Stage

BATCH = 512
"""Records that a follower is given at a time, at most."""
Fetch = Callable[[Stream, int, int], Awaitable[list[RawRecord]]]


class Places:
    """Heads of streams and positions of groups, and whoever waits for them to move. Lives on the loop."""

    def __init__(
        self, heads: dict[Stream, int], positions: dict[Seat, int], save: Callable[[Seat, int], None]
    ) -> None:
        self._heads = heads
        self.positions = positions
        self.rewinds: Counter[Seat] = Counter()
        self._save = save
        self._arrivals: defaultdict[Stream, asyncio.Event] = defaultdict(asyncio.Event)
        self._grown = asyncio.Event()
        self._moved = asyncio.Event()
        self._waiting: defaultdict[Seat, list[tuple[int, asyncio.Future[None]]]] = defaultdict(list)

    def head(self, stream: Stream) -> int:
        """The offset that the next record of the stream will get."""
        return self._heads.get(stream, 0)

    def arrived(self, heads: Mapping[Stream, int]) -> None:
        """New records are in the log."""
        self._heads.update(heads)
        self._grown.set()
        for stream in heads:
            self._arrivals[stream].set()

    def place(self, seat: Seat, offset: int) -> None:
        """Set a position, forwards or backwards, and let it be saved."""
        self.positions[seat] = offset
        self._save(seat, offset)
        self._moved.set()
        self._arrivals[seat[1:]].set()
        waiting = self._waiting.pop(seat, [])
        for wanted, future in waiting:
            if wanted < offset and not future.done():
                future.set_result(None)
        if left := [(wanted, future) for wanted, future in waiting if not future.done()]:
            self._waiting[seat] = left

    def rewind(self, seat: Seat) -> None:
        """Back to the start, whatever batch is being handled now."""
        self.rewinds[seat] += 1
        self.place(seat, 0)

    def forget(self, group: str) -> None:
        for seat in [seat for seat in self.positions if seat[0] == group]:
            del self.positions[seat]

    async def beyond(self, seat: Seat) -> int:
        """Wait until there are records after the group's position; that position."""
        stream = seat[1:]
        while self.positions[seat] >= self.head(stream):
            self._arrivals[stream].clear()
            await self._arrivals[stream].wait()
        return self.positions[seat]

    async def grown(self, read: Mapping[Stream, int]) -> None:
        """Wait until any of these streams has a record at or after its offset."""
        while all(self.head(stream) <= offset for stream, offset in read.items()):
            self._grown.clear()
            await self._grown.wait()

    async def reached(self, seat: Seat, offset: int) -> None:
        if self.positions.get(seat, 0) <= offset:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[seat].append((offset, future))
            await future

    async def level(self, seats: Sequence[Seat]) -> None:
        """Wait until all these positions stand at their heads at the same moment."""
        while any(self.positions[seat] < self.head(seat[1:]) for seat in seats):
            self._moved.clear()
            await self._moved.wait()

    def lowest(self, stream: Stream) -> int:
        """What no known group still has to read ends here; the head when there is no group."""
        read = [offset for seat, offset in self.positions.items() if seat[1:] == stream]
        return min(read, default=self.head(stream))


class LogFeed:
    """A topic of the embedded log for a follower. `batches` may be iterated once."""

    def __init__(self, places: Places, fetch: Fetch, topic: str, partitions: int) -> None:
        self._places = places
        self._fetch = fetch
        self._read: dict[Stream, int] = {(topic, partition): 0 for partition in range(partitions)}

    async def ends(self) -> dict[int, int]:
        return {stream[1]: self._places.head(stream) for stream in self._read}

    async def batches(self) -> AsyncGenerator[Batch, None]:
        while True:
            for stream in self._read:
                while (end := self._places.head(stream)) > self._read[stream]:
                    records = await self._fetch(stream, self._read[stream], BATCH)
                    self._read[stream] = records[-1].offset + 1 if records else end
                    yield Batch(stream[1], records, self._read[stream])
            await self._places.grown(self._read)


class Consumers:
    """Runs stages on a log: records in partition order, position moved on after each batch."""

    def __init__(self, places: Places, delivery: Delivery, fetch: Fetch, partitions: int) -> None:
        self._places = places
        self._delivery = delivery
        self._fetch = fetch
        self._partitions = partitions
        self._running: set[str] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._busy: set[Seat] = set()
        self._rest = asyncio.Event()
        self._rest.set()

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        groups = [stage.group for stage in stages]
        self._claim(groups)
        try:
            await self._feed(stages, until_idle=until_idle)
        finally:
            self._running.difference_update(groups)

    async def drain(self) -> None:
        """Hand out no more; returns when the positions after what is under way are set."""
        self._open.clear()
        await self._rest.wait()

    def forget(self, group: str) -> None:
        """Drop the positions of a group that does not run."""
        self.refuse(group)
        self._places.forget(group)

    def refuse(self, group: str) -> None:
        """ValueError where the group runs."""
        if group in self._running:
            raise ValueError(f"group {group} is running; stop it first")

    def _claim(self, groups: Sequence[str]) -> None:
        twice = sorted(group for group in set(groups) if group in self._running or groups.count(group) > 1)
        if twice:
            raise ValueError(f"each stage runs once per log, these run already or twice: {', '.join(twice)}")
        self._running.update(groups)

    async def _feed(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        seats = self._seats(stages)
        tasks = {
            asyncio.create_task(self._consume(stage, seat), name=f"{stage.name} {seat[1]}/{seat[2]}"): seat
            for seat, stage in seats.items()
        }
        idle = asyncio.create_task(self._places.level(list(seats)) if until_idle else _forever())
        try:
            done, _ = await asyncio.wait([*tasks, idle], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel([*tasks, idle])
        for task in done - {idle}:
            raise self._fault(task, tasks[task])

    def _fault(self, task: asyncio.Task[None], seat: Seat) -> BaseException:
        """Why a consumer, which never ends by itself, has ended."""
        where = f"in stage {task.get_name()}, at offset {self._places.positions[seat]}"
        error = None if task.cancelled() else task.exception()
        if error is None:
            return RuntimeError(f"cancelled from inside, {where}")
        error.add_note(where)
        return error

    def _seats(self, stages: Sequence[Stage[Any]]) -> dict[Seat, Stage[Any]]:
        seats: dict[Seat, Stage[Any]] = {}
        for stage in stages:
            for partition in range(self._partitions):
                seat = (stage.group, stage.source.name, partition)
                seats[seat] = stage
                if seat not in self._places.positions:
                    # From now on the group is known, and retention waits for it.
                    self._places.place(seat, 0)
        return seats

    async def _consume(self, stage: Stage[Any], seat: Seat) -> None:
        while True:
            start = await self._places.beyond(seat)
            await self._open.wait()
            with self._under_way(seat):
                await self._next(stage, seat, start)

    @contextmanager
    def _under_way(self, seat: Seat) -> Iterator[None]:
        self._busy.add(seat)
        self._rest.clear()
        try:
            yield
        finally:
            self._busy.discard(seat)
            if not self._busy:
                self._rest.set()

    async def _next(self, stage: Stage[Any], seat: Seat, start: int) -> None:
        """One batch from this offset."""
        stream = seat[1:]
        end, rewinds = self._places.head(stream), self._places.rewinds[seat]
        batch = await self._fetch(stream, start, stage.batch)
        if batch:
            end = batch[-1].offset + 1
            try:
                await self._delivery.deliver(stage, batch)
            except StageFaultError as fault:
                self._move(seat, fault.through + 1, rewinds)
                raise
        self._move(seat, end, rewinds)

    def _move(self, seat: Seat, end: int, rewinds: int) -> None:
        # A batch that was read before a rewind moves nothing.
        if self._places.rewinds[seat] == rewinds:
            self._places.place(seat, end)


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
