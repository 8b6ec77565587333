"""Documents that can't be read, as their senders see them."""

from typing import Any

import pytest

from tests.support.service_world import RunningService

pytestmark = pytest.mark.anyio

NOT_PUBLIC = "http://127.0.0.1/page"
"""Refused by the service before anything is fetched."""


async def _failed(service: RunningService, ns: str) -> Any:
    await service.wait_idle()
    (document,) = await service.list_items(ns, "documents", include={"content": True})
    assert (document["system"]["status"], document["system"]["dreamingStatus"]) == ("failed", "done")
    assert document["system"]["error"]
    return document


async def test_a_url_that_cannot_be_fetched_is_shown_as_the_documents_url(service: RunningService, ns: str) -> None:
    await service.add_document(ns, NOT_PUBLIC, id="x")
    document = await _failed(service, ns)
    assert (document["url"], document["content"]) == (NOT_PUBLIC, None)


@pytest.mark.parametrize(
    ("filename", "data", "kind"), [("a.pdf", b"%PDF-1.7\n", "pdf"), ("a", b"\x89PNG\r\n\x1a\n", "image")]
)
async def test_a_file_that_cannot_be_read_is_shown_as_what_it_is(
    service: RunningService, ns: str, filename: str, data: bytes, kind: str
) -> None:
    await service.add_file(ns, filename, data)
    assert (await _failed(service, ns))["type"] == kind


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("dreaming", ["instant", "dynamic"])
async def test_a_document_whose_newest_change_failed_is_found_by_the_text_it_still_shows(
    service: RunningService, ns: str, dreaming: str, *, at_once: bool
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", dreaming=dreaming)
    if not at_once:
        await service.wait_idle()
    await service.patch_document(ns, "x", content=NOT_PUBLIC)
    document = await _failed(service, ns)
    assert (document["content"], document["url"]) == ("Ada lives in Berlin.", None)
    read = await service.read_document(ns, "x")
    assert [chunk["content"] for chunk in read["chunks"]] == ["Ada lives in Berlin."]
    assert [memory["memory"] for memory in read["memories"]] == ["Ada lives in Berlin"]
    found = await service.search(ns, "Where does Ada live?")
    assert {result.get("chunk") or result["memory"] for result in found} == {
        "Ada lives in Berlin.",
        "Ada lives in Berlin",
    }
    await service.patch_document(ns, "x", content="Ada lives in Oslo.")
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["content"], read["system"]["status"]) == ("Ada lives in Oslo.", "done")
    assert [memory["memory"] for memory in read["memories"]] == ["Ada lives in Oslo"]
