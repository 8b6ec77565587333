"""Forgetting through the log."""

import pytest

from pipeline.memory.forgetting import Forgetting, hidden
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN
from tests.fakes import record
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio


async def test_a_forgotten_memory_keeps_the_moment_and_the_reason_of_the_first_time() -> None:
    world = World()
    await world.say("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    first = MemoriesForgotten(space="alice#0", ids=(id_, "unknown"), at=world.now(), reason="wrong")
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", first, 0)])
    second = first.model_copy(update={"reason": "again"})
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", second, 1)])
    row = world.memory("User likes tea")
    assert (row.is_latest, row.forgotten_at, row.forget_reason) == (False, world.now(), "wrong")
    assert world.memories.pending == 0


async def test_the_request_and_the_log_do_the_same() -> None:
    world = World()
    await world.say("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    event = MemoriesForgotten(space="alice#0", ids=(id_,), at=world.now())
    await world.keeper.change({"alice#0"}, {id_: [hidden({"alice#0"}, Forgetting(event.at))]})
    before = world.state()
    await world.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", event, 0)])
    assert world.state() == before


async def test_memories_of_other_spaces_and_of_deleted_namespaces_stay_as_they_are() -> None:
    world = World()
    world.catalog.create("bob")
    await world.say("a", "I like tea.")
    id_ = world.memory("User likes tea").id
    for space in ("bob#0", "nobody#0"):
        event = MemoriesForgotten(space=space, ids=(id_,), at=world.now())
        await world.forget.handle([record(MEMORIES_FORGOTTEN, space, event, 0)])
    assert world.latest() == {"User likes tea"}
