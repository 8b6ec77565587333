"""Documents by status, and those that could not be read."""

from pathlib import Path

import pytest

from tests.pipeline.store.samples import both, document, opened, store_documents

pytestmark = pytest.mark.anyio


@both
async def test_documents_are_counted_by_space_and_status_whether_flushed_or_not(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shared=shared)
    await store_documents(store, document("a", status="done"), document("b", status="failed"))
    await store.documents.durable()
    await store_documents(store, document("a", status="failed"), document("c", "bob#0", status="done"))
    assert await store.documents.states() == {("alice#0", "failed"): 2, ("bob#0", "done"): 1}
    await store.close()


@both
async def test_failed_documents_come_with_their_reason_and_the_newest_first(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shared=shared)
    old = document("old", status="failed", error="it is a picture")
    await store_documents(store, old, document("fine", status="done"))
    await store.documents.durable()
    new = document("new", status="failed", error="it is broken", updated_at=old.updated_at.replace(year=2030))
    await store_documents(store, new)
    failed = await store.documents.failed(10)
    assert [row.error for row in failed] == ["it is broken", "it is a picture"]
    assert [row.id for row in await store.documents.failed(1)] == ["new"]
    await store.close()
