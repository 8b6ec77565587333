"""The official v5 client speaks to the service for every operation but the connectors' own."""

from collections.abc import AsyncIterator

import httpx
import pytest
from supermemory import AsyncSupermemory
from supermemory.core.api_error import ApiError

from tests.api.conftest import ADMIN, Service
from tests.support.table_rows import chunk, memory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def official(service: Service) -> AsyncIterator[AsyncSupermemory]:
    """The client, in process."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app)) as http:
        yield AsyncSupermemory(api_key=ADMIN, base_url="http://test", http_client=http, max_retries=0)


async def test_documents_are_added_read_changed_and_deleted(service: Service, official: AsyncSupermemory) -> None:
    added = await official.add("alice", content="Ada lives in Berlin.", id="note", metadata={"a": 1})
    assert (added.id, added.status) == ("note", "queued")
    await service.mark_documents_done("note")
    await service.store_rows(chunk("note"), memory("m", "note"))
    read = await official.documents.get("alice", "note", include=["chunks", "memories"])
    assert (len(read.chunks or []), len(read.memories or [])) == (1, 1)
    await official.documents.update("alice", "note", metadata={"b": 2})
    batch = await official.documents.batch_add("alice", documents=[{"content": "x"}, {"content": "y"}])
    assert batch.count == 2
    uploaded = await official.documents.upload_file("alice", file=("n.md", b"# N", "text/markdown"))
    await official.documents.replace_with_file("alice", uploaded.id, file=b"raw")
    await official.documents.update_file("alice", uploaded.id)
    listed = await official.list("alice", "documents", limit=100, include={"content": True})
    assert {document.id for document in listed.documents} >= {"note", uploaded.id}
    counts = await official.content_management.post_ns_by_namespace_list_documents_memory_counts("alice", ids=["note"])
    assert counts.counts[0].memory_count == 1
    deleted = await official.documents.delete("alice", ids=["note", "nope"])
    assert (deleted.count, len(deleted.errors)) == (1, 1)


async def test_memories_profiles_and_search(service: Service, official: AsyncSupermemory) -> None:
    await official.add("alice", content="Ada lives in Berlin.", id="note", supporting_context=None)
    await service.store_rows(memory("m", "note"))
    assert (await official.memories.get("alice", "m", include=["related", "documents"])).memory == "Fact m"
    assert (await official.memories.forget_matching("alice", query="x", dry_run=True)).count == 0
    assert (await official.memories.forget("alice", ids=["m"])).count == 1
    assert (await official.search("alice", query="where", include={"documents": True})).results == []
    assert (await official.profile("alice")).profile.static[0].id == "m1"
    set_now = await official.profiles.set_buckets("alice", buckets={"work": "Jobs"})
    assert set_now.buckets == {"work": "Jobs"}
    await official.profiles.delete_buckets("alice", buckets=["work"])
    await official.profiles.get_buckets("alice")


async def test_namespaces_organization_connectors_and_feedback(official: AsyncSupermemory) -> None:
    await official.add("alice", content="x")
    assert [entry.namespace for entry in (await official.namespaces.list()).namespaces] == ["alice"]
    assert (await official.namespaces.update("alice", supporting_context="c")).supporting_context == "c"
    assert (await official.namespaces.get("alice")).namespace == "alice"
    assert (await official.namespaces.delete("alice", move_to="bob")).status == "queued"
    assert (await official.namespaces.delete("alice")).status == "deleted"
    assert (await official.organization.update(organizational_context="o")).organizational_context == "o"
    assert (await official.organization.get()).namespace_count == 0
    assert (await official.connectors.list_all()).connectors == []
    assert (await official.connectors.list("alice")).connectors == []
    answer = await official.feedback.post_feedback(type="bug", title="t", description="d")
    assert answer.remaining == 2


async def test_failures_arrive_as_the_clients_own_errors(official: AsyncSupermemory) -> None:
    with pytest.raises(ApiError) as missing:
        await official.documents.get("alice", "nope")
    assert missing.value.status_code == 404
    with pytest.raises(ApiError) as wrong:
        await official.search("alice", query="")
    assert wrong.value.status_code == 400
