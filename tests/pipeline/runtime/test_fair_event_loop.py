"""Foreground and background work share one event loop fairly."""

import asyncio
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.runtime import fair_event_loop
from pipeline.runtime.fair_event_loop import (
    call_soon_background,
    new_fair_event_loop,
    run_in_background_lane,
    yield_to_foreground,
)

PIECE_SECONDS = 0.6 * fair_event_loop.BACKGROUND_SLICE_SECONDS
"""Two pieces fit into a slice."""


@dataclass
class Clock:
    """Clock that only work advances."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class LoopHarness:
    """Runs coroutines on a fair loop and records the order of their steps."""

    clock: Clock
    run: Callable[[Coroutine[Any, Any, None]], None]
    done: list[str] = field(default_factory=list)

    async def work(self, name: str, pieces: int, seconds: float = PIECE_SECONDS) -> None:
        """Do pieces of work of this duration, with a yield after each."""
        for _ in range(pieces):
            self.clock.now += seconds
            self.done.append(name)
            await asyncio.sleep(0)

    def run_together(self, *works: Coroutine[Any, Any, None]) -> None:
        """Run all of these concurrently."""

        async def main() -> None:
            await asyncio.gather(*works)

        self.run(main())


@pytest.fixture(params=["uvloop", "asyncio"])
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LoopHarness:
    """Harness on uvloop and on asyncio's loop."""
    clock = Clock()
    monkeypatch.setattr(fair_event_loop, "perf_counter", clock)
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)

    def run(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=new_fair_event_loop) as runner:
            runner.run(main)

    return LoopHarness(clock, run)


def longest_run(done: list[str], name: str) -> int:
    """Return the longest run of this name that is followed by another name."""
    runs = "".join("x" if entry == name else " " for entry in done).rstrip("x").split()
    return max(map(len, runs), default=0)


def test_foreground_work_waits_for_at_most_one_slice(harness: LoopHarness) -> None:
    works = [run_in_background_lane(lambda: harness.work("background", 10)) for _ in range(5)]
    harness.run_together(*works, harness.work("foreground", 60, 0.0))
    assert longest_run(harness.done, "background") == 2
    assert harness.done.count("background") == 50


def test_background_work_gets_its_share_under_full_foreground_load(harness: LoopHarness) -> None:
    front = [harness.work("foreground", 60, 10 * fair_event_loop.BACKGROUND_SLICE_SECONDS) for _ in range(5)]
    harness.run_together(
        *front,
        run_in_background_lane(lambda: harness.work("background", 2000, fair_event_loop.BACKGROUND_SLICE_SECONDS)),
    )
    last_foreground = len(harness.done) - harness.done[::-1].index("foreground")
    seconds = harness.done[:last_foreground].count("background") * fair_event_loop.BACKGROUND_SLICE_SECONDS
    assert seconds >= fair_event_loop.BACKGROUND_SHARE * 300 * 10 * fair_event_loop.BACKGROUND_SLICE_SECONDS / 2


def test_a_slow_request_does_not_lengthen_the_next_slice(harness: LoopHarness) -> None:
    async def requests() -> None:
        for number in range(100):
            await harness.work("foreground", 3, (40 if number == 90 else 1) * fair_event_loop.BACKGROUND_SLICE_SECONDS)

    harness.run_together(requests(), run_in_background_lane(lambda: harness.work("background", 400)))
    assert (
        longest_run(harness.done, "background") * PIECE_SECONDS
        < fair_event_loop.BACKGROUND_SHARE * 40 * fair_event_loop.BACKGROUND_SLICE_SECONDS
    )


def test_tasks_started_in_the_background_run_in_the_background(harness: LoopHarness) -> None:
    async def starting() -> None:
        await asyncio.gather(*(harness.work("background", 10) for _ in range(5)))

    harness.run_together(run_in_background_lane(starting), harness.work("foreground", 60, 0.0))
    assert longest_run(harness.done, "background") == 2


def test_a_task_returns_to_the_foreground_after_background_work(harness: LoopHarness) -> None:
    async def waiting() -> None:
        await run_in_background_lane(lambda: harness.work("background", 1))
        await harness.work("foreground", 60, 0.0)

    harness.run_together(waiting(), run_in_background_lane(lambda: harness.work("background", 60)))
    assert longest_run(harness.done, "background") <= 3


def test_a_task_that_yields_to_the_foreground_runs_after_it(harness: LoopHarness) -> None:
    async def changing() -> None:
        await yield_to_foreground()
        await harness.work("change", 1)

    harness.run_together(changing(), harness.work("foreground", 1))
    assert harness.done == ["foreground", "change"]


def test_a_background_callback_runs_after_foreground_work(harness: LoopHarness) -> None:
    async def noting() -> None:
        call_soon_background(harness.done.append, "soon")
        await harness.work("foreground", 10, 0.0)

    harness.run_together(noting())
    assert harness.done.index("soon") > 1
    assert harness.done.count("foreground") == 10


def test_a_request_arriving_during_a_slice_is_handled_before_the_next_slice(harness: LoopHarness) -> None:
    server_socket, client_socket = socket.socketpair()

    async def answering() -> None:
        harness.done.append("answer")

    def read() -> None:
        server_socket.recv(1)
        # Like a server that has read a request.
        tasks.append(asyncio.create_task(answering()))

    async def asking() -> None:
        await harness.work("before", 3)
        client_socket.send(b"?")
        await harness.work("after", 20)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(server_socket, read)
        await asyncio.create_task(run_in_background_lane(asking))
        loop.remove_reader(server_socket)

    tasks: list[asyncio.Task[None]] = []
    harness.run(main())
    server_socket.close()
    client_socket.close()
    assert harness.done[: harness.done.index("answer")].count("after") <= 2


def test_a_cancelled_background_callback_does_not_run(harness: LoopHarness) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        loop.call_soon(harness.done.append, "never").cancel()
        await harness.work("background", 10)

    errors: list[object] = []
    harness.run(run_in_background_lane(main))
    assert errors == []
    assert "never" not in harness.done


def test_an_error_of_a_background_callback_reaches_the_exception_handler(harness: LoopHarness) -> None:
    errors: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
        call_soon_background(int, "no number")
        call_soon_background(harness.done.append, "next")
        await harness.work("foreground", 10)

    harness.run(main())
    assert [type(error) for error in errors] == [ValueError]
    assert "next" in harness.done


def test_an_exit_from_the_background_lets_other_tasks_clean_up(harness: LoopHarness) -> None:
    async def working() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await harness.work("cleaned up", 1)

    async def main() -> None:
        workers = [asyncio.create_task(working()) for _ in range(3)]
        await asyncio.sleep(0)
        call_soon_background(sys.exit, 3)
        await asyncio.wait(workers)

    with pytest.raises(SystemExit):
        harness.run(run_in_background_lane(main))
    assert harness.done == ["cleaned up"] * 3


@given(st.lists(st.booleans(), max_size=40))
def test_each_lane_keeps_the_order_of_scheduling(lanes: list[bool]) -> None:
    done: list[tuple[bool, int]] = []

    async def main() -> None:
        for number, in_background in enumerate(lanes):
            call = call_soon_background if in_background else asyncio.get_running_loop().call_soon
            call(done.append, (in_background, number))
        for side in (call_soon_background, asyncio.get_running_loop().call_soon):
            last = asyncio.Event()
            side(last.set)
            await last.wait()

    with asyncio.Runner(loop_factory=new_fair_event_loop) as runner:
        runner.run(main())
    for side in (True, False):
        assert [number for in_background, number in done if in_background is side] == [
            number for number, in_background in enumerate(lanes) if in_background is side
        ]


def test_a_loop_beside_plain_aiokafka_raises_nothing_on_writing_to_a_lost_connection() -> None:
    """aiokafka handles OSError only; uvloop raises RuntimeError."""

    async def main() -> None:
        async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.transport.abort()
            with suppress(ConnectionError):
                await writer.wait_closed()
            writer.write(b"a request")

    with asyncio.Runner(loop_factory=partial(new_fair_event_loop, plain_aiokafka=True)) as runner:
        runner.run(main())
