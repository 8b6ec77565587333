"""Inference from two memories: only valid conclusions, in any order of arrival, while both premises hold."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.datasets.conclusions import pairs
from pipeline.memory.formation.derived_memories import MAX_PREMISE_PARTNERS
from pipeline.memory.inference.inference_rules import apply_rules, partner_keys, premise_keys
from schemas.base import Metadata
from schemas.topics import MEMORIES_FORMED
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio

SISTER, HOME = "My sister is Clara.", "Clara lives in Rome."
CONCLUSION = "User's sister Clara lives in Rome"


@pytest.mark.parametrize("half", ["open", "locked"])
def test_conclusions_are_right_and_mostly_complete(half: Literal["open", "locked"]) -> None:
    right = total = 0
    for pair in pairs(half):
        texts = [conclusion.text for conclusion in apply_rules(pair.first, pair.second)]
        total += len(texts)
        right += pair.conclusion in texts
    assert right >= 0.95 * total
    assert right >= 0.75 * sum(pair.conclusion is not None for pair in pairs(half))


def test_labeled_pairs_include_pairs_with_and_without_conclusion() -> None:
    every = [*pairs("open"), *pairs("locked")]
    assert len(every) >= 60
    assert len(pairs("locked")) * 2 >= len(every)
    assert min(Counter(pair.conclusion is None for pair in every).values()) > len(every) / 3


@pytest.mark.parametrize("half", ["open", "locked"])
def test_partner_keys_find_either_premise_from_the_other(
    half: Literal["open", "locked"],
) -> None:
    matching_pairs = [pair for pair in pairs(half) if apply_rules(pair.first, pair.second)]
    assert matching_pairs
    for pair in matching_pairs:
        assert set(premise_keys(pair.first)) & set(partner_keys(pair.second)), pair
        assert set(premise_keys(pair.second)) & set(partner_keys(pair.first)), pair


async def _harness_with(*texts: str) -> MemoryHarness:
    world = MemoryHarness()
    for number, text in enumerate(texts):
        await world.write_and_extract(f"d{number}", text)
    return world


async def test_a_conclusion_records_rule_premises_and_confidence() -> None:
    world = await _harness_with(SISTER, HOME)
    row = world.memory(CONCLUSION)
    premises = {world.memory("User's sister is Clara").id, world.memory("Clara lives in Rome").id}
    assert (row.is_inference, row.is_latest, row.is_static) == (True, True, True)
    assert {relation.target for relation in row.relations} == premises
    for relation in row.relations:
        assert (relation.kind, relation.attribute, relation.score) == ("derives", "role", 0.9)
        assert set((relation.evidence or "").split(" + ")) == premises
        assert "User's sister is Clara" in relation.reason
        assert "Clara lives in Rome" in relation.reason


async def test_both_premises_may_be_in_one_document() -> None:
    assert CONCLUSION in (await _harness_with(f"{SISTER} {HOME}")).latest_texts()


async def test_a_conclusion_ends_when_a_premise_is_updated_forgotten_expired_or_deleted() -> None:
    assert CONCLUSION not in (await _harness_with(SISTER, HOME, "Clara moved to Oslo.")).latest_texts()
    forgotten = await _harness_with(SISTER, HOME)
    await forgotten.forget_texts("User's sister is Clara")
    assert CONCLUSION not in forgotten.latest_texts()
    for name in ("d0", "d1"):
        deleted = await _harness_with(SISTER, HOME)
        deleted.restart()
        await deleted.delete_document(name)
        assert CONCLUSION not in deleted.versions_by_text()
    leave = await _harness_with("My manager is Ana.", "Ana is on leave until 27 November 2026.")
    expiring_text = "User's manager Ana is on leave until 27 November 2026"
    assert expiring_text in leave.latest_texts()
    assert leave.memory("Ana is on leave until 27 November 2026").expires_at is not None
    await leave.forget_texts("Ana is on leave until 27 November 2026")
    assert expiring_text not in leave.latest_texts()


async def test_an_updated_premise_yields_a_new_conclusion() -> None:
    world = await _harness_with(SISTER, HOME, "Clara lives in Oslo.")
    assert "User's sister Clara lives in Oslo" in world.latest_texts()
    await world.delete_document("d2")
    assert CONCLUSION in world.latest_texts()


async def test_conclusions_and_forgotten_memories_are_no_premises() -> None:
    world = await _harness_with(SISTER)
    await world.forget_texts("User's sister is Clara")
    await world.write_and_extract("d1", HOME)
    assert world.latest_texts() == {"Clara lives in Rome"}
    chain = await _harness_with("My mother is Eva.", "Eva's mother is Rosa.", "Rosa's mother is Ida.")
    derived = {row.text for row in chain.memories.rows if row.is_inference}
    assert derived == {"User's grandmother is Rosa", "Eva's grandmother is Ida"}


@pytest.mark.parametrize("groups", [({"a": "1"}, {"a": "2"}), ({"a": "1"}, None), (None, {"a": "1"})])
async def test_premises_of_different_groups_are_not_combined(
    groups: tuple[Metadata | None, Metadata | None],
) -> None:
    world = MemoryHarness()
    for group, text in zip(groups, (SISTER, HOME), strict=True):
        row = await world.write_document(text, text, group=group)
        await world.relate.handle(await world.extract(row))
    assert CONCLUSION not in world.latest_texts()


async def test_premises_of_one_group_are_combined() -> None:
    world = MemoryHarness()
    for text in (SISTER, HOME):
        row = await world.write_document(text, text, group={"a": "1"})
        await world.relate.handle(await world.extract(row))
    assert CONCLUSION in world.latest_texts()


async def test_a_name_shared_by_too_many_memories_yields_nothing() -> None:
    document = " ".join(f"Person{chr(65 + at)}'s sister is Clara." for at in range(MAX_PREMISE_PARTNERS + 1))
    world = await _harness_with(document, HOME)
    assert not [row for row in world.memories.rows if row.is_inference]


STATEMENTS = (
    SISTER,
    "Clara is my sister.",
    HOME,
    "Clara moved to Oslo.",
    "Clara works at Acme.",
    "Acme is based in Berlin.",
    "Oslo is in Norway.",
    "Clara's son is Finn.",
    f"{SISTER} {HOME}",
    "I like tea.",
)
ARRIVALS = st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=6).flatmap(
    lambda story: st.tuples(st.just(story), st.permutations(range(len(story))))
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "delete", "restart"]),
        st.sampled_from("abc"),
        st.sampled_from(STATEMENTS),
    ),
    max_size=9,
)


def _graph(world: MemoryHarness) -> set[tuple[str, str | None, frozenset[str]]]:
    """Return the current conclusions with their dates and the texts of their premises."""
    texts = {row.id: row.text for row in world.memories.rows}
    return {
        (row.text, row.date, frozenset(texts[relation.target] for relation in row.relations))
        for row in world.memories.rows
        if row.is_inference and row.is_latest
    }


async def _harness_after(story: Sequence[str], order: Sequence[int]) -> MemoryHarness:
    world = MemoryHarness()
    for at in order:
        await world.write_and_extract(f"d{at}", story[at], date=f"2026-02-{at + 1:02}")
    return world


@given(ARRIVALS)
@example(([SISTER, "Clara moved to Oslo.", SISTER, "Clara moved to Oslo."], [3, 1, 2, 0]))
@settings(max_examples=25, deadline=None)
async def test_any_order_of_arrival_leads_to_the_same_conclusions(
    arrivals: tuple[list[str], list[int]],
) -> None:
    story, order = arrivals
    assert _graph(await _harness_after(story, order)) == _graph(await _harness_after(story, range(len(story))))


@given(STEPS, st.integers(1, 9))
@example([("say", "b", SISTER), ("say", "c", HOME), ("say", "a", SISTER), ("delete", "b", "")], 1)
@settings(max_examples=30, deadline=None)
async def test_a_replay_yields_the_same_conclusions_in_any_batch_size(
    steps: list[tuple[str, str, str]], size: int
) -> None:
    world = MemoryHarness()
    for verb, name, text in steps:
        match verb:
            case "say":
                await world.write_and_extract(name, text)
            case "delete":
                await world.delete_document(name)
            case _:
                world.restart()
    other = MemoryHarness()
    for row in world.documents.rows:
        await other.documents.update([row.key], lambda _, __, row=row: [row])  # type: ignore[misc]  # bound per turn
    records = world.publisher.records(MEMORIES_FORMED)
    for begin in range(0, len(records), size):
        await other.relate.handle(records[begin : begin + size])
    assert other.comparable_state() == world.comparable_state()
