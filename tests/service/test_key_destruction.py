"""With sealing, a deletion destroys keys within seconds: what was deleted is unreadable in copies of log and keys."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx2
import pytest

from app import erasure_service, key_destroyer
from app.erasure_service import ErasureService
from app.key_destroyer import KeyDestroyer
from app.resources import open_sealing_keys
from bench.service_process import Server
from pipeline.bus.bus_factory import open_key_table
from pipeline.bus.records import ErasedRecordError, ProducerRecord, decode
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.sqlite.log_writer import LogWriteError
from pipeline.errors import OutageError, RejectedError
from pipeline.store.blobs import blob_store
from schemas.events import BlobRef, Content
from schemas.ids import document_key
from schemas.topics import CONTENT_TOPICS, DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED
from tests.support.planted_documents import FILE_WORDS, plant_files
from tests.support.planted_words import found_in
from tests.support.service_world import RunningService, rebuild_tables, running_service, service_settings, wait_until
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("erasing_at_once")]

GONE, KEPT = "zyxotextq", "quvokeptx"


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.slow])])
def log(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of a service that seals its log."""
    if request.param == "embedded":
        return {"sealing": True}
    broker: LocalBroker | DockerBroker = request.getfixturevalue("own_kafka")
    return {"sealing": True, "kafka_bootstrap": broker.bootstrap}


@asynccontextmanager
async def _destroyer(service: RunningService) -> AsyncIterator[KeyDestroyer]:
    destroyer = KeyDestroyer(service.supervisor)
    try:
        yield destroyer
    finally:
        destroyer.close()


async def _readable(service: RunningService, *words: str) -> set[str]:
    """Words that keys copied now open in the log and its dead letters."""
    found = set[str]()
    sealer = _copied_keys(service)
    for name in (name for topic in CONTENT_TOPICS for name in (topic.name, topic.dead_letter_topic)):
        async for record in service.pipeline.bus.read(name):
            try:
                content = sealer.open(record) if "sealed" in record.headers else record.value
            except ErasedRecordError:
                continue
            found |= {word for word in words if word.encode() in content}
    return found


def _copied_keys(service: RunningService) -> Sealer:
    """The keys as whoever copies them now has them, without the list of those destroyed on the embedded log."""
    settings, clock = service.supervisor.resources.settings, service.supervisor.resources.clock
    if settings.kafka_bootstrap is None:
        copy = settings.data_dir.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(settings.data_dir / "keys", copy / "keys")
        shutil.copy(settings.data_dir / "sealing.key", copy)
        settings = service_settings(copy)
    return Sealer(open_key_table(settings, open_sealing_keys(settings), clock), seals=False)


async def _write(service: RunningService) -> None:
    await service.add_document("home", f"Ada keeps a {GONE} in Porto. Ada lives in Porto.", id="diary")
    await service.add_document("home", f"Ben keeps a {KEPT}. Ben lives in Rome.", id="kept")
    await service.wait_idle()


async def _replay(service: RunningService) -> None:
    await service.replay()
    assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]


async def test_a_deleted_document_is_unreadable_in_copies_of_log_keys_and_blobs(
    tmp_path: Path, log: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    words = (GONE, KEPT, *FILE_WORDS)
    async with running_service(data, **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        files = await plant_files(service, "home")
        await service.wait_idle()
        assert await destroyer.destroy() == 0
        assert await _readable(service, *words) == {*words}
        shutil.copytree(data / "blobs", tmp_path / "blobs")
        await service.delete_documents("home", "diary", *files)
        assert await destroyer.destroy() >= 3
        assert await _readable(service, *words) == {KEPT}
        shutil.copytree(tmp_path / "blobs", data / "blobs", dirs_exist_ok=True)
        digests = {path.parent.name + path.name for path in (tmp_path / "blobs").glob("??/*")}
        assert len(digests) >= 3
        for digest in digests:
            with pytest.raises(RejectedError, match="was erased"):
                await service.pipeline.resources.blobs.get(BlobRef(sha256=digest, size=0))
        assert await destroyer.destroy() == 0
        await _replay(service)
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["kept"]


async def test_a_deleted_namespace_loses_its_keys_and_a_moved_one_keeps_them(
    tmp_path: Path, log: dict[str, Any]
) -> None:
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await service.add_document("away", f"Ada keeps a {GONE} in Porto.", id="diary")
        await service.add_document("old", f"Ben keeps a {KEPT}.", id="kept")
        await service.wait_idle()
        await destroyer.destroy()
        await service.client.ok("DELETE", "/ns/old?moveTo=new")
        await service.wait_idle()
        await service.client.ok("DELETE", "/ns/away")
        assert await destroyer.destroy() >= 3
        assert await _readable(service, GONE, KEPT) == {KEPT}
        await service.wait_idle()
        await _replay(service)
        assert KEPT in (await service.read_document("new", "kept"))["content"]


async def test_a_redacted_sentence_is_unreadable_and_the_others_stay(tmp_path: Path, log: dict[str, Any]) -> None:
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await service.add_document("home", f"Ada is allergic to {GONE}. Ada plays the {KEPT}.", id="diary")
        await service.wait_idle()
        await destroyer.destroy()
        memories = await service.list_items("home", "memories")
        ids = [row["id"] for row in memories if GONE in row["memory"]]
        assert (await service.client.ok("POST", "/ns/home/explain/redactions", {"ids": ids}))["count"] == 1
        await service.wait_idle()
        assert await destroyer.destroy() >= 3
        assert await _readable(service, GONE, KEPT) == {KEPT}
        await _replay(service)
        assert (await service.read_document("home", "diary"))["content"] == f"Ada plays the {KEPT}."


async def test_a_document_that_came_back_keeps_its_new_words(tmp_path: Path, log: dict[str, Any]) -> None:
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await service.add_document("home", f"Ada keeps a {GONE} in Porto.", id="diary")
        await service.wait_idle()
        await service.delete_documents("home", "diary")
        await service.add_document("home", f"Ada keeps a {KEPT} in Porto.", id="diary")
        await service.wait_idle()
        await destroyer.destroy()
        assert await _readable(service, GONE, KEPT) == {KEPT}
        await service.patch_document("home", "diary", content=f"Ada keeps a {KEPT} in Rome.")
        await service.wait_idle()
        assert await destroyer.destroy() == 0
        await _replay(service)
        assert "Rome" in (await service.read_document("home", "diary"))["content"]


async def test_what_a_kill_interrupts_is_destroyed_after_the_next_start(
    tmp_path: Path, log: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> int:
        raise LogWriteError("No space left on device")

    data = tmp_path / "data"
    async with running_service(data, **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        await service.add_file("home", "notes.txt", b"The plan of zyxofileq.")
        await service.wait_idle()
        await destroyer.destroy()
        await service.client.ok("DELETE", "/ns/home")
        erasable = service.pipeline.bus.erasable
        assert erasable is not None
        with monkeypatch.context() as broken:
            broken.setattr(type(erasable), "destroy_keys", fail)
            with pytest.raises(LogWriteError):
                await destroyer.destroy()
        assert await _readable(service, GONE, "zyxofileq") == {GONE, "zyxofileq"}
    async with running_service(data, **log) as service:
        async with _destroyer(service) as destroyer:
            with monkeypatch.context() as broken:
                broken.setattr("pipeline.erasure.record_index.RecordIndex.settle", _fail)
                with pytest.raises(OutageError):
                    await destroyer.destroy()
            assert await _readable(service, GONE, "zyxofileq") == set()
            assert list((data / "blobs").glob("??/*"))
        async with _destroyer(service) as destroyer:
            assert await destroyer.destroy() == 0
            assert not list((data / "blobs").glob("??/*"))


def _fail(*_: object) -> None:
    raise OutageError("killed")


async def test_what_a_stage_publishes_after_the_deletion_loses_its_key_too(tmp_path: Path, log: dict[str, Any]) -> None:
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        await service.delete_documents("home", "diary")
        texts = [record async for record in service.pipeline.bus.read(DOCUMENTS_EXTRACTED.name)]
        late = next(text for text in (decode(DOCUMENTS_EXTRACTED, raw) for raw in texts) if text.event.id == "diary")
        assert await destroyer.destroy() >= 3
        await service.pipeline.bus.publish(DOCUMENTS_EXTRACTED, [(late.key, late.event)])
        assert await _readable(service, GONE, KEPT) == {GONE, KEPT}
        assert await destroyer.destroy() == 1
        assert await _readable(service, GONE, KEPT) == {KEPT}
        await service.wait_idle()
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]


async def test_a_dead_letter_of_a_deleted_document_is_unreadable_and_harmless(
    tmp_path: Path, log: dict[str, Any]
) -> None:
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        texts = [record async for record in service.pipeline.bus.read(DOCUMENTS_EXTRACTED.name)]
        text = next(text for text in (decode(DOCUMENTS_EXTRACTED, raw) for raw in texts) if text.event.id == "diary")
        lost = Content(blob=BlobRef(sha256="0" * 64, size=5))
        broken = text.event.model_copy(update={"text": lost, "title": "zyxodeadq"})
        await service.pipeline.bus.publish(DOCUMENTS_EXTRACTED, [(text.key, broken)])
        await service.wait_idle()
        letters = (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
        assert letters
        await service.delete_documents("home", "diary")
        await service.wait_idle()
        await destroyer.destroy()
        assert await _readable(service, "zyxodeadq", GONE, KEPT) == {KEPT}
        for letter in letters:
            shown = await service.client("GET", f"/admin/dlq/record?id={letter['id']}")
            assert shown.status_code in {200, 404}
            assert "zyxodeadq" not in shown.text
        await service.client.ok("POST", "/admin/dlq/redrive")
        await service.wait_idle()
        await _replay(service)
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["kept"]


async def test_records_that_no_stage_has_read_are_passed_over(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running_service(data, sealing=True, run_stages_here=False) as service, _destroyer(service) as destroyer:
        for id_, text in (("diary", GONE), ("back", GONE)):
            await service.add_document("home", f"Ada keeps a {text}.", id=id_)
        await service.delete_documents("home", "diary", "back")
        await service.add_document("home", f"Ben keeps a {KEPT}.", id="back")
        assert await destroyer.destroy() == 2
    async with running_service(data, sealing=True) as service:
        await service.wait_idle()
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["back"]
        assert KEPT in (await service.read_document("home", "back"))["content"]


async def test_a_deletion_that_was_redriven_leaves_what_came_after_it(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data", sealing=True) as service, _destroyer(service) as destroyer:
        await _write(service)
        await service.delete_documents("home", "diary")
        await service.add_document("home", f"Ada keeps a {KEPT}.", id="diary")
        await service.wait_idle()
        bus, key = service.pipeline.bus, f"home#0/{document_key('home#0', 'diary')}"
        read = [raw async for raw in bus.read(DOCUMENTS_SUBMITTED.name)]
        deletion = next(raw for raw in read if b'"operation":"delete"' in raw.value)
        place = {"redriven-partition": str(deletion.partition), "redriven-offset": str(deletion.offset)}
        await bus.append(DOCUMENTS_SUBMITTED.name, [ProducerRecord(key.encode(), deletion.value, place)])
        await service.wait_idle()
        await destroyer.destroy()
        await service.client.ok("POST", "/admin/erasures", {})
        assert await _readable(service, GONE, KEPT) == {KEPT}
        await _replay(service)
        assert KEPT in (await service.read_document("home", "diary"))["content"]


async def test_a_file_that_another_document_needs_stays(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data", sealing=True) as service, _destroyer(service) as destroyer:
        for ns in ("home", "away"):
            await service.add_file(ns, "notes.txt", b"Ada saw a lynx in the valley.")
        await service.wait_idle()
        for ns, left in (("home", 1), ("away", 0)):
            await service.client.ok("DELETE", f"/ns/{ns}")
            await destroyer.destroy()
            assert len(list((tmp_path / "data" / "blobs").glob("??/*"))) == left


async def test_a_file_that_was_stored_a_moment_ago_goes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_destroyer, "BLOB_RETRY_SECONDS", 0.0)
    async with running_service(tmp_path / "data", sealing=True) as service, _destroyer(service) as destroyer:
        await service.add_file("home", "notes.txt", b"Ada saw a lynx in the valley.")
        await service.wait_idle()
        await service.client.ok("DELETE", "/ns/home")
        with monkeypatch.context() as now:
            now.setattr(blob_store, "RECENT_PUT_SECONDS", 60.0)
            await destroyer.destroy()
            assert len(list((tmp_path / "data" / "blobs").glob("??/*"))) == 1
        await destroyer.destroy()
        assert not list((tmp_path / "data" / "blobs").glob("??/*"))


async def test_the_index_is_made_anew_where_it_is_lost_or_another_log_is_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running_service(data, sealing=True) as service:
        await _write(service)
    shutil.copytree(data / "log", tmp_path / "log")
    async with running_service(data, sealing=True) as service, _destroyer(service) as destroyer:
        await service.add_document("home", "Cleo keeps a lynx.", id="later")
        await service.wait_idle()
        await destroyer.destroy()
    for lost in ("log", "tables"):
        shutil.rmtree(data / lost)
    (tmp_path / "log").rename(data / "log")
    await rebuild_tables(data, sealing=True)
    async with running_service(data, sealing=True) as service, _destroyer(service) as destroyer:
        await destroyer.destroy()
        await service.delete_documents("home", "diary")
    (data / "record-index.db").write_bytes(b"no index" * 1000)
    async with running_service(data, sealing=True) as service, _destroyer(service) as destroyer:
        assert await destroyer.destroy() >= 3
        assert await _readable(service, GONE, KEPT) == {KEPT}


async def test_a_restored_log_that_has_grown_since_is_indexed_anew(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running_service(data, sealing=True) as service:
        await _write(service)
    shutil.copytree(data / "log", tmp_path / "log")
    async with running_service(data, sealing=True) as service, _destroyer(service) as destroyer:
        await service.add_document("home", "Cleo keeps a lynx.", id="later")
        await service.wait_idle()
        await destroyer.destroy()
    shutil.rmtree(data / "log")
    (tmp_path / "log").rename(data / "log")
    shutil.rmtree(data / "tables")
    await rebuild_tables(data, sealing=True)
    async with running_service(data, sealing=True) as service, _destroyer(service) as destroyer:
        for number in range(8):
            await service.add_document("home", f"Dora keeps a zyxonewq {number}.", id=f"new-{number}")
        await service.wait_idle()
        await destroyer.destroy()
        await service.delete_documents("home", *(f"new-{number}" for number in range(8)))
        await destroyer.destroy()
        assert await _readable(service, GONE, "zyxonewq") == {GONE}


async def test_the_next_round_erases_the_rows_from_the_tables(
    tmp_path: Path, log: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_service, "FIRST_ROUND_SECONDS", 0.01)
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 0.05)
    data = tmp_path / "data"
    async with running_service(data, **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        await service.pipeline.store.flush()
        await service.delete_documents("home", "diary")
        await destroyer.destroy()
        await service.wait_idle()
        assert found_in(data, (GONE,))
        erasures = ErasureService(service.supervisor, service.replays, interval_seconds=3600.0)
        rounds = asyncio.create_task(erasures.run())
        await wait_until(partial(_is_erased, data), "the erasure from the tables")
        rounds.cancel()
        assert (await service.read_document("home", "kept"))["id"] == "kept"


async def _is_erased(data: Path) -> bool:
    return not found_in(data, (GONE,)) and not (data / "tables-to-erase").exists()


async def test_what_the_log_drops_by_itself_leaves_the_index(
    tmp_path: Path, log: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_destroyer, "EXPIRY_SECONDS", (0.0, 0.0))
    async with running_service(tmp_path / "data", **log) as service, _destroyer(service) as destroyer:
        await _write(service)
        await destroyer.destroy()
        chunked = replace(DOCUMENTS_CHUNKED, retention=timedelta(0))
        dropped = await service.pipeline.bus.maintain([chunked])
        assert dropped == (0 if "kafka_bootstrap" in log else 2)
        before = _indexed(tmp_path / "data")
        await destroyer.destroy()
        assert _indexed(tmp_path / "data") == before - dropped


def _indexed(data: Path) -> int:
    with closing(sqlite3.connect(data / "record-index.db")) as db:
        return int(db.execute("SELECT count(*) FROM records").fetchone()[0])


@pytest.mark.kafka
@pytest.mark.slow
async def test_another_process_takes_over_where_the_first_one_ends(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_destroyer, "ELECTION_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(key_destroyer, "ELECTION_SECONDS", 0.2)
    monkeypatch.setattr(key_destroyer, "INTERVAL_SECONDS", 0.05)
    shared: dict[str, Any] = {"sealing": True, "kafka_bootstrap": own_kafka.bootstrap}
    async with (
        running_service(tmp_path, **shared) as here,
        running_service(tmp_path, runs_stages=False, **shared) as there,
        _destroyer(here) as first,
        _destroyer(there) as second,
    ):
        await _write(here)
        leading, waiting = asyncio.create_task(first.run()), asyncio.create_task(second.run())
        for task, document, left in ((leading, "diary", {KEPT}), (waiting, "kept", set[str]())):
            await there.delete_documents("home", document)
            await wait_until(partial(_only_readable, there, left), "the destruction of the keys")
            task.cancel()
            await asyncio.wait([task])


async def _only_readable(service: RunningService, words: set[str]) -> bool:
    return await _readable(service, GONE, KEPT) == words


def test_a_running_process_destroys_the_keys_by_itself(tmp_path: Path) -> None:
    environment = {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_SHARDS": "1", "RECOLLECT_SEALING": "true"}
    with (
        Server(tmp_path / "data", environment) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"}, timeout=60) as client,
    ):
        client.post("/ns/home/document", json={"content": f"Ada keeps a {GONE}.", "id": "diary"}).raise_for_status()
        client.request("DELETE", "/ns/home/document", json={"ids": ["diary"]}).raise_for_status()
        deadline = monotonic() + WAIT_TIMEOUT_SECONDS
        while not _destroyed_keys(tmp_path / "data"):
            assert monotonic() < deadline
            sleep(0.1)


def _destroyed_keys(data: Path) -> int:
    return len(list((data / "destroyed-keys").glob("*")))
