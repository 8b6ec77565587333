"""Requests and what is done behind them take turns on one event loop."""

import asyncio
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import turns
from pipeline.turns import behind, new_loop, soon, step_back

PIECE = 0.6 * turns.SECONDS
"""So a turn is two of them."""


@dataclass
class Clock:
    """Stands still but for the work that is done."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class World:
    """What was done, in its order."""

    clock: Clock
    run: Callable[[Coroutine[Any, Any, None]], None]
    done: list[str] = field(default_factory=list)

    async def work(self, name: str, pieces: int, seconds: float = PIECE) -> None:
        """Pieces that each take so long, between which others may come in."""
        for _ in range(pieces):
            self.clock.now += seconds
            self.done.append(name)
            await asyncio.sleep(0)

    def together(self, *works: Coroutine[Any, Any, None]) -> None:
        """Do all of these, from one moment on."""

        async def main() -> None:
            await asyncio.gather(*works)

        self.run(main())


@pytest.fixture(params=["uvloop", "asyncio"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """On either kind of loop."""
    clock = Clock()
    monkeypatch.setattr(turns, "perf_counter", clock)
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)

    def run(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main)

    return World(clock, run)


def longest(done: list[str], name: str) -> int:
    """Of the runs of this name that others end."""
    runs = "".join("x" if one == name else " " for one in done).rstrip("x").split()
    return max(map(len, runs), default=0)


def test_who_is_in_front_waits_for_no_more_than_a_turn(world: World) -> None:
    works = [behind(lambda: world.work("behind", 10)) for _ in range(5)]
    world.together(*works, world.work("front", 60, 0.0))
    assert longest(world.done, "behind") == 2
    assert world.done.count("behind") == 50


def test_what_is_behind_gets_its_share_however_much_is_in_front(world: World) -> None:
    front = [world.work("front", 60, 10 * turns.SECONDS) for _ in range(5)]
    world.together(*front, behind(lambda: world.work("behind", 2000, turns.SECONDS)))
    last_in_front = len(world.done) - world.done[::-1].index("front")
    seconds = world.done[:last_in_front].count("behind") * turns.SECONDS
    assert seconds >= turns.SHARE * 300 * 10 * turns.SECONDS / 2


def test_after_a_slow_request_the_turn_is_no_longer_than_after_others(world: World) -> None:
    async def requests() -> None:
        for number in range(100):
            await world.work("front", 3, (40 if number == 90 else 1) * turns.SECONDS)

    world.together(requests(), behind(lambda: world.work("behind", 400)))
    assert longest(world.done, "behind") * PIECE < turns.SHARE * 40 * turns.SECONDS


def test_what_is_started_behind_is_behind_as_well(world: World) -> None:
    async def starting() -> None:
        await asyncio.gather(*(world.work("behind", 10) for _ in range(5)))

    world.together(behind(starting), world.work("front", 60, 0.0))
    assert longest(world.done, "behind") == 2


def test_who_has_waited_for_what_is_behind_is_in_front_again(world: World) -> None:
    async def waiting() -> None:
        await behind(lambda: world.work("behind", 1))
        await world.work("front", 60, 0.0)

    world.together(waiting(), behind(lambda: world.work("behind", 60)))
    assert longest(world.done, "behind") <= 3


def test_who_steps_back_waits_until_those_in_front_had_their_go(world: World) -> None:
    async def changing() -> None:
        await step_back()
        await world.work("change", 1)

    world.together(changing(), world.work("front", 1))
    assert world.done == ["front", "change"]


def test_what_is_to_be_done_soon_is_done_behind(world: World) -> None:
    async def noting() -> None:
        soon(world.done.append, "soon")
        await world.work("front", 10, 0.0)

    world.together(noting())
    assert world.done.index("soon") > 1
    assert world.done.count("front") == 10


def test_a_request_that_comes_in_a_turn_is_answered_before_the_next(world: World) -> None:
    here, there = socket.socketpair()

    async def answering() -> None:
        world.done.append("answer")

    def read() -> None:
        here.recv(1)
        # As a server does with a request that it has read.
        tasks.append(asyncio.create_task(answering()))

    async def asking() -> None:
        await world.work("before", 3)
        there.send(b"?")
        await world.work("after", 20)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(here, read)
        await asyncio.create_task(behind(asking))
        loop.remove_reader(here)

    tasks: list[asyncio.Task[None]] = []
    world.run(main())
    here.close()
    there.close()
    assert world.done[: world.done.index("answer")].count("after") <= 2


def test_what_was_given_up_meanwhile_is_not_done(world: World) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        loop.call_soon(world.done.append, "never").cancel()
        await world.work("behind", 10)

    told: list[object] = []
    world.run(behind(main))
    assert told == []
    assert "never" not in world.done


def test_an_error_of_what_is_behind_goes_where_the_loop_has_them_go(world: World) -> None:
    told: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        soon(int, "no number")
        soon(world.done.append, "next")
        await world.work("front", 10)

    world.run(main())
    assert [type(error) for error in told] == [ValueError]
    assert "next" in world.done


def test_who_ends_the_process_from_behind_lets_the_others_clean_up(world: World) -> None:
    async def working() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await world.work("cleaned up", 1)

    async def main() -> None:
        workers = [asyncio.create_task(working()) for _ in range(3)]
        await asyncio.sleep(0)
        soon(sys.exit, 3)
        await asyncio.wait(workers)

    with pytest.raises(SystemExit):
        world.run(behind(main))
    assert world.done == ["cleaned up"] * 3


@given(st.lists(st.booleans(), max_size=40))
def test_on_either_side_the_order_is_that_of_asking(works: list[bool]) -> None:
    done: list[tuple[bool, int]] = []

    async def main() -> None:
        for number, is_behind in enumerate(works):
            call = soon if is_behind else asyncio.get_running_loop().call_soon
            call(done.append, (is_behind, number))
        for side in (soon, asyncio.get_running_loop().call_soon):
            last = asyncio.Event()
            side(last.set)
            await last.wait()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    for side in (True, False):
        assert [at for is_behind, at in done if is_behind is side] == [
            at for at, is_behind in enumerate(works) if is_behind is side
        ]
