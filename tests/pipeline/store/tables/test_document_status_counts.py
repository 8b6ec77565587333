"""Documents by status and creation time, and documents that could not be read."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.store_rows import EPOCH, document, exclusive_and_shared, open_test_store, store_documents

pytestmark = pytest.mark.anyio


@exclusive_and_shared
async def test_documents_are_counted_by_incarnation_and_status_whether_flushed_or_not(
    tmp_path: Path, shared: bool
) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a", status="done"), document("b", status="failed"))
    await store.documents.wait_until_durable()
    await store_documents(store, document("a", status="failed"), document("c", "bob#0", status="done"))
    assert await store.documents.count_by_status() == {("alice#0", "failed"): 2, ("bob#0", "done"): 1}
    await store.close()


@exclusive_and_shared
async def test_failed_documents_come_with_their_reason_and_the_newest_first(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    old = document("old", status="failed", error="it is a picture")
    await store_documents(store, old, document("fine", status="done"))
    await store.documents.wait_until_durable()
    new = document("new", status="failed", error="it is broken", updated_at=old.updated_at.replace(year=2030))
    await store_documents(store, new)
    failed = await store.documents.failed(10)
    assert [row.error for row in failed] == ["it is broken", "it is a picture"]
    assert [row.id for row in await store.documents.failed(1)] == ["new"]
    await store.close()


@exclusive_and_shared
async def test_recent_creation_times_are_listed_by_incarnation_whether_flushed_or_not(
    tmp_path: Path, shared: bool
) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    microsecond, incarnations = timedelta(microseconds=1), ["bob#0", "alice#0", "empty#0"]
    await store_documents(
        store,
        document("before", created_at=EPOCH - microsecond),
        document("at", created_at=EPOCH),
        document("after", "bob#0", created_at=EPOCH + microsecond),
        document("strange", "carol#0", created_at=EPOCH),
    )
    await store.documents.wait_until_durable()
    await store_documents(
        store,
        document("late", created_at=EPOCH + 2 * microsecond),
        document("early", created_at=EPOCH - 2 * microsecond),
    )
    first = int(EPOCH.timestamp()) * 1_000_000
    found = await store.documents.created_since(incarnations, EPOCH)
    assert {incarnation: sorted(times.tolist()) for incarnation, times in found.items()} == {
        "alice#0": [first, first + 2],
        "bob#0": [first + 1],
    }
    assert await store.documents.created_since(incarnations, EPOCH + timedelta(days=1)) == {}
    await store.close()
