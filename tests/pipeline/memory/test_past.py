"""Memories as they were: versions of what was stated by then, and nothing of what is to stay forgotten."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.past import past
from pipeline.memory.statements import OVER, composed
from pipeline.rows import MemoryRow, Statement
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
    """A memory whose id is its text, stated by one document since that day."""
    relations = [Relation(kind="updates", target=one) for one in updates]
    relations += [Relation(kind="derives", target=one) for one in derives]
    statement = Statement(
        document=f"document of {text}",
        since_seq=since,
        seq=since,
        since=day(since),
        at=day(since),
        placed=day(since),
        relations=tuple(relations),
        forgotten_at=None if forgotten is None else day(forgotten),
        forget_reason=None if forgotten is None else reason,
    )
    row = MemoryRow(
        id=text,
        space="ada#0",
        text=text,
        sources=(),
        seq=0,
        created_at=day(since),
        updated_at=day(since),
        vector=np.zeros(0, np.float32),
        terms=np.zeros(0, np.uint32),
        is_inference=bool(derives),
    )
    made = composed(row, [statement])
    assert made is not None
    return made


HISTORY = (
    memory("Ada lives in Rome", 1),
    memory("Ada lives in Oslo", 3, updates=("Ada lives in Rome",)),
    memory("Ada lives in Lima", 5, updates=("Ada lives in Oslo", "Ada lives in Rome")),
)


def current(rows: tuple[MemoryRow, ...], moment: float, *, forgotten: bool = False) -> set[str]:
    found = past(rows, BEGIN + timedelta(days=moment), forgotten=forgotten).rows
    return {row.id for row in found if row.is_latest and row.forgotten_at is None}


@pytest.mark.parametrize(
    ("moment", "city"), [(1, "Rome"), (2.9, "Rome"), (3, "Oslo"), (4.9, "Oslo"), (5, "Lima"), (99, "Lima")]
)
def test_the_latest_is_that_of_the_moment(moment: float, city: str) -> None:
    assert current(HISTORY, moment) == {f"Ada lives in {city}"}
    assert current(HISTORY, 0.9) == set()


@given(st.floats(0, 10), st.sets(st.sampled_from(range(3))))
@settings(max_examples=50)
def test_nothing_is_current_that_nobody_had_stated_or_that_is_forgotten_now(
    moment: float, hidden: set[int]
) -> None:
    rows = tuple(
        memory(row.id, 1 + 2 * at, updates=tuple(one.target for one in row.relations), forgotten=9)
        if at in hidden
        else row
        for at, row in enumerate(HISTORY)
    )
    seen = current(rows, moment)
    assert len(seen) <= 1
    assert all(row.created_at <= BEGIN + timedelta(days=moment) for row in rows if row.id in seen)
    if hidden:
        gone = {row.id for row in rows[: max(hidden) + 1]}
        assert not seen & gone, "neither what was forgotten nor the versions before it"
    asked = current(rows, moment, forgotten=True)
    assert asked == (current(HISTORY, moment) if moment < 9 or 2 not in hidden else set())


def test_a_conclusion_goes_with_what_it_was_drawn_from() -> None:
    rows = (
        memory("Ada is allergic to nuts", 1, forgotten=5),
        memory("Ada can't eat marzipan", 2, derives=("Ada is allergic to nuts",)),
    )
    assert current(rows, 3) == set()
    assert current(rows, 3, forgotten=True) == {"Ada is allergic to nuts", "Ada can't eat marzipan"}
    assert past(rows, day(3)).withheld == {"Ada is allergic to nuts"}


def test_what_was_over_by_its_own_words_was_not_so_before() -> None:
    rows = (memory("Ada is on leave until Friday", 1, forgotten=4, reason=OVER),)
    assert current(rows, 3) == {"Ada is on leave until Friday"}
    assert current(rows, 4) == set()
