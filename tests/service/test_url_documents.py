"""Content that is the URL of a page, served from loopback."""

from collections.abc import AsyncIterator

import pytest

from tests.support.service_world import RunningService, running_service, wait_until
from tests.support.web_site import HeldPageSite, held_page_site

pytestmark = pytest.mark.anyio

BATCH = 128
"""Records that the first stage takes together."""


@pytest.fixture(scope="module")
async def pages(anyio_backend: str) -> AsyncIterator[HeldPageSite]:
    """A web site."""
    async with held_page_site() as opened:
        yield opened


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, pages: HeldPageSite) -> AsyncIterator[RunningService]:
    """A service that may fetch from loopback, with one order for everything."""
    folder = tmp_path_factory.mktemp("fetching")
    async with running_service(folder, fetch_private_addresses=True, log_partitions=1) as opened:
        yield opened


async def test_a_url_given_as_content_becomes_a_webpage_document(
    service: RunningService, pages: HeldPageSite, ns: str
) -> None:
    await service.add_document(ns, f"{pages.url}/lighthouses", id="x", metadata={"k": "v"})
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["type"], read["title"], read["system"]["status"]) == ("webpage", "lighthouses", "done")
    assert "painted every spring" in read["content"]
    assert "<p>" not in read["content"]
    (listed,) = await service.list_items(ns, "documents")
    assert listed["url"] == f"{pages.url}/lighthouses"
    found = await service.search(ns, "When are lighthouses painted?", threshold=0.2)
    assert found[0]["included"]["document"]["id"] == "x"
    assert found[0]["metadata"] == {"trust": "others", "k": "v"}


async def test_quick_documents_do_not_wait_for_a_slow_page(
    service: RunningService, pages: HeldPageSite, ns: str
) -> None:
    await service.add_document(ns, pages.hold_page("before"), id="before")
    await pages.wait_requested("before")  # so that what comes now is taken together
    await service.add_document(ns, pages.hold_page("slow"), id="slow")
    await service.add_document(ns, "Ada lives in Berlin.", id="quick")
    pages.release_page("before")

    async def done() -> bool:
        status: str = (await service.read_document(ns, "quick"))["system"]["status"]
        return status == "done"

    await wait_until(done, "the quick document")
    assert (await service.read_document(ns, "slow"))["system"]["status"] == "extracting"
    pages.release_page("slow")
    await service.wait_idle()
    assert (await service.read_document(ns, "slow"))["system"]["status"] == "done"


async def test_a_document_that_is_deleted_while_its_page_is_fetched_stays_deleted(
    service: RunningService, pages: HeldPageSite, ns: str
) -> None:
    await service.add_document(ns, pages.hold_page("gone"), id="x")
    await pages.wait_requested("gone")
    await service.delete_documents(ns, "x")
    pages.release_page("gone")
    await service.wait_idle()
    await service.client.fails(404, "GET", f"/ns/{ns}/document/x")
    assert await service.list_items(ns, "chunks") == await service.list_items(ns, "memories") == []


async def test_a_deleted_document_does_not_come_back_while_the_log_is_read_up_to_its_deletion(
    service: RunningService, pages: HeldPageSite, ns: str
) -> None:
    await service.add_document(ns, pages.hold_page("first"), id="first")
    await pages.wait_requested("first")  # what comes now is read in batches, one after the other
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.add_document(ns, pages.hold_page("second"), id="second")
    documents = [{"content": f"Note {number}."} for number in range(BATCH)]
    body = {"documents": documents, "taskType": "superrag"}
    await service.client.ok("POST", f"/ns/{ns}/document/batch", body)
    await service.delete_documents(ns, "x")
    pages.release_page("first")
    await pages.wait_requested("second")  # in the batch of the addition, the deletion is in the next one
    await service.client.fails(404, "GET", f"/ns/{ns}/document/x")
    assert "x" not in {document["id"] for document in (await _documents(service, ns))}
    pages.release_page("second")
    await service.wait_idle()
    await service.client.fails(404, "GET", f"/ns/{ns}/document/x")


async def _documents(service: RunningService, ns: str) -> list[dict[str, str]]:
    answer = await service.client.ok("POST", f"/ns/{ns}/list/documents?limit=100&order=asc")
    found: list[dict[str, str]] = answer["documents"]
    return found
