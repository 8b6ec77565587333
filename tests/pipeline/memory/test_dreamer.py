"""When documents are dreamt about: the schedule outlives a restart, and what waits holds up nobody."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.dreamer import AT_ONCE
from pipeline.memory.extraction import ByRules, Delay, Found
from pipeline.memory.schedule import Schedule
from pipeline.memory.writing import Work
from pipeline.rows import DocumentRow, NamespaceRow
from schemas.topics import MEMORIES_FORMED
from tests.fakes import EPOCH
from tests.pipeline.memory.world import QUIET, World

pytestmark = pytest.mark.anyio


class Moody(ByRules):
    """Rules that find nothing for so many questions; `slow` documents are found when they are let go."""

    def __init__(self) -> None:
        self.delays: list[Delay] = []
        self.asked: list[list[str]] = []
        self.slow: set[str] = set()
        self.under_way = 0
        self.go = asyncio.Event()

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:
        self.asked.append([work.text for work in works])
        if self.delays:
            return [self.delays.pop(0)] * len(works)
        if any(work.text in self.slow for work in works):
            self.under_way += 1
            await self.go.wait()
        return await super().facts(owner, works)


class Moments(World):
    """A world in which time passes from one moment at which somebody waits to the next."""

    def __init__(self) -> None:
        self.moody = Moody()
        self.waited: list[float] = []
        super().__init__()
        self.extraction = self.moody
        self.restart()

    def restart(self) -> None:
        super().restart()
        self.dreamer._sleep = self.sleep

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.advance(seconds)

    async def waits(self, name: str, text: str, space: str = "alice#0") -> DocumentRow:
        """A document that came in now and waits for a quiet moment."""
        self.seq = round((self.clock.now() - EPOCH) / timedelta(seconds=1))
        return await self.write(name, text, space=space)

    @property
    def formed_texts(self) -> list[str]:
        return [one.text for event in self.publisher.events(MEMORIES_FORMED) for one in event.memories]

    async def until(self, count: int) -> None:
        while len(self.formed_texts) < count:  # noqa: ASYNC110 - the work runs in this loop and in a thread
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(world: Moments) -> AsyncIterator[None]:
    task = asyncio.create_task(world.dreamer.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_restart_puts_nothing_off() -> None:
    world = Moments()
    row = await world.waits("a", "I live in Rome.")
    world.clock.moment = row.updated_at + timedelta(seconds=QUIET - 2)
    world.restart()
    async with running(world):
        await world.until(1)
    assert world.waited == [2.0]


async def test_what_is_overdue_after_a_restart_is_formed_at_once() -> None:
    world = Moments()
    row = await world.waits("a", "I live in Rome.")
    world.clock.moment = row.updated_at + timedelta(days=1)
    world.restart()
    async with running(world):
        await world.until(1)
    assert world.waited == []


async def test_documents_of_a_quiet_namespace_are_read_together() -> None:
    world = Moments()
    for name, town in (("a", "Rome"), ("b", "Oslo"), ("c", "Paris")):
        await world.waits(name, f"I live in {town}.")
    async with running(world):
        await world.until(3)
    assert [len(texts) for texts in world.moody.asked] == [3]


async def test_what_can_not_be_formed_says_why_and_is_tried_again_when_it_should_be() -> None:
    world = Moments()
    row = await world.waits("a", "I live in Rome.")
    world.moody.delays = [Delay("the model is away", 30.0), Delay("it is still away", 60.0)]
    reasons: list[str | None] = []
    world.documents.listeners.append(
        lambda groups: reasons.extend(one.dreaming_error for rows in groups.values() for one in rows)
    )
    async with running(world):
        await world.until(1)
    assert reasons == ["the model is away", "it is still away"]
    assert world.waited[-2:] == [30.0, 60.0]
    await world.relate.handle(world.publisher.records(MEMORIES_FORMED))
    [after] = world.documents.groups[row.key]
    assert (after.dreaming, after.dreaming_error) == (False, None)


async def test_an_instant_document_that_can_not_be_formed_holds_up_no_stage() -> None:
    world = Moments()
    world.moody.delays = [Delay("the model is away", 30.0)]
    row = await world.waits("a", "I live in Rome.")
    await world.form.handle([world.extracted(row, dreaming="instant")])
    assert world.formed_texts == []
    assert world.documents.groups[row.key][0].dreaming_error == "the model is away"
    async with running(world):
        await world.until(1)
    assert sum(world.waited) == 30.0


async def test_one_namespace_that_takes_long_holds_up_no_other() -> None:
    world = Moments()
    world.catalog.create("bob")
    await world.waits("slow", "I live in Rome.")
    await world.waits("quick", "I live in Oslo.", space="bob#0")
    world.moody.slow = {"I live in Rome."}
    async with running(world):
        await world.until(1)
        assert world.formed_texts == ["User lives in Oslo"]
        world.moody.go.set()
        await world.until(2)


async def test_only_so_many_namespaces_are_dreamt_about_at_a_time() -> None:
    world = Moments()
    for number in range(AT_ONCE + 3):
        world.catalog.create(f"n{number}")
        await world.waits(f"d{number}", f"I live in Town{number}.", space=f"n{number}#0")
    world.moody.slow = {f"I live in Town{number}." for number in range(AT_ONCE + 3)}
    async with running(world):
        while world.moody.under_way < AT_ONCE:  # noqa: ASYNC110 - it runs in this loop
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.moody.under_way == AT_ONCE
        world.moody.go.set()
        await world.until(AT_ONCE + 3)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=20), st.floats(0, 60), st.floats(0, 200))
@settings(max_examples=100)
def test_documents_are_due_in_a_quiet_moment_or_after_the_longest_wait(
    came: list[float], quiet: float, longest: float
) -> None:
    times = [EPOCH + timedelta(seconds=one) for one in sorted(came)]
    due = Schedule.of(quiet, longest).due(times[0], times[-1])
    assert due <= times[-1] + timedelta(seconds=quiet)
    assert due <= times[0] + timedelta(seconds=max(quiet, longest))
    assert due >= times[0] + timedelta(seconds=quiet)
