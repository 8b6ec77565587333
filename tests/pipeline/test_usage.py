"""Counts agree in whatever order processes hear of each other, and survive the process."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.log import LogBus
from pipeline.usage import Counts, Usage, keeping, month_of, tell
from schemas.events import UsageCounted
from tests.fakes import EPOCH, FixedClock

JANUARY = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
FEBRUARY = datetime(2026, 2, 1, tzinfo=UTC)

ACTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["k1", "k2"]), st.integers(0, 5), st.integers(0, 5)),
    max_size=20,
)


def counted(acts: list[tuple[str, str, int, int]]) -> list[UsageCounted]:
    """Everything that two processes told while they counted these."""
    processes = {name: Usage(name) for name in "ab"}
    told = []
    for name, key, documents, searches in acts:
        processes[name].count(key, JANUARY, Counts(documents, searches))
        told.extend(processes[name].untold(JANUARY))
    return told


@settings(max_examples=60)
@given(ACTS, st.data())
def test_told_in_any_order_and_again_the_counts_are_the_same(
    acts: list[tuple[str, str, int, int]], data: st.DataObject
) -> None:
    told = counted(acts)
    heard = data.draw(st.permutations(told + told))
    usage = Usage()
    for event in heard:
        usage.take(event)
    for key in ("k1", "k2"):
        mine = [act for act in acts if act[1] == key]
        assert usage.of_key(key, "2026-01") == Counts(sum(a[2] for a in mine), sum(a[3] for a in mine))
    assert usage.of_all("2026-01") == Counts(sum(a[2] for a in acts), sum(a[3] for a in acts))


def test_a_process_does_not_count_its_own_words_twice() -> None:
    usage = Usage("a")
    usage.count("k", JANUARY, Counts(2, 1))
    for event in usage.untold(JANUARY):
        usage.take(event)
    assert usage.of_key("k", "2026-01") == usage.of_all("2026-01") == Counts(2, 1)
    assert usage.untold(JANUARY) == []


def test_a_month_begins_at_midnight_in_utc() -> None:
    usage = Usage()
    usage.count("k", JANUARY, Counts(1, 0))
    usage.count("k", FEBRUARY, Counts(0, 1))
    assert (month_of(JANUARY), month_of(FEBRUARY)) == ("2026-01", "2026-02")
    assert usage.of_key("k", "2026-01") == Counts(1, 0)
    assert usage.of_key("k", "2026-02") == Counts(0, 1)
    assert usage.of_key("k", "2026-03") == Counts()


@pytest.mark.anyio
async def test_what_was_told_is_known_after_a_restart_and_to_the_others(tmp_path: Path) -> None:
    clock = FixedClock()
    month = month_of(EPOCH)
    bus = await LogBus.open(tmp_path, partitions=2, clock=clock)
    one, other = Usage(), Usage()
    async with keeping(one, bus, clock), keeping(other, bus, clock):
        one.count("k", clock.now(), Counts(3, 1))
        other.count("k", clock.now(), Counts(1, 1))
        await tell(one, bus, clock)
    await bus.close()
    bus = await LogBus.open(tmp_path, partitions=2, clock=clock)
    again = Usage()
    async with keeping(again, bus, clock):
        assert again.of_key("k", month) == Counts(4, 2), "the last words were told at the end"
    await bus.close()
