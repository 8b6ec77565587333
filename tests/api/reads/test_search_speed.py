"""Speed of searches, from the buckets of a histogram."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from api.reads.service_status import search_speed
from pipeline.runtime.metrics import REQUEST_BUCKETS, Metrics


def test_searches_are_counted_by_how_long_they_took() -> None:
    metrics = Metrics()
    for _ in range(3):
        with metrics.time_search():
            pass
    speed = search_speed(metrics.search_buckets())
    assert speed.count == sum(speed.by_bucket) == 3
    assert speed.bounds == [bound * 1000 for bound in REQUEST_BUCKETS]


def test_before_the_first_search_there_is_no_speed() -> None:
    speed = search_speed(Metrics().search_buckets())
    assert (speed.count, speed.median, speed.p99) == (0, None, None)


def test_a_quantile_lies_within_its_bucket_in_proportion() -> None:
    speed = search_speed({0.01: 0, 0.02: 100, inf: 100})
    assert (speed.median, speed.p99) == (15.0, 19.9)
    assert speed.by_bucket == [0, 100, 0]


def test_beyond_the_last_bound_the_bound_is_said() -> None:
    assert search_speed({0.01: 0, inf: 5}).median == 10.0


@given(st.lists(st.integers(0, 50), min_size=2, max_size=10))
def test_the_median_is_never_above_the_99th_percentile(counts: list[int]) -> None:
    total = 0
    buckets = {}
    for at, count in enumerate(counts):
        total += count
        buckets[inf if at == len(counts) - 1 else 0.001 * 2**at] = total
    speed = search_speed(buckets)
    assert speed.by_bucket == counts
    if speed.median is not None and speed.p99 is not None:
        assert 0 <= speed.median <= speed.p99
