"""Tombstones of deleted documents."""

import pytest

from pipeline.tombstones import LocalTombstones

pytestmark = pytest.mark.anyio


async def test_the_newest_deletion_counts_and_old_ones_are_evicted() -> None:
    stones = LocalTombstones(limit=2)
    await stones.record({"a": 5})
    await stones.record({"a": 3})
    assert await stones.latest_deletions(["a", "b"]) == {"a": 5}
    await stones.record({"b": 1, "c": 1})
    assert await stones.latest_deletions(["a", "b", "c"]) == {"b": 1, "c": 1}
