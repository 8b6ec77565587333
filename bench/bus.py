"""The embedded log alone: `python -m bench.bus`. Medians; records carry 1 KB."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from threading import Event as ThreadEvent
from threading import Thread
from time import perf_counter

import uvloop

from app.resources import SystemClock
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic


class NoteEvent(Event):
    text: str


NOTES = Topic("bench.notes.v1", NoteEvent)
NOTE = NoteEvent(text="x" * 1000)


async def main() -> None:
    with TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        bus = await SqliteBus.open(Path(folder), partitions=4, clock=SystemClock())
        await sequential_publishes(bus, "one publish alone")
        await publishes_under_gil_load(bus)
        await concurrent_publishes(bus)
        await batches(bus)
        await consume_throughput(bus)
        await end_to_end_latency(bus)
        await bus.close()


async def sequential_publishes(bus: SqliteBus, name: str) -> None:
    times = [await seconds_of(lambda: bus.publish(NOTES, [("key", NOTE)])) for _ in range(300)]
    print(f"{name:42} p50 {median(times) * 1e3:6.2f} ms   p99 {quantiles(times, n=100)[98] * 1e3:6.2f} ms")


async def publishes_under_gil_load(bus: SqliteBus) -> None:
    """Every publish crosses two threads, and a thread that computes keeps the interpreter for a while."""
    stop, usual = ThreadEvent(), sys.getswitchinterval()
    thread = Thread(target=lambda: all(sum(range(50)) and not stop.is_set() for _ in iter(int, 1)))
    thread.start()
    for interval in (usual, 0.0005):
        sys.setswitchinterval(interval)
        await sequential_publishes(bus, f"the same beside a busy thread, switch {interval * 1e3:g} ms")
    sys.setswitchinterval(usual)
    stop.set()
    thread.join()


async def concurrent_publishes(bus: SqliteBus) -> None:
    async def publisher(number: int) -> None:
        for count in range(100):
            await bus.publish(NOTES, [(f"{number}-{count}", NOTE)])

    before = bus.transaction_count
    seconds = await seconds_of(lambda: asyncio.gather(*map(publisher, range(32))))
    print(f"{'32 publishers':42} {3200 / seconds:,.0f} publishes/s in {bus.transaction_count - before} transactions")


async def batches(bus: SqliteBus) -> None:
    entries = [(f"key-{number}", NOTE) for number in range(600)]
    times = [await seconds_of(lambda: bus.publish(NOTES, entries)) for _ in range(15)]
    print(f"{'a batch of 600':42} p50 {median(times) * 1e3:6.2f} ms   max {max(times) * 1e3:6.2f} ms")


async def consume_throughput(bus: SqliteBus) -> None:
    async def accept(_: Sequence[Record[NoteEvent]]) -> None:
        pass

    count = await bus.depth(NOTES.name)
    seconds = await seconds_of(lambda: bus.run([Stage("bench", NOTES, accept)], until_idle=True))
    print(f"{'consume':42} {count / seconds:,.0f} records/s")


async def end_to_end_latency(bus: SqliteBus) -> None:
    handled = asyncio.Event()

    async def tell(_: Sequence[Record[NoteEvent]]) -> None:
        handled.set()

    async def round_trip() -> None:
        handled.clear()
        await bus.publish(NOTES, [("key", NOTE)])
        await handled.wait()

    running = asyncio.create_task(bus.run([Stage("bench", NOTES, tell)]))
    times = [await seconds_of(round_trip) for _ in range(300)]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    print(f"{'publish to handled':42} p50 {median(times) * 1e3:6.2f} ms")


async def seconds_of(act: Callable[[], Awaitable[object]]) -> float:
    start = perf_counter()
    await act()
    return perf_counter() - start


if __name__ == "__main__":
    uvloop.run(main())
