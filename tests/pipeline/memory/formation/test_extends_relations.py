"""`extends` relations: to the best older memory, by rare shared words, within the group."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.datasets.relations import Pair, pairs
from pipeline.memory.attributes.attribute import is_equivalent
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.formation.extends_relations import find_extends_relation
from pipeline.memory.versioning.fact_comparison import find_contradiction
from pipeline.ports import NearestMemories, NearestMemory
from pipeline.rows import MemoryRow
from pipeline.text.analyzer import hash_terms
from schemas.events import Relation
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio


def _extended_memories(world: MemoryHarness, text: str) -> list[tuple[str, Relation]]:
    rows: dict[str, MemoryRow] = {row.id: row for row in world.memories.rows}
    return [
        (rows[relation.target].text, relation)
        for relation in world.memory(text).relations
        if relation.kind == "extends"
    ]


async def test_a_detail_extends_its_memory_and_gives_the_reason() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I have a motorbike. I like tea. I live in Lisbon.")
    await world.write_and_extract("b", "I ride my motorbike along the coast.")
    ((text, relation),) = _extended_memories(world, "User rides their motorbike along the coast")
    assert text == "User has a motorbike"
    assert relation.evidence == "motorbik"
    assert relation.score is not None
    assert 0 < relation.score <= 1
    assert world.latest_texts() >= {"User has a motorbike", "User rides their motorbike along the coast"}


async def test_a_restated_fact_keeps_its_parent() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I have a motorbike.")
    await world.write_and_extract("b", "I ride my motorbike along the coast.")
    await world.write_and_extract("c", "I repaired my motorbike in the yard.")
    before = _extended_memories(world, "User rides their motorbike along the coast")
    await world.write_and_extract("d", "I ride my motorbike along the coast.")
    assert _extended_memories(world, "User rides their motorbike along the coast") == before


async def test_a_fact_extends_an_earlier_one_of_its_document() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I have a motorbike. I ride my motorbike to the lake.")
    assert [text for text, _ in _extended_memories(world, "User rides their motorbike to the lake")] == [
        "User has a motorbike"
    ]


async def test_facts_of_different_groups_are_unrelated() -> None:
    world = MemoryHarness()
    for team in ("red", "blue"):
        for name, text in (("one", "I have a motorbike. I live in Rome."), ("two", "I live in Oslo.")):
            row = await world.write_document(f"{team}-{name}", text, group={"team": team})
            await world.relate.handle(await world.extract(row))
    row = await world.write_document("red-three", "I ride my motorbike along the coast.", group={"team": "red"})
    await world.relate.handle(await world.extract(row))
    by_id = {row.id: row for row in world.memories.rows}
    for memory in by_id.values():
        related = {team for relation in memory.relations for team in _teams(world, by_id[relation.target])}
        assert len(_teams(world, memory)) == 1
        assert related <= _teams(world, memory)
    assert len(_extended_memories(world, "User rides their motorbike along the coast")) == 1
    assert sorted(row.text for row in by_id.values() if row.is_latest and "lives" in row.text) == [
        "User lives in Oslo",
        "User lives in Oslo",
    ]


def _teams(world: MemoryHarness, memory: MemoryRow) -> set[str]:
    groups = [world.documents.rows_by_key[source][0].group_metadata or {} for source in memory.sources]
    return {str(group["team"]) for group in groups}


def _neighbors_of(texts: list[str]) -> NearestMemories:
    held = [set(hash_terms(text).tolist()) for text in texts]
    terms = set().union(*held)
    return NearestMemories(len(texts), {term: sum(term in text_terms for text_terms in held) for term in terms})


@pytest.mark.parametrize(("text", "other"), [
    ("User lives in Rome", "User lived near the sea"),
    ("Ann rides a motorbike", "User has a motorbike"),
    ("User no longer rides a motorbike", "User has a motorbike"),
    ("User has a motorbike", "User has a motorbike"),
])  # fmt: skip
def test_a_verb_another_subject_a_denial_or_itself_extends_nothing(text: str, other: str) -> None:
    assert find_extends_relation(text, [NearestMemory("x", other)], _neighbors_of([other])) is None


@pytest.mark.parametrize(("text", "other", "evidence"), [
    ("Lea's son is called Felix", "Lea has one son", "son"),
    ("The party on Saturday has a seventies theme", "The party is on Saturday", "on Saturday"),
    ("User runs with a club on Sundays", "User runs 20 km a week", "runs"),
    ("Ann learned skiing in Zermatt", "Ann loves skiing", "skiing"),
    ("Kai has a season ticket for Arsenal", "Kai's favorite team is Arsenal", "Arsenal"),
])  # fmt: skip
def test_a_matching_sentence_pattern_extends_despite_common_words(text: str, other: str, evidence: str) -> None:
    relation = find_extends_relation(text, [NearestMemory("x", other)], _neighbors_of([other] * 1000))
    assert relation is not None
    assert relation.evidence == evidence


@pytest.mark.parametrize(("text", "other"), [
    ("Melanie will always remember the camping trip when they saw the meteors", "Melanie went on a camping trip"),
    ("Nate won another regional chess tournament by a hair", "Nate won a chess tournament"),
    ("Nate won the chess tournament in Leeds in April 2022", "Nate has a chess tournament in May 2022"),
    ("Nate took the turtles to the beach in Tampa", "Nate just took the turtles for a walk"),
])  # fmt: skip
def test_another_event_extends_none_that_is_over(text: str, other: str) -> None:
    assert find_extends_relation(text, [NearestMemory("x", other)], _neighbors_of([other])) is None


@pytest.mark.parametrize(("text", "other"), [
    ("Leo married Eva in a chapel in Siena", "Leo married Eva"),
    ("Ann's new van needs a gearbox", "Ann bought a van"),
    ("Nate won the chess tournament in Leeds with a sacrifice", "Nate won the chess tournament"),
])  # fmt: skip
def test_an_event_told_again_or_what_it_began_may_be_extended(text: str, other: str) -> None:
    assert find_extends_relation(text, [NearestMemory("x", other)], _neighbors_of([other])) is not None


WORDS = st.lists(
    st.sampled_from(["Ann", "Ann's", "runs", "is", "on", "has", "a", "dog", "cold", "brew", "loves", "learned", "to"]),
    min_size=1,
    max_size=6,
).map(" ".join)


@given(WORDS, WORDS)
@settings(max_examples=150, deadline=None)
def test_any_pair_of_texts_is_compared_and_none_extends_itself(text: str, other: str) -> None:
    find_extends_relation(text, [NearestMemory("x", other)], _neighbors_of([other]))
    assert find_extends_relation(text, [NearestMemory("x", text)], _neighbors_of([text])) is None


@pytest.mark.parametrize("half", ["open", "locked", "details"])
def test_extends_relations_are_mostly_right_and_mostly_found(half: str) -> None:
    all_of = pairs(half)  # type: ignore[arg-type]  # one of three
    near = _neighbors_of(sorted({pair.old for pair in all_of}))
    seen = [pair for pair in all_of if _is_more(pair, near)]
    right = [pair for pair in seen if pair.verdict == "extends"]
    assert len(right) >= 0.8 * len(seen)
    assert len(right) >= 0.6 * sum(pair.verdict == "extends" for pair in all_of)


def _is_more(pair: Pair, near: NearestMemories) -> bool:
    """Return whether extraction would extend the older fact; updates and repetitions are excluded."""
    ours, theirs = comparable_attributes(pair.new), comparable_attributes(pair.old)
    if find_contradiction(ours, theirs) or any(
        is_equivalent(new_attribute, old_attribute) for new_attribute in ours for old_attribute in theirs
    ):
        return False
    return find_extends_relation(pair.new, [NearestMemory("x", pair.old)], near) is not None
