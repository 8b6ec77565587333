"""In whatever order documents arrive, what their dates say decides which facts are the latest."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.slots.reading import slots
from tests.pipeline.memory.world import World

pytestmark = pytest.mark.anyio

SAID = (
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
)
STORIES = st.lists(st.sampled_from(SAID), min_size=1, max_size=9).flatmap(
    lambda story: st.tuples(st.just(story), st.permutations(range(len(story))))
)
"""What was said day by day, and the order in which it arrives."""


def _facts(world: World) -> set[tuple[str, ...]]:
    """What the latest memories say, in whatever words: their main attribute and its value, or the text."""
    return {_said(row.text) for row in world.memories.rows if row.is_latest}


def _said(text: str) -> tuple[str, ...]:
    found = slots(text)
    return (found[0].subject, found[0].attribute, found[0].value) if found else (text,)


async def _told(story: list[str], order: list[int]) -> World:
    world = World()
    for at in order:
        day = date(2026, 2, 1) + timedelta(days=at)
        await world.say(f"d{at}", story[at], date=day.isoformat())
    return world


@given(STORIES)
@settings(max_examples=80, deadline=None)
async def test_any_order_of_arrival_ends_in_the_same_latest_facts(told: tuple[list[str], list[int]]) -> None:
    story, order = told
    assert _facts(await _told(story, order)) == _facts(await _told(story, sorted(order)))


@given(STORIES)
@settings(max_examples=40, deadline=None)
async def test_the_latest_is_what_no_other_says_it_updates_and_each_update_says_why(
    told: tuple[list[str], list[int]],
) -> None:
    rows = (await _told(*told)).memories.rows
    updates = [one for row in rows for one in row.relations if one.kind == "updates"]
    assert {row.id for row in rows if not row.is_latest} == {one.target for one in updates}
    assert all(one.why and one.slot and one.evidence and one.score for one in updates)


async def test_what_ends_one_value_does_not_end_another_that_ended_it_before() -> None:
    story = [
        "I live in Berlin.",
        "I no longer live in Rome.",
        "I live in Berlin.",
        "I no longer live in Rome.",
    ]
    rows = (await _told(story, [0, 1, 2, 3])).memories.rows
    assert {row.text for row in rows if row.is_latest} == {
        "User lives in Berlin",
        "User no longer lives in Rome",
    }
