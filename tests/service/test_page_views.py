"""Pages of an uploaded PDF over HTTP: their sizes, pictures, words, and where spans of the text stand."""

from pathlib import Path

import pytest

from tests.support.pdf_writer import write_pdf
from tests.support.service_world import running_service

pytestmark = pytest.mark.anyio
PDF = write_pdf(["The first page says little.", "The kettle is blue.", "The boat is gone."])


async def test_a_span_of_the_text_is_found_on_its_page(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        added = await service.add_file("ada", "notes.pdf", PDF, "application/pdf")
        await service.wait_idle()
        text = (await service.read_document("ada", added))["content"]
        start = text.index("kettle")
        path = f"/ns/ada/explain/pages/{added}"
        found = await service.client.ok("GET", f"{path}?span={start}-{start + 6}&span=0-3")
        assert len(found["pages"]) == 3
        assert [mark["page"] for mark in found["marks"]] == [2, 1]
        box = found["marks"][0]["boxes"][0]
        assert 0 < box["left"] < box["left"] + box["width"] < 0.5
        await service.client.fails(400, "GET", f"{path}?span=all")


async def test_a_page_is_drawn_and_its_words_are_read(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        added = await service.add_file("ada", "notes.pdf", PDF, "application/pdf")
        await service.wait_idle()
        drawn = await service.client("GET", f"/ns/ada/explain/page-pictures/{added}?page=2&width=600")
        assert drawn.headers["content-type"] == "image/webp"
        assert drawn.content[8:12] == b"WEBP"
        words = await service.client.ok("GET", f"/ns/ada/explain/page-texts/{added}?page=2")
        assert [line["text"] for line in words["lines"]] == ["The kettle is blue."]
        for kind in ("page-pictures", "page-texts"):
            await service.client.fails(404, "GET", f"/ns/ada/explain/{kind}/{added}?page=4")


async def test_only_an_uploaded_pdf_has_pages(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("ada", "Only a text.", id="text")
        added = await service.add_file("ada", "broken.pdf", b"%PDF-1.7 and nothing more", "application/pdf")
        await service.wait_idle()
        for kind in ("pages", "page-pictures", "page-texts"):
            await service.client.fails(404, "GET", f"/ns/ada/explain/{kind}/text")
            await service.client.fails(404, "GET", f"/ns/other/explain/{kind}/text")
            await service.client.fails(400, "GET", f"/ns/ada/explain/{kind}/{added}")
