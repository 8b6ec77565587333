"""Usage counts agree in whatever order processes hear of each other, and survive a restart."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.usage_counter import UsageCounter, UsageCounts, month_of, publish_usage, replicate_usage
from schemas.events import ApiUsageCounted
from tests.support.fakes import EPOCH, FixedClock

JANUARY = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
FEBRUARY = datetime(2026, 2, 1, tzinfo=UTC)

ACTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["k1", "k2"]), st.integers(0, 5), st.integers(0, 5)),
    max_size=20,
)


def all_published_counts(acts: list[tuple[str, str, int, int]]) -> list[ApiUsageCounted]:
    """Every event that two processes publish while counting these acts."""
    processes = {name: UsageCounter(name) for name in "ab"}
    published = []
    for name, key, documents, searches in acts:
        processes[name].count(key, JANUARY, UsageCounts(documents, searches))
        published.extend(processes[name].drain_unpublished(JANUARY))
    return published


@settings(max_examples=60)
@given(ACTS, st.data())
def test_counts_agree_for_events_in_any_order_and_repeated(
    acts: list[tuple[str, str, int, int]], data: st.DataObject
) -> None:
    published = all_published_counts(acts)
    heard = data.draw(st.permutations(published + published))
    usage = UsageCounter()
    for event in heard:
        usage.merge(event)
    for key in ("k1", "k2"):
        mine = [act for act in acts if act[1] == key]
        assert usage.for_key(key, "2026-01") == UsageCounts(sum(a[2] for a in mine), sum(a[3] for a in mine))
    assert usage.total("2026-01") == UsageCounts(sum(a[2] for a in acts), sum(a[3] for a in acts))


def test_a_process_does_not_count_its_own_events_twice() -> None:
    usage = UsageCounter("a")
    usage.count("k", JANUARY, UsageCounts(2, 1))
    for event in usage.drain_unpublished(JANUARY):
        usage.merge(event)
    assert usage.for_key("k", "2026-01") == usage.total("2026-01") == UsageCounts(2, 1)
    assert usage.drain_unpublished(JANUARY) == []


def test_a_month_begins_at_midnight_in_utc() -> None:
    usage = UsageCounter()
    usage.count("k", JANUARY, UsageCounts(1, 0))
    usage.count("k", FEBRUARY, UsageCounts(0, 1))
    assert (month_of(JANUARY), month_of(FEBRUARY)) == ("2026-01", "2026-02")
    assert usage.for_key("k", "2026-01") == UsageCounts(1, 0)
    assert usage.for_key("k", "2026-02") == UsageCounts(0, 1)
    assert usage.for_key("k", "2026-03") == UsageCounts()


@pytest.mark.anyio
async def test_published_counts_survive_a_restart_and_reach_other_processes(tmp_path: Path) -> None:
    clock = FixedClock()
    month = month_of(EPOCH)
    bus = await SqliteBus.open(tmp_path, partitions=2, clock=clock)
    first, second = UsageCounter(), UsageCounter()
    async with replicate_usage(first, bus, clock), replicate_usage(second, bus, clock):
        first.count("k", clock.now(), UsageCounts(3, 1))
        second.count("k", clock.now(), UsageCounts(1, 1))
        await publish_usage(first, bus, clock)
    await bus.close()
    bus = await SqliteBus.open(tmp_path, partitions=2, clock=clock)
    again = UsageCounter()
    async with replicate_usage(again, bus, clock):
        assert again.for_key("k", month) == UsageCounts(4, 2), "the last words were published at the end"
    await bus.close()
