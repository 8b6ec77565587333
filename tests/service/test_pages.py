"""Pages of an uploaded PDF in every answer that names a passage, also after a replay."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_rows import run_replay
from tests.support.service_world import RunningService, running_service

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OTHERS = {"trust": "others"}
"""In results of a file, which others may have written."""
pdf_writer = pytest.importorskip("tests.support.pdf_writer", reason="needs the ocr extra, which is not installed")

FILLER = "The keeper wrote down the weather of each day and night. " * 16


async def add_pdf(service: RunningService, **form: str) -> str:
    pages = [f"Of wind. {FILLER}", "", f"The zeppelin landed on the pier. {FILLER} Ada Lind lives in Bergen."]
    data = pdf_writer.write_pdf([page.replace(". ", ".\n") for page in pages])
    added = await service.add_file("tower", "log.pdf", data, "application/pdf", **form)
    await service.wait_idle()
    return added


async def search(service: RunningService) -> dict[str, Any]:
    results = await service.search("tower", "Where did the zeppelin land?", searchMode="chunks", limit=1)
    result: dict[str, Any] = results[0]
    return result


async def test_results_chunks_and_their_explanation_name_the_page(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        document = await add_pdf(service)
        result = await search(service)
        assert result["metadata"] == {**OTHERS, "page": "3"}
        shown = await service.read_document("tower", document)
        assert shown["metadata"] == {}
        assert {chunk["metadata"]["page"] for chunk in shown["chunks"]} >= {"1", "3"}
        explained = await service.client.ok("GET", f"/ns/tower/explain/chunks/{result['id']}")
        assert explained["page"] == "3"
        assert (await run_replay(service))["differences"] == []
        assert await search(service) == result
    async with running_service(tmp_path) as service:
        assert (await search(service))["metadata"] == {**OTHERS, "page": "3"}


async def test_memories_name_the_page_of_their_sentence(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        document = await add_pdf(service)
        found = await service.search("tower", "Where does Ada Lind live?", searchMode="memories", limit=1)
        assert (found[0]["memory"], found[0]["metadata"]) == ("Ada Lind lives in Bergen", {**OTHERS, "page": "3"})
        listed = (await service.client.ok("POST", "/ns/tower/list/memories", json={}))["memories"]
        read = await service.client.ok("GET", f"/ns/tower/document/{document}?include=memories")
        for memories in (listed, read["memories"]):
            pages = {memory["memory"]: memory["metadata"].get("page") for memory in memories}
            assert pages["Ada Lind lives in Bergen"] == "3"


async def test_the_documents_own_field_of_that_name_stays(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await add_pdf(service, metadata='{"page": "cover", "topic": "tower"}')
        assert (await search(service))["metadata"] == {**OTHERS, "page": "cover", "topic": "tower"}
