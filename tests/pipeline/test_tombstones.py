"""What was deleted, and up to where."""

import pytest

from pipeline.tombstones import LocalTombstones, bury_late
from tests.fakes import FakeDocuments
from tests.pipeline.store.samples import document

pytestmark = pytest.mark.anyio


async def test_the_newest_deletion_counts_and_only_the_latest_are_kept() -> None:
    stones = LocalTombstones(limit=2)
    await stones.note({"a": 5})
    await stones.note({"a": 3})
    assert await stones.newest(["a", "b"]) == {"a": 5}
    await stones.note({"b": 1, "c": 1})
    assert await stones.newest(["a", "b", "c"]) == {"b": 1, "c": 1}


async def test_a_write_that_came_after_a_newer_deletion_is_undone_and_a_newer_write_stays() -> None:
    documents, stones = FakeDocuments(), LocalTombstones()
    rows = {
        row.key: row for row in (document("old", seq=4), document("new", seq=6), document("other", seq=1))
    }
    await documents.update(rows, lambda key, _: [rows[key]])
    await stones.note({document("other").key: 9})
    before = await stones.newest(rows)
    await stones.note({document("old").key: 5, document("new").key: 5})
    after = await bury_late(documents, stones, rows, before)
    assert after == {document("old").key: [], document("new").key: [rows[document("new").key]]}
    assert sorted(row.id for row in documents.rows) == ["new", "other"]
