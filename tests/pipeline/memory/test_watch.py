"""Dreaming where several processes share the tables."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.locks import LocalLocks
from pipeline.memory.schedule import Schedule
from pipeline.memory.watch import AGAIN, SOON, Watch
from pipeline.rows import DocumentRow
from tests.pipeline.memory.world import LONGEST, QUIET, World

pytestmark = pytest.mark.anyio


class Watched(World):
    """A world whose documents are watched by one process or two."""

    def __init__(self) -> None:
        super().__init__()
        self.locks = LocalLocks()
        self.handed: list[str] = []
        self.looked = asyncio.Event()
        self.clock.moment = self.now()

    def watch(self) -> Watch:
        return Watch(
            documents=self.documents,
            catalog=self.catalog,
            clock=self.clock,
            locks=self.locks,
            schedule=Schedule.of(QUIET, LONGEST),
            hand_over=self.hand_over,
            sleep=self.sleep,
        )

    async def hand_over(self, row: DocumentRow) -> None:
        self.handed.append(row.id)

    async def sleep(self, seconds: float) -> None:
        self.looked.set()
        await asyncio.get_running_loop().create_future()

    async def wait(self, name: str) -> DocumentRow:
        """A document that waits for a quiet moment from now on."""
        row = await self.write(name, f"{name} lives in Rome.")
        row = replace(row, updated_at=self.clock.now())
        await self.documents.update([row.key], lambda _, __: [row])
        return row


async def test_nothing_is_handed_over_before_the_namespace_is_quiet() -> None:
    world = Watched()
    watch = world.watch()
    await world.wait("a")
    world.clock.advance(QUIET - 1)
    await world.wait("b")
    world.clock.advance(QUIET - 1)
    assert await watch.look() == 0
    world.clock.advance(1)
    assert await watch.look() == 2
    assert world.handed == ["a", "b"]


async def test_a_namespace_that_is_never_quiet_is_handed_over_all_the_same() -> None:
    world = Watched()
    watch = world.watch()
    for number in range(round(2 * LONGEST / QUIET)):
        await world.wait(f"d{number}")
        assert await watch.look() == 0
        world.clock.advance(QUIET / 2)
    assert await watch.look() == round(2 * LONGEST / QUIET)


async def test_what_was_handed_over_is_not_handed_over_again_until_it_took_far_too_long() -> None:
    world = Watched()
    watch = world.watch()
    await world.wait("a")
    world.clock.advance(QUIET)
    assert await watch.look() == 1
    assert await watch.look() == 0
    world.clock.advance(AGAIN / timedelta(seconds=1))
    assert await watch.look() == 1


async def test_a_new_text_of_a_document_is_handed_over_anew() -> None:
    world = Watched()
    watch = world.watch()
    for _ in range(2):
        await world.wait("a")
        world.clock.advance(QUIET)
        assert await watch.look() == 1


async def test_what_could_not_be_formed_is_handed_over_again_sooner_and_ever_later() -> None:
    world = Watched()
    watch = world.watch()
    row = await world.wait("a")
    delayed = replace(row, dreaming_mode="instant", dreaming_error="the model is away")
    await world.documents.update([row.key], lambda _, __: [delayed])
    assert await watch.look() == 1, "its stage has tried it, so it need not be quiet"
    for pause in (SOON, 2 * SOON, 4 * SOON):
        world.clock.advance(pause / timedelta(seconds=1) - 1)
        assert await watch.look() == 0
        world.clock.advance(1)
        assert await watch.look() == 1


async def test_an_instant_document_is_left_to_its_stage() -> None:
    world = Watched()
    row = await world.wait("a")
    await world.documents.update([row.key], lambda _, __: [replace(row, dreaming_mode="instant")])
    world.clock.advance(QUIET)
    assert await world.watch().look() == 0


async def test_a_time_in_the_future_is_taken_for_now() -> None:
    world = Watched()
    watch = world.watch()
    await world.wait("a")
    world.clock.advance(-3600)
    assert await watch.look() == 0
    world.clock.advance(3600 + QUIET)
    assert await watch.look() == 1


async def test_only_one_process_watches_and_another_goes_on_when_it_ends() -> None:
    world = Watched()
    await world.wait("a")
    world.clock.advance(QUIET)
    first = asyncio.create_task(world.watch().run())
    await world.looked.wait()
    second = asyncio.create_task(world.watch().run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert world.handed == ["a"]
    world.looked.clear()
    first.cancel()
    await world.looked.wait()
    assert world.handed == ["a", "a"]
    second.cancel()
    await asyncio.wait([first, second])
