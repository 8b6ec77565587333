"""When memories are formed: at once, or in a quiet moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from pipeline.memory.dreamer import Dreamer
from schemas.ids import memory_id
from schemas.topics import MEMORIES_FORMED
from tests.pipeline.memory.world import LONGEST, QUIET, World

pytestmark = pytest.mark.anyio


class Sleeper:
    """Time that passes only when a test lets it; `asked` fires when somebody begins to wait."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.set()
        await self.go.wait()
        self.go.clear()
        self.world.clock.advance(seconds)

    async def pass_(self) -> None:
        await self.asked.wait()
        self.asked.clear()
        self.go.set()


@asynccontextmanager
async def dreaming(world: World) -> AsyncIterator[Sleeper]:
    sleeper = Sleeper(world)
    world.dreamer._sleep = sleeper
    task = asyncio.create_task(world.dreamer.run())
    try:
        yield sleeper
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def formed(world: World) -> list[list[str]]:
    return [[one.text for one in event.memories] for event in world.publisher.events(MEMORIES_FORMED)]


async def until(world: World, count: int) -> None:
    while len(formed(world)) < count:  # noqa: ASYNC110 - the work runs in this loop; nothing else to wait on
        await asyncio.sleep(0)


async def test_instant_documents_are_formed_at_once() -> None:
    world = World()
    row = await world.write("a", "I live in Berlin.")
    await world.form.handle([world.extracted(row, dreaming="instant")])
    events = world.publisher.events(MEMORIES_FORMED)
    assert [(key, event.document) for (key, event) in zip(["alice#0"], events, strict=True)] == [
        ("alice#0", row.key)
    ]
    assert events[0].memories[0].id == memory_id("alice#0", "User lives in Berlin")
    assert (events[0].seq, events[0].at) == (row.content_seq, row.updated_at)


async def test_superrag_forms_nothing_and_clears_what_there_was() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    row = await world.write("a", "I live in Berlin.")
    other = await world.write("b", "I live in Rome.")
    await world.form.handle([world.extracted(one, task_type="superrag") for one in (row, other)])
    assert formed(world)[1:] == [[]]


async def test_a_text_that_was_replaced_or_deleted_meanwhile_is_skipped() -> None:
    world = World()
    old = await world.write("a", "I live in Berlin.")
    gone = await world.write("b", "I live in Rome.")
    await world.write("a", "I live in Paris.")
    await world.delete("b")
    await world.form.handle([world.extracted(one, dreaming="instant") for one in (old, gone)])
    assert formed(world) == []


async def test_dynamic_documents_wait_until_the_namespace_is_quiet() -> None:
    world = World()
    async with dreaming(world) as sleeper:
        await world.form.handle([world.extracted(await world.write("a", "I live in Berlin."))])
        await sleeper.asked.wait()
        world.clock.advance(QUIET / 2)
        await world.form.handle([world.extracted(await world.write("b", "I live in Paris."))])
        assert formed(world) == []
        await sleeper.pass_()
        await until(world, 2)
    assert formed(world) == [["User lives in Berlin"], ["User lives in Paris"]]
    assert world.publisher.events(MEMORIES_FORMED)[1].memories[0].relations[0].kind == "updates"


async def test_a_namespace_that_is_never_quiet_is_formed_all_the_same() -> None:
    world = World()
    row = await world.write("a", "I live in Berlin.")
    for _ in range(round(3 * LONGEST / QUIET)):
        world.dreamer.note("alice#0", row.key, row.content_seq)
        world.clock.advance(QUIET / 2)
    async with dreaming(world):
        await until(world, 1)


async def test_what_waited_before_a_restart_is_formed_after_it() -> None:
    world = World()
    await world.write("a", "I live in Berlin.")
    unread = await world.write("b", "")
    await world.patch(unread, text_seq=-1, text=None)
    world.restart()
    async with dreaming(world) as sleeper:
        await sleeper.pass_()
        await until(world, 1)
    assert formed(world) == [["User lives in Berlin"]]


async def test_one_document_noted_often_is_formed_once() -> None:
    world = World()
    row = await world.write("a", "I live in Berlin.")
    async with dreaming(world) as sleeper:
        for _ in range(3):
            await world.form.handle([world.extracted(row)])
        await sleeper.pass_()
        await until(world, 1)
        await asyncio.sleep(0)
    assert len(formed(world)) == 1


async def test_facts_are_compared_before_they_have_reached_the_table() -> None:
    world = World()
    rows = [await world.write(name, f"I live in {town}.") for name, town in (("a", "Berlin"), ("b", "Rome"))]
    await asyncio.gather(*(world.formed(row) for row in rows))
    targets = [
        [one.target for one in event.memories[0].relations]
        for event in world.publisher.events(MEMORIES_FORMED)
    ]
    assert targets == [[], [memory_id("alice#0", "User lives in Berlin")]]


async def test_a_fact_whose_document_changed_before_it_reached_the_table_replaces_nothing() -> None:
    world = World()
    await world.say("a", "I live in Berlin.")
    lost = await world.formed(await world.write("b", "I live in Rome."))
    row = await world.write("b", "I like tea.")
    third = await world.write("c", "I live in Paris.")
    await world.relate.handle([*lost, *await world.formed(row), *await world.formed(third)])
    assert world.latest() == {"User likes tea", "User lives in Paris"}
    assert world.versions()["User lives in Paris"] == 2


async def test_a_fact_whose_documents_next_text_failed_is_replaced_like_any_other() -> None:
    world = World()
    row = await world.write("a", "I live in Rome.")
    late = await world.formed(row)
    failed = replace(row, content_seq=row.content_seq + 1, status="failed")
    await world.documents.update([row.key], lambda _, __: [failed])
    later = await world.formed(await world.write("b", "I live in Paris."))
    await world.relate.handle([*late, *later])
    assert world.versions()["User lives in Paris"] == 2


async def test_a_group_is_compared_only_with_its_like() -> None:
    world = World()
    for name, town, group in (
        ("a", "Berlin", {"trip": "x"}),
        ("b", "Rome", {"trip": "y"}),
        ("c", "Oslo", {"trip": ["x"]}),
    ):
        row = await world.write(name, f"I live in {town}.", group=group)  # type: ignore[arg-type]  # lists are allowed
        await world.relate.handle(await world.formed(row))
    assert world.latest() == {"User lives in Rome", "User lives in Oslo"}


async def test_a_dreamer_without_an_owner_forgets_the_document() -> None:
    world = World()
    world.dreamer.note("nobody#0", "key", 1)
    assert isinstance(world.dreamer, Dreamer)
    assert world.dreamer._next() is None
