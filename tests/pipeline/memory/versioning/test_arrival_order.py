"""The latest facts depend on the documents' dates, not on their order of arrival."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.memory.attributes.attribute_extraction import extract_attributes
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio

STATEMENTS = (
    "I live in Berlin.",
    "I moved to Paris.",
    "I live in Rome now.",
    "I no longer live in Rome.",
    "I'm based in Berlin.",
    "I live in East Berlin.",
    "I like tea.",
    "I no longer like tea.",
    "I hate tea.",
    "I'm vegan.",
    "I eat meat.",
    "I'm no longer vegan.",
    "I use Vim.",
    "I switched from Vim to Emacs.",
    "My favourite colour is green.",
    "My favorite color is now blue.",
    "The party is on Saturday.",
    "The party was moved to Sunday.",
    "The party was cancelled.",
    "Ann lives in Rome.",
    "I sing in the church choir.",
    "I quit the choir, too much drama.",
    "I pay 12 euros for Spotify.",
    "Spotify got dearer, I pay 14 euros now.",
    "I work at Volvo.",
    "I'm starting at Polestar on 4 February 2026.",
    "I'm starting at Saab on 6 February 2026 instead.",
)
ARRIVALS = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=9).flatmap(
    lambda story: st.tuples(st.just(story), st.permutations(range(len(story))))
)
"""Statements of successive days, and their order of arrival."""


def _latest_attributes(world: MemoryHarness) -> set[tuple[tuple[str, ...], datetime | None]]:
    """Return the main attributes and values of the latest memories, or their texts, and their ends."""
    return {(_main_attribute(row.text), row.expires_at) for row in world.memories.rows if row.is_latest}


def _main_attribute(text: str) -> tuple[str, ...]:
    attributes = extract_attributes(text)
    return (attributes[0].subject, attributes[0].name, attributes[0].value) if attributes else (text,)


async def _harness_after(story: list[str], order: list[int]) -> MemoryHarness:
    world = MemoryHarness()
    for at in order:
        day = date(2026, 2, 1) + timedelta(days=at)
        await world.write_and_extract(f"d{at}", story[at], date=day.isoformat())
    return world


@pytest.mark.no_cover
@given(ARRIVALS)
@settings(max_examples=80, deadline=None)
async def test_any_order_of_arrival_ends_in_the_same_latest_facts(
    arrivals: tuple[list[str], list[int]],
) -> None:
    story, order = arrivals
    assert _latest_attributes(await _harness_after(story, order)) == _latest_attributes(
        await _harness_after(story, sorted(order))
    )


@pytest.mark.no_cover
@given(ARRIVALS)
@example((["I'm starting at Polestar on 4 February 2026.", "I work at Volvo."], [0, 1]))
@example(
    ([*["I live in Berlin."] * 4, "I work at Volvo.", "I'm starting at Polestar on 4 February 2026."], [*range(6)])
)
@settings(max_examples=40, deadline=None)
async def test_memories_without_updates_are_the_latest_and_each_update_has_a_reason(
    arrivals: tuple[list[str], list[int]],
) -> None:
    rows = (await _harness_after(*arrivals)).memories.rows
    updates = [relation for row in rows for relation in row.relations if relation.kind == "updates"]
    assert {row.id for row in rows if not row.is_latest} == {relation.target for relation in updates}
    assert all(relation.reason and relation.attribute and relation.evidence and relation.score for relation in updates)


async def test_a_denial_does_not_end_the_value_that_replaced_the_denied_one() -> None:
    story = [
        "I live in Berlin.",
        "I no longer live in Rome.",
        "I live in Berlin.",
        "I no longer live in Rome.",
    ]
    rows = (await _harness_after(story, [0, 1, 2, 3])).memories.rows
    assert {row.text for row in rows if row.is_latest} == {
        "User lives in Berlin",
        "User no longer lives in Rome",
    }
