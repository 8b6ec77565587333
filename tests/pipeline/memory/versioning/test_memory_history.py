"""Memories as they were: versions of what was stated by then, and nothing of what is to stay forgotten."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.doubles.sample_rows import memory_row
from pipeline.memory.versioning.memory_history import memories_as_of
from pipeline.memory.versioning.provenance import EXPIRED_REASON, build_row
from pipeline.rows import MemoryRow, ProvenanceEntry
from schemas.events import Relation

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return BEGIN + timedelta(days=number)


def memory(
    text: str,
    since: int,
    *,
    updates: tuple[str, ...] = (),
    derives: tuple[str, ...] = (),
    forgotten: int | None = None,
    reason: str = "",
) -> MemoryRow:
    """Build a memory whose id is its text, stated by one document since that day."""
    relations = [Relation(kind="updates", target=target) for target in updates]
    relations += [Relation(kind="derives", target=target) for target in derives]
    statement = ProvenanceEntry(
        document=f"document of {text}",
        first_stated_seq=since,
        seq=since,
        first_stated_at=day(since),
        effective_at=day(since),
        source_order_time=day(since),
        relations=tuple(relations),
        forgotten_at=None if forgotten is None else day(forgotten),
        forget_reason=None if forgotten is None else reason,
    )
    row = memory_row(text, text, (), day(since), is_inference=bool(derives))
    built = build_row(row, [statement])
    assert built is not None
    return built


HISTORY = (
    memory("Ada lives in Rome", 1),
    memory("Ada lives in Oslo", 3, updates=("Ada lives in Rome",)),
    memory("Ada lives in Lima", 5, updates=("Ada lives in Oslo", "Ada lives in Rome")),
)


def latest_texts(rows: tuple[MemoryRow, ...], moment: float, *, forgotten: bool = False) -> set[str]:
    rows_then = memories_as_of(rows, BEGIN + timedelta(days=moment), include_forgotten=forgotten).rows
    return {row.id for row in rows_then if row.is_latest and row.forgotten_at is None}


@pytest.mark.parametrize(
    ("moment", "city"), [(1, "Rome"), (2.9, "Rome"), (3, "Oslo"), (4.9, "Oslo"), (5, "Lima"), (99, "Lima")]
)
def test_the_latest_version_is_that_of_the_moment(moment: float, city: str) -> None:
    assert latest_texts(HISTORY, moment) == {f"Ada lives in {city}"}
    assert latest_texts(HISTORY, 0.9) == set()


@pytest.mark.parametrize("forgotten", range(3))
def test_a_version_before_a_memory_forgotten_by_then_is_superseded_and_not_forgotten(forgotten: int) -> None:
    rows = tuple(
        memory(row.id, 1 + 2 * at, updates=tuple(relation.target for relation in row.relations), forgotten=9)
        if at == forgotten
        else row
        for at, row in enumerate(HISTORY)
    )
    past = memories_as_of(rows, day(10))
    assert not past.hidden_ids
    assert [row.id for row in past.rows if row.forgotten_at is not None] == [rows[forgotten].id]


@given(st.floats(0, 10), st.sets(st.sampled_from(range(3))))
@settings(max_examples=50)
def test_unstated_and_forgotten_memories_are_not_current(moment: float, hidden: set[int]) -> None:
    rows = tuple(
        memory(row.id, 1 + 2 * at, updates=tuple(relation.target for relation in row.relations), forgotten=9)
        if at in hidden
        else row
        for at, row in enumerate(HISTORY)
    )
    seen = latest_texts(rows, moment)
    assert len(seen) <= 1
    assert all(row.created_at <= BEGIN + timedelta(days=moment) for row in rows if row.id in seen)
    if hidden:
        gone = {row.id for row in rows[: max(hidden) + 1]}
        assert not seen & gone, "neither what was forgotten nor the versions before it"
    asked = latest_texts(rows, moment, forgotten=True)
    assert asked == (latest_texts(HISTORY, moment) if moment < 9 or 2 not in hidden else set())


def test_a_conclusion_is_hidden_with_its_premise() -> None:
    rows = (
        memory("Ada is allergic to nuts", 1, forgotten=5),
        memory("Ada can't eat marzipan", 2, derives=("Ada is allergic to nuts",)),
    )
    assert latest_texts(rows, 3) == set()
    assert latest_texts(rows, 3, forgotten=True) == {"Ada is allergic to nuts", "Ada can't eat marzipan"}
    assert memories_as_of(rows, day(3)).hidden_ids == {"Ada is allergic to nuts"}


def test_an_expired_memory_was_current_before() -> None:
    rows = (memory("Ada is on leave until Friday", 1, forgotten=4, reason=EXPIRED_REASON),)
    assert latest_texts(rows, 3) == {"Ada is on leave until Friday"}
    assert latest_texts(rows, 4) == set()
