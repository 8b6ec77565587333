"""What adds detail to a memory extends it: the best one, found by rare words, within its group."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.details import parent
from pipeline.memory.relations import replaced
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import repeats
from pipeline.ports import Neighbour, Neighbours
from pipeline.rows import MemoryRow
from pipeline.text.terms import hashed
from schemas.events import Relation
from tests.data.relations import Pair, pairs
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio


def _extended(world: World, text: str) -> list[tuple[str, Relation]]:
    rows: dict[str, MemoryRow] = {row.id: row for row in world.memories.rows}
    return [(rows[one.target].text, one) for one in world.memory(text).relations if one.kind == "extends"]


async def test_a_detail_extends_the_memory_that_it_says_more_about_and_says_why() -> None:
    world = World()
    await world.say("a", "I have a motorbike. I like tea. I live in Lisbon.")
    await world.say("b", "I ride my motorbike along the coast.")
    ((text, relation),) = _extended(world, "User rides their motorbike along the coast")
    assert text == "User has a motorbike"
    assert relation.evidence == "motorbik"
    assert relation.score is not None
    assert 0 < relation.score <= 1
    assert world.latest() >= {"User has a motorbike", "User rides their motorbike along the coast"}


async def test_what_is_said_again_keeps_the_parent_it_has() -> None:
    world = World()
    await world.say("a", "I have a motorbike.")
    await world.say("b", "I ride my motorbike along the coast.")
    await world.say("c", "I repaired my motorbike in the yard.")
    before = _extended(world, "User rides their motorbike along the coast")
    await world.say("d", "I ride my motorbike along the coast.")
    assert _extended(world, "User rides their motorbike along the coast") == before


async def test_a_document_says_more_about_what_it_said_itself() -> None:
    world = World()
    await world.say("a", "I have a motorbike. I ride my motorbike to the lake.")
    assert [text for text, _ in _extended(world, "User rides their motorbike to the lake")] == [
        "User has a motorbike"
    ]


async def test_a_group_neither_extends_nor_updates_nor_shares_what_others_state() -> None:
    world = World()
    for team in ("red", "blue"):
        for name, said in (("one", "I have a motorbike. I live in Rome."), ("two", "I live in Oslo.")):
            row = await world.write(f"{team}-{name}", said, group={"team": team})
            await world.relate.handle(await world.formed(row))
    row = await world.write("red-three", "I ride my motorbike along the coast.", group={"team": "red"})
    await world.relate.handle(await world.formed(row))
    by_id = {one.id: one for one in world.memories.rows}
    for memory in by_id.values():
        related = {team for one in memory.relations for team in _teams(world, by_id[one.target])}
        assert len(_teams(world, memory)) == 1
        assert related <= _teams(world, memory)
    assert len(_extended(world, "User rides their motorbike along the coast")) == 1
    assert sorted(one.text for one in by_id.values() if one.is_latest and "lives" in one.text) == [
        "User lives in Oslo",
        "User lives in Oslo",
    ]


def _teams(world: World, memory: MemoryRow) -> set[str]:
    groups = [world.documents.groups[source][0].group or {} for source in memory.sources]
    return {str(group["team"]) for group in groups}


def _near(texts: list[str]) -> Neighbours:
    held = [set(hashed(text).tolist()) for text in texts]
    terms = set().union(*held)
    return Neighbours(len(texts), {term: sum(term in one for one in held) for term in terms})


@pytest.mark.parametrize(("text", "other"), [
    ("User lives in Rome", "User lived near the sea"),
    ("Ann rides a motorbike", "User has a motorbike"),
    ("User no longer rides a motorbike", "User has a motorbike"),
    ("User has a motorbike", "User has a motorbike"),
])  # fmt: skip
def test_nothing_is_extended_by_a_verb_by_another_subject_by_a_denial_or_by_itself(
    text: str, other: str
) -> None:
    assert parent(text, [Neighbour("x", other)], _near([other])) is None


@pytest.mark.parametrize(("text", "other", "evidence"), [
    ("Lea's son is called Felix", "Lea has one son", "son"),
    ("The party on Saturday has a seventies theme", "The party is on Saturday", "on Saturday"),
    ("User runs with a club on Sundays", "User runs 20 km a week", "runs"),
    ("Ann learned skiing in Zermatt", "Ann loves skiing", "skiing"),
    ("Kai has a season ticket for Arsenal", "Kai's favorite team is Arsenal", "Arsenal"),
])  # fmt: skip
def test_what_takes_up_another_by_its_form_extends_it_however_common_its_words_are(
    text: str, other: str, evidence: str
) -> None:
    relation = parent(text, [Neighbour("x", other)], _near([other] * 1000))
    assert relation is not None
    assert relation.evidence == evidence


WORDS = st.lists(
    st.sampled_from(
        ["Ann", "Ann's", "runs", "is", "on", "has", "a", "dog", "cold", "brew", "loves", "learned", "to"]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)


@given(WORDS, WORDS)
@settings(max_examples=150, deadline=None)
def test_whatever_is_compared_has_an_answer_and_nothing_extends_itself(text: str, other: str) -> None:
    parent(text, [Neighbour("x", other)], _near([other]))
    assert parent(text, [Neighbour("x", text)], _near([text])) is None


@pytest.mark.parametrize("half", ["open", "locked", "details"])
def test_what_is_said_to_add_detail_mostly_does_and_most_details_are_seen(half: str) -> None:
    all_of = pairs(half)  # type: ignore[arg-type]  # one of three
    near = _near(sorted({one.old for one in all_of}))
    seen = [one for one in all_of if _is_more(one, near)]
    right = [one for one in seen if one.verdict == "extends"]
    assert len(right) >= 0.8 * len(seen)
    assert len(right) >= 0.6 * sum(one.verdict == "extends" for one in all_of)


def _is_more(pair: Pair, near: Neighbours) -> bool:
    """As they are formed: what updates or repeats the older is not asked."""
    ours, theirs = slots(pair.new), slots(pair.old)
    if replaced(ours, theirs) or any(repeats(one, other) for one in ours for other in theirs):
        return False
    return parent(pair.new, [Neighbour("x", pair.old)], near) is not None
