"""Compaction policy: which fragments it merges, and what that costs in the long run."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.store.lancedb.compaction_policy import (
    MIN_MERGE_FRAGMENTS,
    CompactionPolicy,
    fragments_to_merge,
    merge_threshold,
)
from pipeline.store.lancedb.table_access import count_deleted_rows

SIZES = st.lists(st.integers(1, 2_000_000), min_size=1, max_size=80)


@given(SIZES, st.data())
def test_every_unmerged_fragment_is_merged(sizes: list[int], data: st.DataObject) -> None:
    loose = data.draw(st.integers(1, len(sizes)))
    assert loose <= fragments_to_merge(sizes, loose) <= len(sizes)


@given(SIZES, st.data())
def test_remaining_fragments_are_much_larger_than_the_merged_ones(sizes: list[int], data: st.DataObject) -> None:
    taken = fragments_to_merge(sizes, data.draw(st.integers(1, len(sizes))))
    kept = sizes[: len(sizes) - taken]
    assert not kept or kept[-1] > 4 * sum(sizes[len(sizes) - taken :])


@given(st.integers(0, 3_000_000))
def test_a_table_is_compacted_at_16_to_64_fragments(rows: int) -> None:
    assert MIN_MERGE_FRAGMENTS <= merge_threshold(rows) <= 64


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2_000_000), st.lists(st.integers(1, 8), min_size=200, max_size=800), st.booleans())
def test_reads_never_meet_many_fragments_nor_many_rows_outside_the_indices(
    stored_rows: int, commits: list[int], idle: bool
) -> None:
    table = SimulatedTable(stored_rows)
    for rows in commits:
        table.commit(rows, idle=idle)
        assert len(table.sizes) <= 64 + 16
        assert sum(table.sizes[1:]) <= max(4096, table.rows // 32) + 64 * 8


def test_a_commit_costs_as_little_in_a_large_table_as_in_a_small_one() -> None:
    small, large = SimulatedTable(100), SimulatedTable(1_000_000)
    for _ in range(5_000):
        small.commit(2, idle=True)
        large.commit(2, idle=True)
    # Rows rewritten for each new row.
    assert small.written < 10_000 * 200
    assert large.written < 10_000 * 200
    assert large.renewals <= 1


def test_a_burst_of_sixty_does_not_rewrite_a_million_rows() -> None:
    table = SimulatedTable(1_000_000)
    for _ in range(60):
        table.commit(3, idle=True)
    assert table.renewals == 0
    assert table.written < 1_000


def test_fragments_left_by_an_earlier_process_are_compacted() -> None:
    assert CompactionPolicy([1_000_000, *[1] * 16]).is_due(idle=True)
    assert not CompactionPolicy([1_000_000, *[1] * 15]).is_due(idle=True)


def test_a_table_with_many_versions_is_compacted_fully() -> None:
    left = CompactionPolicy([1_000_000], versions=5_000)
    assert left.is_due(idle=True)
    assert left.needs_full_compaction


def test_a_table_with_many_deleted_rows_is_compacted_fully() -> None:
    table = CompactionPolicy([100_000])
    table.record_commit(0, deleted=10_000)
    assert table.needs_full_compaction


def test_an_idle_table_gives_back_what_many_deleted_rows_take() -> None:
    table = CompactionPolicy([30_000])
    table.record_commit(10_000, deleted=9_000)
    assert not table.is_due(idle=True)
    table.record_commit(0, deleted=1_000)
    assert table.is_due(idle=True)
    assert table.needs_full_compaction
    assert not table.is_due(idle=False)
    assert not CompactionPolicy([100], deleted_rows=99).is_due(idle=True)


def test_an_idle_small_table_gives_back_the_files_of_many_deletions() -> None:
    small, large = CompactionPolicy([1000]), CompactionPolicy([100_000])
    for policy in (small, large):
        for _ in range(MIN_MERGE_FRAGMENTS - 1):
            policy.record_commit(0, deleted=1)
        assert not policy.is_due(idle=True)
        policy.record_commit(0, deleted=1)
        assert not policy.is_due(idle=False)
    assert small.is_due(idle=True)
    assert small.needs_full_compaction
    assert not large.is_due(idle=True)


def test_deleted_rows_are_counted_up_to_the_last_row_of_each_fragment() -> None:
    row_ids = pa.chunked_array([pa.array([(1 << 32) + 5, 0, 3, 1 << 32], pa.uint64())])
    assert count_deleted_rows(row_ids) == 2 + 4
    assert count_deleted_rows(pa.chunked_array([pa.array([], pa.uint64())])) == 0


def test_the_policy_stays_bounded_where_others_compact() -> None:
    table = CompactionPolicy()
    for _ in range(5_000):
        table.record_commit(2)
    assert table.total_rows == 10_000
    assert len(table._fragment_rows) <= 1025


class SimulatedTable:
    """A table that is compacted as soon as it is due."""

    def __init__(self, rows: int) -> None:
        self._policy = CompactionPolicy([rows] if rows else [])
        self.sizes = [rows] if rows else []
        self.written = 0
        self.renewals = 0

    @property
    def rows(self) -> int:
        """Rows of all fragments."""
        return sum(self.sizes)

    def commit(self, rows: int, *, idle: bool) -> None:
        """Commit this many rows, then compact if due."""
        self._policy.record_commit(rows)
        self.sizes.append(rows)
        if not self._policy.is_due(idle=idle):
            return
        self.written += self._policy.rows_to_rewrite
        if self._policy.needs_full_compaction:
            self.renewals += 1
            self.sizes = [self.rows]
            self._policy.record_full_compaction(self.rows)
        else:
            merged = self._policy.rows_in_partial_merge
            left = merged
            while left > 0:
                left -= self.sizes.pop()
            assert left == 0
            self.sizes.append(merged)
            self._policy.record_partial_merge(merged)
