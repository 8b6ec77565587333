"""Tombstones of deleted documents."""

import pytest

from pipeline.tombstones import LocalTombstones, reapply_deletions
from tests.support.fakes import FakeDocumentTable
from tests.support.store_rows import document

pytestmark = pytest.mark.anyio


async def test_the_newest_deletion_counts_and_old_ones_are_evicted() -> None:
    stones = LocalTombstones(limit=2)
    await stones.record({"a": 5})
    await stones.record({"a": 3})
    assert await stones.latest_deletions(["a", "b"]) == {"a": 5}
    await stones.record({"b": 1, "c": 1})
    assert await stones.latest_deletions(["a", "b", "c"]) == {"b": 1, "c": 1}


async def test_a_write_that_came_after_a_newer_deletion_is_undone_and_a_newer_write_stays() -> None:
    documents, stones = FakeDocumentTable(), LocalTombstones()
    rows = {row.key: row for row in (document("old", seq=4), document("new", seq=6), document("other", seq=1))}
    await documents.update(rows, lambda key, _: [rows[key]])
    await stones.record({document("other").key: 9})
    before = await stones.latest_deletions(rows)
    await stones.record({document("old").key: 5, document("new").key: 5})
    after = await reapply_deletions(documents, stones, rows, before)
    assert after == {document("old").key: [], document("new").key: [rows[document("new").key]]}
    assert sorted(row.id for row in documents.rows) == ["new", "other"]
