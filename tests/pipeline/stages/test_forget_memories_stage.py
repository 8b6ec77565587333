"""Forgetting through the log."""

import pytest

from pipeline.memory.versioning.forget_command import ForgetCommand, forget_edit
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN
from tests.support.fakes import record
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio


async def test_a_forgotten_memory_keeps_the_moment_and_the_reason_of_the_first_time() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    first = MemoriesForgotten(incarnation="alice#0", ids=(id_, "unknown"), at=world.now(), reason="wrong")
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", first, 0)])
    second = first.model_copy(update={"reason": "again"})
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", second, 1)])
    row = world.memory("User likes tea")
    assert (row.is_latest, row.forgotten_at, row.forget_reason) == (False, world.now(), "wrong")
    assert world.memories.pending == 0


async def test_the_request_and_the_log_do_the_same() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    event = MemoriesForgotten(incarnation="alice#0", ids=(id_,), at=world.now())
    await world.repository.apply({"alice#0"}, {id_: [forget_edit({"alice#0"}, ForgetCommand(event.at))]})
    before = world.comparable_state()
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", event, 0)])
    assert world.comparable_state() == before


async def test_memories_of_other_incarnations_and_of_deleted_namespaces_stay_as_they_are() -> None:
    world = MemoryHarness()
    world.catalog.create("bob")
    await world.write_and_extract("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    for incarnation in ("bob#0", "nobody#0"):
        event = MemoriesForgotten(incarnation=incarnation, ids=(id_,), at=world.now())
        await world.forget.handle([record(MEMORIES_FORGOTTEN, incarnation, event, 0)])
    assert world.latest_texts() == {"User likes tea"}
