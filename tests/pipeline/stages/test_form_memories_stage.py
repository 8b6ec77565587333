"""Time at which memories are formed: at once, or in a quiet moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtractionWorker
from schemas.ids import memory_id
from schemas.topics import MEMORIES_FORMED
from tests.support.memory_harness import MAX_WAIT_SECONDS, QUIET_SECONDS, MemoryHarness

pytestmark = pytest.mark.anyio


class ManualSleep:
    """Time that passes only when a test lets it; `asked` fires when somebody begins to wait."""

    def __init__(self, world: MemoryHarness) -> None:
        self.world = world
        self.sleeping = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.sleeping.set()
        await self.go.wait()
        self.go.clear()
        self.world.clock.advance(seconds)

    async def wake(self) -> None:
        await self.sleeping.wait()
        self.sleeping.clear()
        self.go.set()


@asynccontextmanager
async def running_deferred_extraction(world: MemoryHarness) -> AsyncIterator[ManualSleep]:
    sleeper = ManualSleep(world)
    world.deferred_extraction._sleep = sleeper
    task = asyncio.create_task(world.deferred_extraction.run())
    try:
        yield sleeper
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def formed_texts(world: MemoryHarness) -> list[list[str]]:
    return [[item.text for item in event.memories] for event in world.publisher.events(MEMORIES_FORMED)]


async def wait_for_count(world: MemoryHarness, count: int) -> None:
    while len(formed_texts(world)) < count:  # noqa: ASYNC110 - the work runs in this loop; nothing else to wait on
        await asyncio.sleep(0)


async def test_instant_documents_are_formed_at_once() -> None:
    world = MemoryHarness()
    row = await world.write_document("a", "I live in Berlin.")
    await world.form.handle([world.extracted_record(row, dreaming="instant")])
    events = world.publisher.events(MEMORIES_FORMED)
    assert [(key, event.document) for (key, event) in zip(["alice#0"], events, strict=True)] == [("alice#0", row.key)]
    assert events[0].memories[0].id == memory_id("alice#0", "User lives in Berlin")
    assert (events[0].seq, events[0].at) == (row.content_seq, row.updated_at)


async def test_superrag_forms_nothing_and_clears_what_there_was() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    row = await world.write_document("a", "I live in Berlin.")
    other = await world.write_document("b", "I live in Rome.")
    await world.form.handle([world.extracted_record(item, task_type="superrag") for item in (row, other)])
    assert formed_texts(world)[1:] == [[]]


async def test_a_text_that_was_replaced_or_deleted_meanwhile_is_skipped() -> None:
    world = MemoryHarness()
    old = await world.write_document("a", "I live in Berlin.")
    gone = await world.write_document("b", "I live in Rome.")
    await world.write_document("a", "I live in Paris.")
    await world.delete_document("b")
    await world.form.handle([world.extracted_record(item, dreaming="instant") for item in (old, gone)])
    assert formed_texts(world) == []


async def test_dynamic_documents_wait_until_the_namespace_is_quiet() -> None:
    world = MemoryHarness()
    async with running_deferred_extraction(world) as sleeper:
        await world.form.handle([world.extracted_record(await world.write_document("a", "I live in Berlin."))])
        await sleeper.sleeping.wait()
        world.clock.advance(QUIET_SECONDS / 2)
        await world.form.handle([world.extracted_record(await world.write_document("b", "I live in Paris."))])
        assert formed_texts(world) == []
        await sleeper.wake()
        await wait_for_count(world, 2)
    assert formed_texts(world) == [["User lives in Berlin"], ["User lives in Paris"]]
    assert world.publisher.events(MEMORIES_FORMED)[1].memories[0].relations[0].kind == "updates"


async def test_a_namespace_that_is_never_quiet_is_formed_all_the_same() -> None:
    world = MemoryHarness()
    row = await world.write_document("a", "I live in Berlin.")
    for _ in range(round(3 * MAX_WAIT_SECONDS / QUIET_SECONDS)):
        world.deferred_extraction.schedule("alice#0", row.key, row.content_seq)
        world.clock.advance(QUIET_SECONDS / 2)
    async with running_deferred_extraction(world):
        await wait_for_count(world, 1)


async def test_what_waited_before_a_restart_is_formed_after_it() -> None:
    world = MemoryHarness()
    await world.write_document("a", "I live in Berlin.")
    unread = await world.write_document("b", "")
    await world.update_row(unread, text_seq=-1, text=None)
    world.restart()
    async with running_deferred_extraction(world) as sleeper:
        await sleeper.wake()
        await wait_for_count(world, 1)
    assert formed_texts(world) == [["User lives in Berlin"]]


async def test_one_document_noted_often_is_formed_once() -> None:
    world = MemoryHarness()
    row = await world.write_document("a", "I live in Berlin.")
    async with running_deferred_extraction(world) as sleeper:
        for _ in range(3):
            await world.form.handle([world.extracted_record(row)])
        await sleeper.wake()
        await wait_for_count(world, 1)
        await asyncio.sleep(0)
    assert len(formed_texts(world)) == 1


async def test_facts_are_compared_before_they_have_reached_the_table() -> None:
    world = MemoryHarness()
    rows = [await world.write_document(name, f"I live in {town}.") for name, town in (("a", "Berlin"), ("b", "Rome"))]
    await asyncio.gather(*(world.extract(row) for row in rows))
    targets = [
        [item.target for item in event.memories[0].relations] for event in world.publisher.events(MEMORIES_FORMED)
    ]
    assert targets == [[], [memory_id("alice#0", "User lives in Berlin")]]


async def test_a_fact_whose_document_changed_before_it_reached_the_table_replaces_nothing() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I live in Berlin.")
    lost = await world.extract(await world.write_document("b", "I live in Rome."))
    row = await world.write_document("b", "I like tea.")
    third = await world.write_document("c", "I live in Paris.")
    await world.relate.handle([*lost, *await world.extract(row), *await world.extract(third)])
    assert world.latest_texts() == {"User likes tea", "User lives in Paris"}
    assert world.versions_by_text()["User lives in Paris"] == 2


async def test_a_fact_whose_documents_next_text_failed_is_replaced_like_any_other() -> None:
    world = MemoryHarness()
    row = await world.write_document("a", "I live in Rome.")
    late = await world.extract(row)
    failed = replace(row, content_seq=row.content_seq + 1, status="failed")
    await world.documents.update([row.key], lambda _, __: [failed])
    later = await world.extract(await world.write_document("b", "I live in Paris."))
    await world.relate.handle([*late, *later])
    assert world.versions_by_text()["User lives in Paris"] == 2


async def test_a_group_is_compared_only_with_its_like() -> None:
    world = MemoryHarness()
    for name, town, group in (
        ("a", "Berlin", {"trip": "x"}),
        ("b", "Rome", {"trip": "y"}),
        ("c", "Oslo", {"trip": ["x"]}),
    ):
        row = await world.write_document(name, f"I live in {town}.", group=group)  # type: ignore[arg-type]  # lists are allowed
        await world.relate.handle(await world.extract(row))
    assert world.latest_texts() == {"User lives in Rome", "User lives in Oslo"}


async def test_a_dreamer_without_an_owner_forgets_the_document() -> None:
    world = MemoryHarness()
    world.deferred_extraction.schedule("nobody#0", "key", 1)
    assert isinstance(world.deferred_extraction, DeferredExtractionWorker)
    assert world.deferred_extraction._earliest_due_name() is None
