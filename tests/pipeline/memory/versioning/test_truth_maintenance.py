"""A conclusion holds while all it was drawn from does, and goes with any of it."""

from collections.abc import Sequence

import pytest

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.fact_extractor import ExtractionResult, RuleBasedExtractor, extract_job_facts
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.rows import NamespaceRow
from schemas.events import Relation
from schemas.ids import memory_id
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio

INCARNATION = "alice#0"
CONCLUSION = "User lives in Portugal"
PREMISES = ("User lives in Lisbon", "Lisbon is a town of Portugal")


class ConcludingExtractor(RuleBasedExtractor):
    """Rules, plus a conclusion from two known facts for documents that say `So`."""

    async def extract(self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob]) -> Sequence[ExtractionResult]:
        return [[_conclusion()] if work.text == "So" else extract_job_facts(work) for work in jobs]


def _conclusion() -> CandidateFact:
    needed = tuple(Relation(kind="derives", target=memory_id(INCARNATION, text)) for text in PREMISES)
    return CandidateFact(CONCLUSION, True, None, None, (), is_inference=True, relations=needed)


async def _harness_with_conclusion() -> MemoryHarness:
    world = MemoryHarness()
    world.fact_extractor = ConcludingExtractor()
    world.restart()
    await world.write_and_extract("home", "I live in Lisbon.")
    await world.write_and_extract("atlas", "Lisbon is a town of Portugal.")
    await world.write_and_extract("so", "So")
    return world


async def test_a_conclusion_is_marked_and_names_its_premises() -> None:
    world = await _harness_with_conclusion()
    row = world.memory(CONCLUSION)
    assert (row.is_inference, row.is_latest) == (True, True)
    assert {relation.target for relation in row.relations} == {world.memory(text).id for text in PREMISES}


async def test_a_conclusion_is_not_the_latest_after_a_premise_ends() -> None:
    world = await _harness_with_conclusion()
    await world.write_and_extract("moved", "I moved to Rome.")
    assert CONCLUSION not in world.latest_texts()
    assert CONCLUSION in {row.text for row in world.memories.rows}
    other = await _harness_with_conclusion()
    await other.forget_texts(PREMISES[1])
    assert CONCLUSION not in other.latest_texts()


@pytest.mark.parametrize("name", ["home", "atlas", "so"])
async def test_a_conclusion_is_deleted_with_any_document_it_needs(name: str) -> None:
    world = await _harness_with_conclusion()
    await world.delete_document(name)
    assert CONCLUSION not in {row.text for row in world.memories.rows}


async def test_a_conclusion_returns_when_the_update_is_withdrawn() -> None:
    world = await _harness_with_conclusion()
    await world.write_and_extract("moved", "I moved to Rome.")
    await world.delete_document("moved")
    assert CONCLUSION in world.latest_texts()


async def test_conclusions_are_maintained_after_a_restart() -> None:
    world = await _harness_with_conclusion()
    world.restart()
    await world.delete_document("atlas")
    assert CONCLUSION not in {row.text for row in world.memories.rows}
