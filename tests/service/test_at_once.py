"""Writes that follow each other without waiting: the last one says how it ends."""

import asyncio

import pytest
from supermemory.core.api_error import ApiError

from tests.service.world import World

pytestmark = pytest.mark.anyio


async def _is_only(service: World, ns: str, document: str, content: str) -> None:
    """The document says this, and nothing of before is left anywhere."""
    await service.settled()
    read = await service.read(ns, document)
    assert (read["content"], read["system"]["status"]) == (content, "done")
    assert [chunk["content"] for chunk in await service.listed(ns, "chunks")] == [content]
    shown = str([await service.search(ns, "Ada"), await service.listed(ns, "memories"), read])
    assert "Ada" not in shown


async def test_added_patched_deleted_and_added_again_it_ends_as_the_last_write_says(
    service: World, ns: str
) -> None:
    for _ in range(3):
        await service.add(ns, "Ada lives in Berlin.", id="x", metadata={"old": 1})
        await service.patch(ns, "x", content="Ada lives in Oslo.")
        await service.delete(ns, "x")
        await service.add(ns, "Bob collects old maps.", id="x", metadata={"new": 1})
        await _is_only(service, ns, "x", "Bob collects old maps.")
        assert (await service.read(ns, "x"))["metadata"] == {"new": 1}
        await service.delete(ns, "x")


async def test_added_patched_and_deleted_nothing_is_left(service: World, ns: str) -> None:
    await service.add(ns, "Ada lives in Berlin.", id="x")
    await service.patch(ns, "x", content="Ada lives in Oslo.")
    await service.delete(ns, "x")
    await service.settled()
    for kind in ("documents", "chunks", "memories"):
        assert await service.listed(ns, kind) == []
    assert await service.search(ns, "Ada") == []
    await service.client.refused(404, "GET", f"/ns/{ns}/document/x")


async def test_a_namespace_deleted_and_begun_again_at_once_holds_only_the_new(
    service: World, ns: str
) -> None:
    for _ in range(3):
        await service.add(ns, "Ada lives in Berlin.", id="x")
        await service.client.ok("DELETE", f"/ns/{ns}")
    await service.add(ns, "Bob collects old maps.", id="x")
    await _is_only(service, ns, "x", "Bob collects old maps.")


async def test_writes_of_many_clients_at_the_same_time_are_all_there_in_some_order(
    service: World, ns: str
) -> None:
    lines = [f"Line {number} of the diary." for number in range(12)]
    await asyncio.gather(
        *(service.add(ns, line, id="x", taskType="superrag") for line in lines),
        *(service.add(ns, line, id=f"own {number}") for number, line in enumerate(lines)),
    )
    await service.settled()
    read = await service.read(ns, "x")
    assert sorted(read["content"].split("\n\n")) == sorted(lines)
    documents = {one["id"]: one["system"]["status"] for one in await service.listed(ns, "documents")}
    assert documents == {"x": "done"} | {f"own {number}": "done" for number in range(12)}
    found = {one["included"]["document"]["id"] for one in await service.search(ns, "diary")}
    assert found == documents.keys()


async def test_the_same_document_in_two_namespaces_is_two_documents(service: World, ns: str) -> None:
    other = f"{ns}-other"
    await asyncio.gather(*(service.add(name, "Ada lives in Berlin.", id="x") for name in (ns, other)))
    await service.delete(other, "x")
    await service.settled()
    assert (await service.read(ns, "x"))["system"]["status"] == "done"
    assert await service.search(ns, "Ada")
    assert await service.search(other, "Ada") == []


async def test_the_official_client_reads_its_own_writes(service: World, ns: str) -> None:
    official = service.official
    await official.add(ns, content="Ada lives in Berlin.", id="x", dreaming="instant")
    assert (await official.documents.get(ns, "x")).id == "x"
    await official.documents.update(ns, "x", content="Bob collects old maps.", metadata={"k": 1})
    assert (await official.documents.get(ns, "x")).metadata == {"k": 1}
    await service.settled()
    found = await official.search(ns, query="Who collects maps?", threshold=0, include={"documents": True})
    assert {dict(dict(result)["included"])["document"].id for result in found.results} == {"x"}
    assert (await official.documents.delete(ns, ids=["x"])).count == 1
    with pytest.raises(ApiError) as gone:
        await official.documents.get(ns, "x")
    assert gone.value.status_code == 404
    assert (await official.search(ns, query="Who collects maps?", threshold=0)).results == []
