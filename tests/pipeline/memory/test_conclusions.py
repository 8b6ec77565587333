"""A conclusion holds while all it was drawn from does, and goes with any of it."""

from collections.abc import Sequence

import pytest

from pipeline.memory.drafts import Draft
from pipeline.memory.extraction import ByRules, Found, stated
from pipeline.memory.writing import Work
from pipeline.rows import NamespaceRow
from schemas.events import Relation
from schemas.ids import memory_id
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio

SPACE = "alice#0"
SO = "User lives in Portugal"
BEFORE = ("User lives in Lisbon", "Lisbon is a town of Portugal")


class Concluding(ByRules):
    """Finds what rules find, and in a document that says `So` what follows from two known facts."""

    async def facts(self, owner: NamespaceRow, works: Sequence[Work]) -> Sequence[Found]:
        return [[_conclusion()] if work.text == "So" else stated(work) for work in works]


def _conclusion() -> Draft:
    needed = tuple(Relation(kind="derives", target=memory_id(SPACE, text)) for text in BEFORE)
    return Draft(SO, True, None, None, (), is_inference=True, relations=needed)


async def _concluded() -> World:
    world = World()
    world.extraction = Concluding()
    world.restart()
    await world.say("home", "I live in Lisbon.")
    await world.say("atlas", "Lisbon is a town of Portugal.")
    await world.say("so", "So")
    return world


async def test_a_conclusion_is_a_memory_that_says_it_is_one_and_from_what() -> None:
    world = await _concluded()
    row = world.memory(SO)
    assert (row.is_inference, row.is_latest) == (True, True)
    assert {one.target for one in row.relations} == {world.memory(text).id for text in BEFORE}


async def test_a_conclusion_is_not_the_latest_when_what_it_needs_was_updated_or_forgotten() -> None:
    world = await _concluded()
    await world.say("moved", "I moved to Rome.")
    assert SO not in world.latest()
    assert SO in {row.text for row in world.memories.rows}
    other = await _concluded()
    await other.forgotten(BEFORE[1])
    assert SO not in other.latest()


@pytest.mark.parametrize("name", ["home", "atlas", "so"])
async def test_a_conclusion_is_erased_with_any_document_that_it_needs(name: str) -> None:
    world = await _concluded()
    await world.delete(name)
    assert SO not in {row.text for row in world.memories.rows}


async def test_a_conclusion_comes_back_when_the_update_is_taken_back() -> None:
    world = await _concluded()
    await world.say("moved", "I moved to Rome.")
    await world.delete("moved")
    assert SO in world.latest()


async def test_after_a_restart_conclusions_still_follow() -> None:
    world = await _concluded()
    world.restart()
    await world.delete("atlas")
    assert SO not in {row.text for row in world.memories.rows}
