"""The original of an uploaded document: given back as it came, to be saved."""

from pathlib import Path

import pytest

from tests.support.service_world import running_service

pytestmark = pytest.mark.anyio
PAGE = b"<html><title>Tides</title><script>alert(1)</script><p>High water is at noon.</p></html>"


async def test_a_file_comes_back_as_it_was_and_is_never_shown_as_a_page(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        added = await service.add_file("ada", "tides \u20ac\r\n.html", PAGE, "text/html")
        answer = await service.client("GET", f"/ns/ada/explain/originals/{added}")
        assert answer.content == PAGE
        assert answer.headers["content-length"] == str(len(PAGE))
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''tides")
        await service.add_document("ada", "Only a text.", id="text")
        await service.client.fails(404, "GET", "/ns/ada/explain/originals/text")
        await service.client.fails(404, "GET", "/ns/other/explain/originals/text")


async def test_a_large_file_is_sent_in_parts_and_one_that_is_lost_is_not_found(tmp_path: Path) -> None:
    data = b"A line of a long file.\n" * 40_000
    async with running_service(tmp_path) as service:
        path = f"/ns/ada/explain/originals/{await service.add_file('ada', 'l.txt', data, 'text/plain')}"
        assert (await service.client("GET", path)).content == data
        await service.wait_idle()
        for blob in [file for file in (tmp_path / "blobs").rglob("*") if file.is_file()]:
            blob.unlink()
        await service.client.fails(404, "GET", path)
