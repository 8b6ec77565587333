"""Which fragments are merged: the rule over their sizes, and what it costs in the long run."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.store.merging import FEW_FRAGMENTS, Fragments, newest, worth_merging

SIZES = st.lists(st.integers(1, 2_000_000), min_size=1, max_size=80)


@given(SIZES, st.data())
def test_at_least_those_that_were_never_merged_are_merged(sizes: list[int], data: st.DataObject) -> None:
    loose = data.draw(st.integers(1, len(sizes)))
    assert loose <= newest(sizes, loose) <= len(sizes)


@given(SIZES, st.data())
def test_what_stays_is_much_larger_than_what_is_merged(sizes: list[int], data: st.DataObject) -> None:
    taken = newest(sizes, data.draw(st.integers(1, len(sizes))))
    kept = sizes[: len(sizes) - taken]
    assert not kept or kept[-1] > 4 * sum(sizes[len(sizes) - taken :])


@given(st.integers(0, 3_000_000))
def test_a_table_is_looked_after_at_16_to_64_fragments(rows: int) -> None:
    assert FEW_FRAGMENTS <= worth_merging(rows) <= 64


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2_000_000), st.lists(st.integers(1, 8), min_size=200, max_size=800), st.booleans())
def test_reads_never_meet_many_fragments_nor_many_rows_outside_the_indices(
    there: int, commits: list[int], idle: bool
) -> None:
    table = Looked(there)
    for rows in commits:
        table.commit(rows, idle=idle)
        assert len(table.sizes) <= 64 + 16
        assert sum(table.sizes[1:]) <= max(4096, table.rows // 32) + 64 * 8


def test_a_commit_costs_a_large_table_as_little_as_a_small_one() -> None:
    small, large = Looked(100), Looked(1_000_000)
    for _ in range(5_000):
        small.commit(2, idle=True)
        large.commit(2, idle=True)
    # So many rows are written anew for each that comes.
    assert small.written < 10_000 * 200
    assert large.written < 10_000 * 200
    assert large.renewals <= 1


def test_a_burst_of_sixty_does_not_write_a_million_rows_anew() -> None:
    table = Looked(1_000_000)
    for _ in range(60):
        table.commit(3, idle=True)
    assert table.renewals == 0
    assert table.written < 1_000


def test_what_an_earlier_process_left_in_many_fragments_is_looked_after() -> None:
    assert Fragments([1_000_000, *[1] * 16]).due(idle=True)
    assert not Fragments([1_000_000, *[1] * 15]).due(idle=True)


def test_a_table_with_many_versions_is_looked_after_whole() -> None:
    left = Fragments([1_000_000], changes=5_000)
    assert left.due(idle=True)
    assert left.whole


def test_a_table_of_which_much_is_gone_is_looked_after_whole() -> None:
    table = Fragments([100_000])
    table.came(0, gone=10_000)
    assert table.whole


def test_nothing_grows_where_others_do_the_upkeep() -> None:
    table = Fragments()
    for _ in range(5_000):
        table.came(2)
    assert table.rows == 10_000
    assert len(table._sizes) <= 1025


class Looked:
    """A table that is looked after as soon as it is due."""

    def __init__(self, rows: int) -> None:
        self._known = Fragments([rows] if rows else [])
        self.sizes = [rows] if rows else []
        self.written = 0
        self.renewals = 0

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.sizes)

    def commit(self, rows: int, *, idle: bool) -> None:
        """So many rows come; then what is due is done."""
        self._known.came(rows)
        self.sizes.append(rows)
        if not self._known.due(idle=idle):
            return
        self.written += self._known.to_write
        if self._known.whole:
            self.renewals += 1
            self.sizes = [self.rows]
            self._known.renewed(self.rows)
        else:
            merged = self._known.newest_rows
            left = merged
            while left > 0:
                left -= self.sizes.pop()
            assert left == 0
            self.sizes.append(merged)
            self._known.merged(merged)
