"""Ids and partitions: the same input gives the same answer, in every process and for ever."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import partition

SPACES = st.binary(max_size=40).filter(lambda key: b"/" not in key)


@given(SPACES, st.binary(max_size=40), st.binary(max_size=40), st.integers(1, 64))
def test_what_belongs_to_a_incarnation_stays_together(
    incarnation: bytes, first: bytes, other: bytes, partitions: int
) -> None:
    assert partition(incarnation + b"/" + first, partitions) == partition(incarnation + b"/" + other, partitions)
    assert partition(incarnation + b"/" + first, partitions) == partition(incarnation, partitions)


@given(st.binary(max_size=80), st.integers(1, 64))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition(key, partitions) < partitions


def test_incarnations_spread_over_all_partitions() -> None:
    assert {partition(f"user-{number}#0/doc".encode(), 16) for number in range(300)} == set(range(16))


def test_the_rule_has_not_changed_since_the_first_log_was_written() -> None:
    assert [partition(key, 16) for key in (b"alice#0/d1", b"bob#3", b"", b"\xff/x")] == [4, 3, 4, 1]
