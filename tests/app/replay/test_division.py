"""A division has partitions and shards of its own, and together divisions hold everything once."""

from hypothesis import given
from hypothesis import strategies as st

from app.replay.division import (
    Division,
    count_divisions,
    division_of,
    incarnations_across_divisions,
    partitions_of,
)
from pipeline.store.lancedb.sharded_table import shard_of
from schemas.ids import partition
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED

TOPICS = (DOCUMENTS_SUBMITTED, DOCUMENTS_EXTRACTED)
COUNTS = st.integers(1, 24)
INCARNATIONS = st.text("abcXYZ019:_-", min_size=1, max_size=20).map("{}#0".format)


def _ends(submitted: int, extracted: int) -> dict[str, dict[int, int]]:
    return {
        DOCUMENTS_SUBMITTED.name: dict.fromkeys(range(submitted), 9),
        DOCUMENTS_EXTRACTED.name: dict.fromkeys(range(extracted), 9),
    }


@given(COUNTS, COUNTS, st.lists(INCARNATIONS, min_size=2, max_size=40))
def test_incarnations_of_different_divisions_share_neither_partition_nor_shard(
    partitions: int, shards: int, incarnations: list[str]
) -> None:
    count = count_divisions(_ends(partitions, partitions), TOPICS, shards)
    divisions: dict[tuple[str, int], set[int]] = {}
    for incarnation in incarnations:
        division = division_of(incarnation, count)
        divisions.setdefault(("partition", partition(incarnation.encode(), partitions)), set()).add(division)
        divisions.setdefault(("shard", shard_of(incarnation, shards)), set()).add(division)
    assert all(len(found) == 1 for found in divisions.values())


@given(COUNTS, COUNTS, COUNTS)
def test_each_partition_is_in_one_division(submitted: int, extracted: int, shards: int) -> None:
    ends = _ends(submitted, extracted)
    count = count_divisions(ends, TOPICS, shards)
    parts = [Division(number, count).select(ends) for number in range(count)]
    for topic, partitions in ends.items():
        assert sorted(number for part in parts for number in part[topic]) == sorted(partitions)


@given(COUNTS, INCARNATIONS)
def test_the_records_of_an_incarnation_are_in_partitions_of_its_division(partitions: int, incarnation: str) -> None:
    ends = _ends(partitions, partitions)[DOCUMENTS_SUBMITTED.name]
    for count in (count for count in range(1, partitions + 1) if partitions % count == 0):
        division = Division(division_of(incarnation, count), count)
        assert division.holds(incarnation)
        assert partitions_of([incarnation], ends).keys() <= division.select({"topic": ends})["topic"].keys()


def test_topics_and_shards_without_a_common_divisor_are_one_division() -> None:
    assert count_divisions(_ends(4, 4), TOPICS, 3) == 1
    assert count_divisions(_ends(16, 16), TOPICS, 4) == 4
    assert count_divisions(_ends(16, 6), TOPICS, 4) == 2


def test_only_namespaces_in_several_divisions_are_left_out() -> None:
    by_division: dict[int, list[str]] = {0: [], 1: []}
    for number in range(20):
        by_division[division_of(f"n{number}#0", 2)].append(f"n{number}#0")
    (first, second, *_), (other, *_) = by_division[0], by_division[1]
    assert incarnations_across_divisions([[first, second], [first, other], [other]], 2) == {first, other}
    assert incarnations_across_divisions([[first, other]], 1) == frozenset()
