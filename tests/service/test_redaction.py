"""Redaction: a forgotten memory's sentence leaves its documents, and nothing else does."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app import erasure_service
from pipeline.store.blobs import blob_store
from tests.support.generation_rows import read_all_rows, run_replay
from tests.support.planted_words import found_in
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio

TALK = "Ann: I live in Porto. I'm allergic to zyxonuts.\nBen: I play the cello.\nAnn: My sister is Clara."


@pytest.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunningService]:
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    async with running_service(tmp_path / "data") as opened:
        yield opened


async def _memory_id(service: RunningService, ns: str, text: str) -> str:
    found = [row["id"] for row in await service.list_items(ns, "memories") if text in row["memory"]]
    assert len(found) == 1, text
    return str(found[0])


async def _redact(service: RunningService, ns: str, *ids: str, **fields: Any) -> Any:
    answer = await service.client.ok("POST", f"/ns/{ns}/explain/redactions", {"ids": list(ids), **fields})
    await service.wait_idle()
    return answer


async def test_no_search_mode_finds_the_sentence_and_the_rest_is_found(service: RunningService) -> None:
    official = service.official
    await service.add_document("ann", TALK, id="talk", metadata={"mood": "glad"}, date="2026-03-02")
    await service.wait_idle()
    created = (await official.documents.get("ann", "talk")).system.created_at
    cello = await official.memories.get("ann", await _memory_id(service, "ann", "cello"))
    allergy = await _memory_id(service, "ann", "zyxonuts")

    shown = await _redact(service, "ann", allergy, dryRun=True)
    assert shown["documents"] == [
        {
            "id": "talk",
            "title": shown["documents"][0]["title"],
            "sentences": ["I'm allergic to zyxonuts."],
            "deleted": False,
        }
    ]
    assert [match["memory"] for match in shown["matches"]] == ["Ann is allergic to zyxonuts"]
    assert (await official.documents.get("ann", "talk")).content == TALK

    done = await _redact(service, "ann", allergy)
    assert (done["count"], done["errors"]) == (1, [])
    for mode in ("hybrid", "memories", "chunks"):
        results = (await official.search("ann", query="allergic to zyxonuts", search_mode=mode, threshold=0)).results
        assert results
        assert not [result for result in results if "zyxonuts" in (result.memory or result.chunk or "")]
        results = (await official.search("ann", query="Who plays the cello?", search_mode=mode)).results
        assert "cello" in (results[0].memory or results[0].chunk or "")

    document = await official.documents.get("ann", "talk", include=["memories"])
    assert document.content == "Ann: I live in Porto. \nBen: I play the cello.\nAnn: My sister is Clara."
    assert (document.metadata, document.system.created_at) == ({"mood": "glad"}, created)
    assert "zyxonuts" not in f"{document.title} {document.summary}"
    again = await official.memories.get("ann", cello.id)
    assert again == cello


async def test_spans_of_the_other_memories_move_with_the_text(service: RunningService) -> None:
    await service.add_document("ann", TALK, id="talk")
    await service.wait_idle()
    await _redact(service, "ann", await _memory_id(service, "ann", "zyxonuts"))
    sister = await _memory_id(service, "ann", "Clara")
    explained = await service.client.ok("GET", f"/ns/ann/explain/memories/{sister}")
    assert explained["statements"][0]["span"]["text"] == "My sister is Clara."


async def test_every_document_that_states_it_loses_the_sentence(service: RunningService) -> None:
    await service.add_document("ann", "I'm allergic to zyxonuts. I like tea.", id="note")
    await service.add_document("ann", "I'm allergic to zyxonuts.", id="short")
    await service.wait_idle()
    done = await _redact(service, "ann", await _memory_id(service, "ann", "zyxonuts"))
    assert {document["id"]: document["deleted"] for document in done["documents"]} == {"note": False, "short": True}
    assert [row["id"] for row in await service.list_items("ann", "documents")] == ["note"]
    assert [row["memory"] for row in await service.list_items("ann", "memories")] == ["User likes tea"]


async def test_a_sentence_with_two_facts_takes_both_along_and_says_so(service: RunningService) -> None:
    await service.add_document("ann", "I live in Porto and work at Acme. I like tea.", id="note")
    await service.wait_idle()
    done = await _redact(service, "ann", await _memory_id(service, "ann", "Porto"))
    assert {match["memory"] for match in done["matches"]} == {"User lives in Porto", "User works at Acme"}
    assert [row["memory"] for row in await service.list_items("ann", "memories")] == ["User likes tea"]


async def test_what_was_forgotten_before_stays_forgotten(service: RunningService) -> None:
    await service.add_document("ann", TALK, id="talk")
    await service.wait_idle()
    porto = await _memory_id(service, "ann", "Porto")
    await service.official.memories.forget("ann", ids=[porto])
    allergy = await _memory_id(service, "ann", "zyxonuts")
    await service.official.memories.forget("ann", ids=[allergy])
    assert (await _redact(service, "ann", allergy))["count"] == 1
    assert (await service.official.memories.get("ann", porto)).is_forgotten
    await service.client.fails(404, "GET", f"/ns/ann/memories/{allergy}")


async def test_a_conclusion_is_forgotten_and_its_premises_are_named(service: RunningService) -> None:
    await service.add_document("ann", "My sister is Clara. Clara lives in Rome.", id="note")
    await service.wait_idle()
    conclusion = await _memory_id(service, "ann", "User's sister Clara lives in Rome")
    done = await _redact(service, "ann", conclusion, "unknown")
    assert (done["count"], done["documents"]) == (0, [])
    problems = {error["id"]: error["error"] for error in done["errors"]}
    assert "redact one of these instead" in problems[conclusion]
    assert problems["unknown"] == "There is no such memory in ann"
    premise = await _memory_id(service, "ann", "Clara lives in Rome")
    assert (await _redact(service, "ann", premise))["count"] == 2
    await service.client.fails(404, "GET", f"/ns/ann/memories/{conclusion}")


async def test_a_change_at_the_same_time_is_not_lost(service: RunningService) -> None:
    await service.add_document("ann", TALK, id="talk")
    await service.wait_idle()
    allergy = await _memory_id(service, "ann", "zyxonuts")
    redacted, _ = await asyncio.gather(
        service.client("POST", "/ns/ann/explain/redactions", {"ids": [allergy]}),
        service.patch_document("ann", "talk", metadata={"kept": True}),
    )
    assert redacted.status_code in {200, 409}
    await service.wait_idle()
    assert (await service.read_document("ann", "talk"))["metadata"] == {"kept": True}


async def test_after_an_erasure_no_file_has_the_words_and_a_replay_gives_the_same_rows(
    service: RunningService, tmp_path: Path
) -> None:
    files = {"file": ("health.md", b"# Health\n\nI'm allergic to zyxonuts. I live in Porto.", "text/markdown")}
    await service.client.ok("POST", "/ns/ann/document/file", files=files)
    await service.add_document("ann", TALK, id="talk")
    await service.wait_idle()
    for text in ("Ann is allergic", "User is allergic"):
        await _redact(service, "ann", await _memory_id(service, "ann", text))
    before = await read_all_rows(service.pipeline.store)
    await run_replay(service)
    assert await read_all_rows(service.pipeline.store) == before
    await service.client.ok("POST", "/admin/erasures", {})
    assert found_in(tmp_path, ("zyxonuts",)) == {}
    await run_replay(service)
    assert await read_all_rows(service.pipeline.store) == before
    assert len(await service.list_items("ann", "documents")) == 2


async def test_it_takes_permission_to_write(service: RunningService) -> None:
    await service.add_document("ann", TALK, id="talk")
    reader = await service.client.ok("POST", "/admin/keys", {"name": "r", "role": "read", "namespaces": ["ann"]})
    await service.client.as_key(reader["key"]).fails(403, "POST", "/ns/ann/explain/redactions", {"ids": ["x"]})
    await service.client.fails(400, "POST", "/ns/ann/explain/redactions", {"ids": []})
    assert (await service.client.ok("POST", "/ns/nobody/explain/redactions", {"ids": ["x"]}))["count"] == 0
