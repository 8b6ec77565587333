"""Content that is the URL of a page, served from loopback."""

from collections.abc import AsyncIterator

import pytest

from tests.service.site import Site, site
from tests.service.world import World, until, world

pytestmark = pytest.mark.anyio

BATCH = 128
"""Records that the first stage takes together."""


@pytest.fixture(scope="module")
async def pages(anyio_backend: str) -> AsyncIterator[Site]:
    """A web site."""
    async with site() as opened:
        yield opened


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, pages: Site) -> AsyncIterator[World]:
    """A service that may fetch from loopback, with one order for everything."""
    folder = tmp_path_factory.mktemp("fetching")
    async with world(folder, fetch_private_addresses=True, partitions=1) as opened:
        yield opened


async def test_a_url_given_as_content_becomes_a_webpage_document(
    service: World, pages: Site, ns: str
) -> None:
    await service.add(ns, f"{pages.url}/lighthouses", id="x", metadata={"k": "v"})
    await service.settled()
    read = await service.read(ns, "x")
    assert (read["type"], read["title"], read["system"]["status"]) == ("webpage", "lighthouses", "done")
    assert "painted every spring" in read["content"]
    assert "<p>" not in read["content"]
    (listed,) = await service.listed(ns, "documents")
    assert listed["url"] == f"{pages.url}/lighthouses"
    found = await service.search(ns, "When are lighthouses painted?", threshold=0.2)
    assert found[0]["included"]["document"]["id"] == "x"
    assert found[0]["metadata"] == {"k": "v"}


async def test_quick_documents_do_not_wait_for_a_slow_page(service: World, pages: Site, ns: str) -> None:
    await service.add(ns, pages.hold("before"), id="before")
    await pages.asked("before")  # so that what comes now is taken together
    await service.add(ns, pages.hold("slow"), id="slow")
    await service.add(ns, "Ada lives in Berlin.", id="quick")
    pages.release("before")

    async def done() -> bool:
        status: str = (await service.read(ns, "quick"))["system"]["status"]
        return status == "done"

    await until(done, "the quick document")
    assert (await service.read(ns, "slow"))["system"]["status"] == "extracting"
    pages.release("slow")
    await service.settled()
    assert (await service.read(ns, "slow"))["system"]["status"] == "done"


async def test_a_document_that_is_deleted_while_its_page_is_fetched_stays_deleted(
    service: World, pages: Site, ns: str
) -> None:
    await service.add(ns, pages.hold("gone"), id="x")
    await pages.asked("gone")
    await service.delete(ns, "x")
    pages.release("gone")
    await service.settled()
    await service.client.refused(404, "GET", f"/ns/{ns}/document/x")
    assert await service.listed(ns, "chunks") == await service.listed(ns, "memories") == []


async def test_a_deleted_document_does_not_come_back_while_the_log_is_read_up_to_its_deletion(
    service: World, pages: Site, ns: str
) -> None:
    await service.add(ns, pages.hold("first"), id="first")
    await pages.asked("first")  # what comes now is read in batches, one after the other
    await service.add(ns, "Ada lives in Berlin.", id="x")
    await service.add(ns, pages.hold("second"), id="second")
    documents = [{"content": f"Note {number}."} for number in range(BATCH)]
    body = {"documents": documents, "taskType": "superrag"}
    await service.client.ok("POST", f"/ns/{ns}/document/batch", body)
    await service.delete(ns, "x")
    pages.release("first")
    await pages.asked("second")  # in the batch of the addition, the deletion is in the next one
    await service.client.refused(404, "GET", f"/ns/{ns}/document/x")
    assert "x" not in {one["id"] for one in (await _documents(service, ns))}
    pages.release("second")
    await service.settled()
    await service.client.refused(404, "GET", f"/ns/{ns}/document/x")


async def _documents(service: World, ns: str) -> list[dict[str, str]]:
    answer = await service.client.ok("POST", f"/ns/{ns}/list/documents?limit=100&order=asc")
    found: list[dict[str, str]] = answer["documents"]
    return found
