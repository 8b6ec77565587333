"""Words of deleted documents and namespaces are in no byte of the data directory after an erasure."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from app import erasure_service
from app.erasure_service import ErasureService
from bench.service_process import Server
from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.log_eraser import LogEraser
from pipeline.bus.sqlite.log_writer import LogWriteError
from pipeline.store.blobs import blob_store
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_SUBMITTED, MEMORIES_FORMED
from tests.support.planted_documents import FILE_WORDS, plant_files
from tests.support.planted_words import found_in
from tests.support.service_world import RunningService, running_service, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("erasing_at_once")]

SECRETS = (
    "zyxotextq", "zyxometaq", "zyxobigq", "zyxomemoryq", "zyxocontextq", "zyxotalkq", "zyxodeadq",
    "zyxopatchq", "zyxoforgetq", "zyxonsq", *FILE_WORDS,
)  # fmt: skip
KEPT = "quvokeptx"
LONG_TALK = "Ada: It was in the same shop again, on the other side of the river.\n" * 30
"""Makes the records of a talk long enough to be compressed in the log."""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path / "data") as opened:
        yield opened


async def _plant(service: RunningService, ns: str, document: str) -> list[str]:
    """Write a secret in every kind of content that documents can have; their ids."""
    client = service.client
    await service.add_document(
        ns,
        "Ada keeps a zyxotextq in Porto. Ada lives in Porto.",
        id=document,
        metadata={"note": "zyxometaq"},
        supportingContext="About zyxocontextq.",
    )
    await service.wait_idle()
    await service.patch_document(ns, document, content="Ada keeps a zyxopatchq in Lisbon. Ada lives in Lisbon.")
    await service.add_document(
        ns,
        "Ada: I bought a zyxotalkq yesterday.\nBen: Where did you buy the zyxotalkq?\n" + LONG_TALK,
        id=f"{document}-talk",
    )
    files = await plant_files(service, ns)
    await service.add_document(ns, "Ada wants a zyxomemoryq. Ada has a zyxoforgetq allergy.", id=f"{document}-memory")
    await service.wait_idle()
    await client.ok("DELETE", f"/ns/{ns}/memories/semantic", {"query": "zyxoforgetq allergy", "dryRun": False})
    key = f"{ns}#0/{document_key(f'{ns}#0', document)}"
    broken = json.dumps({"operation": "explode", "text": "zyxodeadq"}).encode()
    await service.pipeline.bus.append(DOCUMENTS_SUBMITTED.name, [ProducerRecord(key.encode(), broken, {})])
    await service.wait_idle()
    await service.supervisor.resources.vector_cache.put({b"k" * 48: np.ones(4, np.float32)})
    return [document, *(f"{document}-{kind}" for kind in ("memory", "talk")), *files]


async def _erase(service: RunningService, **body: Any) -> Any:
    return await service.client.ok("POST", "/admin/erasures", body)


async def test_erased_documents_are_in_no_file_and_others_stay(
    service: RunningService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = tuple(word for word in SECRETS if word not in {"zyxonsq", "zyxobigq"})
    await service.add_document("home", f"Ben keeps a {KEPT}. Ben lives in Rome.", id="kept")
    planted = await _plant(service, "home", "diary")
    await service.pipeline.store.flush()
    assert found_in(tmp_path, words).keys() == set(words)

    plan = await _erase(service, namespace="home", documents=planted, dryRun=True)
    assert plan["documents"] == 7
    assert plan["memories"]
    assert plan["chunks"]
    assert plan["blobs"] >= 4
    assert found_in(tmp_path, words).keys() == set(words)

    report = await _erase(service, namespace="home", documents=planted)
    assert (report["waitingEvents"], report["waitingBlobs"]) == (0, 0)
    assert report["documents"] == 7
    assert report["events"][f"{DOCUMENTS_SUBMITTED.name}.dlq"] == 1
    assert found_in(tmp_path, words) == {}
    assert not [word for word in words if word in caplog.text]

    assert KEPT in (await service.read_document("home", "kept"))["content"]
    assert [found["id"] for found in await service.list_items("home", "documents")] == ["kept"]
    newest, planned = (await service.client.ok("GET", "/admin/audit"))["entries"][:2]
    assert (newest["action"], newest["details"]["digest"]) == ("erased", report["digest"])
    assert newest["details"]["namespace"] == "home"
    assert planned["details"]["dryRun"] == "True"
    exported = (await service.client("GET", "/admin/export?namespace=home")).text
    assert KEPT in exported
    assert not [word for word in words if word in exported]


async def test_an_erased_namespace_stays_away_after_a_restart_and_a_replay(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running_service(data) as service:
        await service.add_document("home", f"Ben keeps a {KEPT}. Ben lives in Rome.", id="kept")
        await service.add_document("away", "Hello.", id="first")
        await service.client.ok("PATCH", "/ns/away", {"supportingContext": "About zyxonsq."})
        await service.add_document("away", "zyxobigq " + "mm " * 88_000, id="big")
        await _plant(service, "away", "diary")
        await service.pipeline.store.flush()
        assert found_in(data, SECRETS).keys() == set(SECRETS)
        report = await _erase(service, namespace="away")
        assert report["namespace"] == "away"
        assert report["documents"] == 9
        assert found_in(data, SECRETS) == {}
    assert found_in(data, SECRETS) == {}
    async with running_service(data) as service:
        await service.replay()
        assert [row["namespace"] for row in (await service.client.ok("GET", "/ns"))["namespaces"]] == ["home"]
        assert KEPT in (await service.read_document("home", "kept"))["content"]
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
        assert found_in(data, SECRETS) == {}


async def test_what_was_deleted_before_is_erased_with_the_rest(service: RunningService, tmp_path: Path) -> None:
    await service.add_document("home", "Ada keeps a zyxotextq in Porto.", id="diary")
    await service.wait_idle()
    await service.delete_documents("home", "diary")
    assert found_in(tmp_path, ("zyxotextq",))
    plan = await _erase(service, dryRun=True)
    report = await _erase(service)
    assert (report["events"], report["keys"]) == (plan["events"], 0)
    assert report["namespace"] is None
    assert report["events"][MEMORIES_FORMED.name]
    assert found_in(tmp_path, ("zyxotextq",)) == {}
    assert (await _erase(service))["events"] == {}


@pytest.mark.parametrize("sealing", [False, True])
async def test_a_document_that_came_back_keeps_its_new_words(tmp_path: Path, sealing: bool) -> None:
    async with running_service(tmp_path, sealing=sealing) as service:
        await service.add_document("home", "Ada keeps a zyxotextq in Porto.", id="diary")
        await service.wait_idle()
        await service.delete_documents("home", "diary")
        await service.add_document("home", f"Ada keeps a {KEPT} in Porto.", id="diary")
        await service.wait_idle()
        await _erase(service)
        assert found_in(tmp_path, ("zyxotextq",)) == {}
        assert KEPT in (await service.read_document("home", "diary"))["content"]
        await service.replay()
        assert KEPT in (await service.read_document("home", "diary"))["content"]


async def test_a_blob_that_another_document_needs_stays(service: RunningService) -> None:
    ids = [await service.add_file(ns, "notes.txt", b"Ada saw a lynx in the valley.") for ns in ("home", "away")]
    await service.wait_idle()
    report = await _erase(service, namespace="home", documents=ids[:1])
    assert (report["blobs"], report["waitingBlobs"]) == (0, 0)
    assert (await _erase(service, namespace="away"))["blobs"] == 1


async def test_documents_that_are_not_there_erase_nothing(service: RunningService) -> None:
    await service.add_document("home", "Ada lives in Porto.", id="diary")
    await service.client.fails(404, "POST", "/admin/erasures", {"namespace": "home", "documents": ["diary", "gone"]})
    await service.client.fails(404, "POST", "/admin/erasures", {"namespace": "nowhere"})
    await service.client.fails(400, "POST", "/admin/erasures", {"documents": ["diary"]})
    assert [found["id"] for found in await service.list_items("home", "documents")] == ["diary"]


async def test_a_blob_that_no_record_refers_to_goes_when_it_is_old(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "zyxobigq " + "mm " * 88_000
    await service.add_document("home", text, id="kept")
    await service.pipeline.resources.blobs.put(b"zyxofileq of a submission that was refused", "text/plain")
    await _erase(service)
    assert found_in(tmp_path, ("zyxofileq",)) != {}
    monkeypatch.setattr(erasure_service, "UNREFERENCED_BLOB_SECONDS", -1.0)
    await _erase(service)
    assert found_in(tmp_path, ("zyxofileq",)) == {}
    assert (await service.read_document("home", "kept"))["content"] == text


FILE = ("notes.txt", b"The plan of zyxofileq.")


async def test_a_blob_that_waited_when_the_process_was_killed_goes_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        Server(
            data, {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_SHARDS": "1", "RECOLLECT_LOG_PARTITIONS": "2"}
        ) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"}, timeout=60) as client,
    ):
        client.post("/ns/home/document/file", files={"file": FILE}).raise_for_status()
        report = client.post("/admin/erasures", json={"namespace": "home"}).raise_for_status().json()
        assert (report["blobs"], report["waitingBlobs"]) == (0, 1)
        server.kill()
    assert found_in(data / "blobs", ("zyxofileq",))
    async with running_service(data, embedder="none") as service:
        assert (await _erase(service))["blobs"] == 1
        assert found_in(data, ("zyxofileq",)) == {}
        assert (await _erase(service))["blobs"] == 0


@pytest.mark.parametrize("sealing", [False, True])
async def test_an_erasure_that_was_interrupted_is_completed_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealing: bool
) -> None:
    async def fail(*_: object) -> set[int]:
        raise LogWriteError("No space left on device")

    async with running_service(tmp_path, sealing=sealing) as service:
        await service.add_file("home", *FILE)
        await service.wait_idle()
        with monkeypatch.context() as broken:
            broken.setattr(LogEraser, "erase", fail)
            await service.client.fails(503, "POST", "/admin/erasures", {"namespace": "home"})
        assert found_in(tmp_path, ("zyxofileq",))
    async with running_service(tmp_path, sealing=sealing) as service:
        report = await _erase(service)
        assert report["blobs"] == 1
        assert found_in(tmp_path, ("zyxofileq",)) == {}


async def test_a_round_that_fails_is_tried_again(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = asyncio.Queue[int]()

    async def full(*_: object, **__: object) -> None:
        rounds.put_nowait(1)
        raise LogWriteError("No space left on device")

    erasures = ErasureService(service.supervisor, service.replays, interval_seconds=0.01)
    monkeypatch.setattr(erasures, "_run_round", full)
    running = asyncio.create_task(erasures.run())
    await rounds.get()
    await rounds.get()
    running.cancel()
    assert "No space left on device" in caplog.text


async def test_what_a_round_left_goes_without_waiting_for_the_interval(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_service, "FIRST_ROUND_SECONDS", 0.01)
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 3600.0)
    await service.add_file("home", *FILE)
    await service.wait_idle()
    await service.client.ok("DELETE", "/ns/home")
    erasures = ErasureService(service.supervisor, service.replays, interval_seconds=3600.0)
    running = asyncio.create_task(erasures.run())
    await wait_until(partial(_is_erased, tmp_path / "data" / "log", "zyxofileq"), "the erasure from the log")
    assert found_in(tmp_path / "data" / "blobs", ("zyxofileq",))
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)
    await wait_until(partial(_is_erased, tmp_path, "zyxofileq"), "the erasure of the blob")
    running.cancel()


async def _is_erased(folder: Path, word: str) -> bool:
    return found_in(folder, (word,)) == {}


async def test_an_erasure_whose_caller_left_ends_before_the_tables_are_closed(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 3600.0)
    await service.add_document("home", "Ada keeps a zyxotextq in Porto.", id="diary")
    await service.wait_idle()
    await service.delete_documents("home", "diary")
    erasures = ErasureService(service.supervisor, service.replays, interval_seconds=3600.0)
    waits = asyncio.Event()
    pause = erasures._wait

    async def wait(seconds: float) -> None:
        waits.set()
        await pause(seconds)

    monkeypatch.setattr(erasures, "_wait", wait)
    caller = asyncio.create_task(erasures.erase_now())
    await waits.wait()
    caller.cancel()
    await erasures.stop()
    assert found_in(tmp_path, ("zyxotextq",)) == {}
