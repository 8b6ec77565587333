"""What was deleted, and what came before."""

from pipeline.tombstones import Tombstones


def test_a_write_of_before_a_deletion_is_covered_and_a_later_one_is_not() -> None:
    stones = Tombstones(limit=2)
    stones.note("a", 5)
    stones.note("a", 3)
    assert [stones.covers("a", seq) for seq in (4, 5, 6)] == [True, False, False]
    assert not stones.covers("b", 0)
    stones.note("b", 1)
    stones.note("c", 1)
    assert not stones.covers("a", 4)
