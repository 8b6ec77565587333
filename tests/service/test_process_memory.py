"""A process that starts after an erasure reads no erased word."""

import sys
from pathlib import Path

import httpx2
import pytest

from app import erasure_service
from bench.service_process import Server
from pipeline.store.blobs import blob_store
from tests.support.planted_documents import FILE_WORDS, plant_files
from tests.support.process_memory import words_in_memory
from tests.support.service_world import running_service

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="memory is read in Linux's /proc")]

ERASED = ("zyxotextq", "zyxometaq", "zyxocontextq", "zyxotalkq", *FILE_WORDS)
KEPT = "quvokeptx"


async def test_no_erased_word_is_in_the_memory_of_a_service_that_starts_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    async with running_service(tmp_path / "data", embedder="none", log_partitions=4, sealing=True) as service:
        await service.add_document("alice", f"Ben keeps a {KEPT} in Rome.", id="kept")
        text = "Ada keeps a zyxotextq in Porto."
        context = {"metadata": {"note": "zyxometaq"}, "supportingContext": "About zyxocontextq."}
        await service.add_document("alice", text, id="text", **context)
        await service.add_document("alice", "Ada: I bought a zyxotalkq.\nBen: Where?\n" * 30, id="talk")
        ids = ["text", "talk", *await plant_files(service, "alice")]
        await service.wait_idle()
        await service.client.ok("POST", "/admin/erasures", {"namespace": "alice", "documents": ids})
    with (
        Server(tmp_path / "data", {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_SHARDS": "1"}) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"}) as client,
    ):
        assert KEPT in client.post("/ns/alice/search", json={"query": "Who keeps something in Rome?"}).text
        for path in ("list/documents", "list/memories", "profile"):
            client.post(f"/ns/alice/{path}", json={}).raise_for_status()
        assert words_in_memory(server.pid, (*ERASED, KEPT)) == {KEPT}
