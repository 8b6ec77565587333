"""Facts formed by two processes at once, neither of which knows the other's, make one graph."""

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.stage import Record
from schemas.events import MemoriesFormed
from tests.pipeline.memory.versioning.test_arrival_order import STATEMENTS
from tests.support.memory_harness import MemoryHarness

pytestmark = pytest.mark.anyio

_FIRST = "I live in Berlin."
CITIES = st.integers(min_value=1, max_value=6).map(lambda count: [f"I live in City{at}." for at in range(count)])
STORIES = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=7)


def _schedules(stories: st.SearchStrategy[list[str]]) -> st.SearchStrategy[tuple[list[str], list[int], list[int]]]:
    """Return stories with the process that forms each statement, and how many events are applied before."""
    return stories.flatmap(
        lambda story: st.tuples(
            st.just(story),
            st.lists(st.integers(0, 1), min_size=len(story), max_size=len(story)),
            st.lists(st.integers(0, 2), min_size=len(story), max_size=len(story)),
        )
    )


async def _form(
    story: Sequence[str], processes: Sequence[int], applied: Sequence[int]
) -> tuple[MemoryHarness, list[Record[MemoriesFormed]]]:
    """Form each statement in its process, while earlier ones are still on their way to the table."""
    world = MemoryHarness()
    extractors = [world.memory_extractor, world.another_process()]
    row = await world.write_document("first", _FIRST, date="2026-01-31")
    formed = await world.extract(row)
    await world.relate.handle(formed)
    waiting: list[Record[MemoriesFormed]] = []
    for at, text in enumerate(story):
        world.memory_extractor = extractors[processes[at]]
        day = date(2026, 2, 1) + timedelta(days=at)
        records = await world.extract(await world.write_document(f"d{at}", text, date=day.isoformat()))
        formed += records
        waiting += records
        await world.relate.handle(waiting[: applied[at]])
        del waiting[: applied[at]]
    await world.relate.handle(waiting)
    return world, formed


@given(_schedules(CITIES))
@settings(max_examples=30, deadline=None)
async def test_only_the_last_of_facts_formed_at_once_is_the_latest(
    schedule: tuple[list[str], list[int], list[int]],
) -> None:
    world, _ = await _form(*schedule)
    assert world.latest_texts() == {f"User lives in City{len(schedule[0]) - 1}"}


@given(_schedules(STORIES), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
async def test_events_make_one_graph_in_any_order_and_when_applied_again(
    schedule: tuple[list[str], list[int], list[int]], random: Random
) -> None:
    world, formed = await _form(*schedule)
    graph = world.comparable_state()
    await world.relate.handle(formed)
    assert world.comparable_state() == graph, "delivered again"
    world.memories.rows_by_key.clear()
    world.restart()
    shuffled = list(formed)
    random.shuffle(shuffled)
    for one in shuffled:
        await world.relate.handle([one])
    assert world.comparable_state() == graph, "in another order"
