"""Writes that follow each other without waiting: the last one says how it ends."""

import asyncio

import pytest
from supermemory.core.api_error import ApiError

from tests.support.service_world import RunningService

pytestmark = pytest.mark.anyio


async def _assert_only_content(service: RunningService, ns: str, document: str, content: str) -> None:
    """The document says this, and nothing of before is left anywhere."""
    await service.wait_idle()
    read = await service.read_document(ns, document)
    assert (read["content"], read["system"]["status"]) == (content, "done")
    assert [chunk["content"] for chunk in await service.list_items(ns, "chunks")] == [content]
    shown = str([await service.search(ns, "Ada"), await service.list_items(ns, "memories"), read])
    assert "Ada" not in shown


async def test_added_patched_deleted_and_added_again_it_ends_as_the_last_write_says(
    service: RunningService, ns: str
) -> None:
    for _ in range(3):
        await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"old": 1})
        await service.patch_document(ns, "x", content="Ada lives in Oslo.")
        await service.delete_documents(ns, "x")
        await service.add_document(ns, "Bob collects old maps.", id="x", metadata={"new": 1})
        await _assert_only_content(service, ns, "x", "Bob collects old maps.")
        assert (await service.read_document(ns, "x"))["metadata"] == {"new": 1}
        await service.delete_documents(ns, "x")


async def test_added_patched_and_deleted_nothing_is_left(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.patch_document(ns, "x", content="Ada lives in Oslo.")
    await service.delete_documents(ns, "x")
    await service.wait_idle()
    for kind in ("documents", "chunks", "memories"):
        assert await service.list_items(ns, kind) == []
    assert await service.search(ns, "Ada") == []
    await service.client.fails(404, "GET", f"/ns/{ns}/document/x")


async def test_a_namespace_deleted_and_begun_again_at_once_holds_only_the_new(service: RunningService, ns: str) -> None:
    for _ in range(3):
        await service.add_document(ns, "Ada lives in Berlin.", id="x")
        await service.client.ok("DELETE", f"/ns/{ns}")
    await service.add_document(ns, "Bob collects old maps.", id="x")
    await _assert_only_content(service, ns, "x", "Bob collects old maps.")


async def test_writes_of_many_clients_at_the_same_time_are_all_there_in_some_order(
    service: RunningService, ns: str
) -> None:
    lines = [f"Line {number} of the diary." for number in range(12)]
    await asyncio.gather(
        *(service.add_document(ns, line, id="x", taskType="superrag") for line in lines),
        *(service.add_document(ns, line, id=f"own {number}") for number, line in enumerate(lines)),
    )
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert sorted(read["content"].split("\n\n")) == sorted(lines)
    documents = {document["id"]: document["system"]["status"] for document in await service.list_items(ns, "documents")}
    assert documents == {"x": "done"} | {f"own {number}": "done" for number in range(12)}
    found = {result["included"]["document"]["id"] for result in await service.search(ns, "diary")}
    assert found == documents.keys()


async def test_the_same_document_in_two_namespaces_is_two_documents(service: RunningService, ns: str) -> None:
    other = f"{ns}-other"
    await asyncio.gather(*(service.add_document(name, "Ada lives in Berlin.", id="x") for name in (ns, other)))
    await service.delete_documents(other, "x")
    await service.wait_idle()
    assert (await service.read_document(ns, "x"))["system"]["status"] == "done"
    assert await service.search(ns, "Ada")
    assert await service.search(other, "Ada") == []


async def test_the_official_client_reads_its_own_writes(service: RunningService, ns: str) -> None:
    official = service.official
    await official.add(ns, content="Ada lives in Berlin.", id="x", dreaming="instant")
    assert (await official.documents.get(ns, "x")).id == "x"
    await official.documents.update(ns, "x", content="Bob collects old maps.", metadata={"k": 1})
    assert (await official.documents.get(ns, "x")).metadata == {"k": 1}
    await service.wait_idle()
    found = await official.search(ns, query="Who collects maps?", threshold=0, include={"documents": True})
    assert {dict(dict(result)["included"])["document"].id for result in found.results} == {"x"}
    assert (await official.documents.delete(ns, ids=["x"])).count == 1
    with pytest.raises(ApiError) as gone:
        await official.documents.get(ns, "x")
    assert gone.value.status_code == 404
    assert (await official.search(ns, query="Who collects maps?", threshold=0)).results == []
