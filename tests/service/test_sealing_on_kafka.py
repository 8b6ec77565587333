"""With sealing, Kafka's topics hold no readable words, and an erasure reaches every copy of them."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio import to_thread
from typer.testing import CliRunner

from app.cli.conventions import ExitCode
from app.cli.main import app
from app.resources import sealing_uri
from bench.service_process import Server
from pipeline.bus.records import ErasedRecordError, ProducerRecord, decode
from pipeline.bus.sealing import key_table
from pipeline.store.folder_files import open_files
from schemas.events import BlobRef, Content
from schemas.topics import CONTENT_TOPICS, DOCUMENTS_EXTRACTED, MEMORIES_FORGOTTEN
from tests.support.planted_documents import FILE_WORDS, plant_files
from tests.support.planted_words import found_in, found_in_object_store
from tests.support.process_memory import words_in_memory
from tests.support.service_world import RunningService, running_service
from tools.kafka_broker import DockerBroker, LocalBroker
from tools.s3_server import S3Server

pytestmark = [pytest.mark.anyio, pytest.mark.kafka, pytest.mark.slow]

WORDS = (
    "zyxotextq", "zyxometaq", "zyxobigq", "zyxomemoryq", "zyxocontextq", "zyxodeadq", "zyxopatchq", "zyxoforgetq",
    *FILE_WORDS,
)  # fmt: skip
KEPT, CONTROL = "quvokeptx", "quvocontrolx"


@pytest.fixture(autouse=True)
def _without_pauses(erasing_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_table, "MAX_AGE_SECONDS", 0.0)


@asynccontextmanager
async def _processes(
    folder: Path, kafka: LocalBroker | DockerBroker, **fields: Any
) -> AsyncIterator[tuple[RunningService, RunningService]]:
    """Two processes: the first answers and works, the second only answers."""
    shared: dict[str, Any] = {"kafka_bootstrap": kafka.bootstrap, "sealing": True, **fields}
    async with (
        running_service(folder, **shared) as here,
        running_service(folder, runs_stages=False, **shared) as there,
    ):
        yield here, there


async def _plant(service: RunningService, ns: str, document: str) -> list[str]:
    """Write a word into every kind of content; the ids of the documents."""
    await service.add_document(ns, f"Ben keeps a {KEPT}. Ben lives in Rome.", id="kept")
    text = "Ada keeps a zyxotextq in Porto. Ada lives in Porto."
    await service.add_document(
        ns, text, id=document, metadata={"note": "zyxometaq"}, supportingContext="About zyxocontextq."
    )
    await service.wait_idle()
    await service.patch_document(ns, document, content="Ada keeps a zyxopatchq in Lisbon. Ada lives in Lisbon.")
    files = await plant_files(service, ns)
    await service.add_document(ns, "zyxobigq " + "mm " * 88_000, id=f"{document}-big", taskType="superrag")
    await service.add_document(ns, "Ada wants a zyxomemoryq. Ada has a zyxoforgetq allergy.", id=f"{document}-memory")
    await service.wait_idle()
    await service.client.ok("DELETE", f"/ns/{ns}/memories/semantic", {"query": "zyxoforgetq allergy", "dryRun": False})
    await _park(service, document)
    return [document, f"{document}-big", f"{document}-memory", *files]


async def _park(service: RunningService, document: str) -> None:
    """Let the stages find the newest text of a document missing, which makes dead letters."""
    read = [record async for record in service.pipeline.bus.read(DOCUMENTS_EXTRACTED.name)]
    texts = [decode(DOCUMENTS_EXTRACTED, record) for record in read]
    newest = max((text for text in texts if text.event.id == document), key=lambda text: text.event.seq)
    missing = Content(blob=BlobRef(sha256="0" * 64, size=5))
    unreadable = newest.event.model_copy(update={"text": missing, "title": "zyxodeadq"})
    await service.pipeline.bus.publish(DOCUMENTS_EXTRACTED, [(newest.key, unreadable)])
    await service.wait_idle()


def _segments(kafka: LocalBroker | DockerBroker, words: tuple[str, ...]) -> dict[str, list[str]]:
    return found_in(kafka.folder / "data", words) if isinstance(kafka, LocalBroker) else {}


async def _readable(service: RunningService, words: tuple[str, ...]) -> tuple[set[str], int]:
    """Words that the keys of today open in the topics and their dead letters; and the number of erased records."""
    found, erased = set[str](), 0
    for name in (name for topic in CONTENT_TOPICS for name in (topic.name, topic.dead_letter_topic)):
        async for record in service.pipeline.bus.read(name):
            try:
                found |= {word for word in words if word.encode() in record.content}
            except ErasedRecordError:
                erased += 1
    return found, erased


@dataclass(frozen=True)
class _Places:
    """Everything outside the topics that holds words: the data directory, perhaps an object store."""

    folder: Path
    settings: dict[str, Any]
    options: dict[str, str]

    async def found(self) -> set[str]:
        """Search the planted words."""
        words = set(found_in(self.folder, WORDS))
        for name in ("lance_uri", "blob_uri"):
            if name in self.settings:
                words |= set(await found_in_object_store(self.settings[name], self.options, WORDS))
        return words


@pytest.fixture(params=["folder", "object store"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> _Places:
    if request.param == "folder":
        return _Places(tmp_path, {}, {})
    s3: S3Server = request.getfixturevalue("s3")
    return _Places(tmp_path, s3.service_settings(), s3.options)


async def test_erased_words_are_unreadable_in_topics_and_gone_elsewhere(
    places: _Places, own_kafka: LocalBroker | DockerBroker, caplog: pytest.LogCaptureFixture
) -> None:
    async with _processes(places.folder, own_kafka, **places.settings) as (here, there):
        documents = await _plant(here, "home", "diary")
        assert (await _readable(here, (*WORDS, KEPT)))[0] == {*WORDS, KEPT}
        assert await places.found() >= {"zyxotextq"}
        assert not found_in(places.folder / "blobs", WORDS)
        await here.pipeline.bus.append("control.v1", [ProducerRecord(b"key", CONTROL.encode(), {})])
        assert set(_segments(own_kafka, (*WORDS, KEPT, CONTROL))) <= {CONTROL}
        assert _segments(own_kafka, (CONTROL,)) or not isinstance(own_kafka, LocalBroker)
        assert (await here.client.ok("GET", "/admin/dlq"))["deadLetters"]

        wanted = {"namespace": "home", "documents": documents}
        plan = await there.client.ok("POST", "/admin/erasures", {**wanted, "dryRun": True})
        report = await there.client.ok("POST", "/admin/erasures", wanted)
        events, letters = report["events"], report["events"][f"{DOCUMENTS_EXTRACTED.name}.dlq"]
        assert letters
        missing = 1  # the blob that `_park` names
        assert report["keys"] == sum(events.values()) - letters + report["blobs"] - missing >= plan["keys"]
        assert (report["waitingEvents"], report["waitingBlobs"], report["retainedEvents"]) == (0, 0, 0)
        assert report["blobs"] == plan["blobs"] > 2
        assert events[MEMORIES_FORGOTTEN.name] == 1
        for service in (here, there):
            found, erased = await _readable(service, (*WORDS, KEPT))
            assert (found, erased) == ({KEPT}, sum(events.values()))
            assert (await service.client.ok("POST", "/admin/erasures", {}))["events"] == {}
        await here.pipeline.index_cache.erase_snapshots()
        assert await places.found() == set()
    assert _segments(own_kafka, (*WORDS, KEPT)) == {}
    async with _processes(places.folder, own_kafka, **places.settings) as (here, there):
        await here.replay()
        for service in (here, there):
            assert KEPT in (await service.read_document("home", "kept"))["content"]
            assert [row["id"] for row in await service.list_items("home", "documents")] == ["kept"]
            exported = (await service.client("GET", "/admin/export?namespace=home")).text
            assert [word for word in (*WORDS, KEPT) if word in exported] == [KEPT]
        assert await places.found() == set()
    assert not [word for word in WORDS if word in caplog.text]
    if sys.platform == "linux":
        settings = {"kafka_bootstrap": own_kafka.bootstrap, "embedder": "wordllama", "log_partitions": 2, "shards": 1}
        assert _words_in_a_new_process(places.folder, {**settings, **places.settings}) == {KEPT}


def _words_in_a_new_process(folder: Path, settings: Mapping[str, Any]) -> set[str]:
    """Words in the memory of a process that starts, reads and answers."""
    environment = {f"RECOLLECT_{name}".upper(): str(value) for name, value in settings.items()}
    with (
        Server(folder, environment) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"}, timeout=60) as client,
    ):
        client.post("/ns/home/search", json={"query": "Who keeps something in Rome?"}).raise_for_status()
        for path in ("list/documents", "list/memories", "profile"):
            client.post(f"/ns/home/{path}", json={}).raise_for_status()
        return words_in_memory(server.pid, (*WORDS, KEPT))


async def test_what_was_written_before_sealing_is_counted_and_stays(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    on_kafka: dict[str, Any] = {"kafka_bootstrap": own_kafka.bootstrap}
    async with running_service(tmp_path, **on_kafka) as service:
        await service.add_document("home", "Ada keeps a zyxotextq.", id="old")
        await service.add_document("home", f"Ben keeps a {KEPT}.", id="kept")
        await service.wait_idle()
        refused = await service.client.fails(409, "POST", "/admin/erasures", {})
        assert "RECOLLECT_SEALING" in refused["details"]
    async with running_service(tmp_path, sealing=True, **on_kafka) as service:
        await service.add_document("home", "Ada keeps a zyxomemoryq.", id="new")
        await service.wait_idle()
        wanted = {"namespace": "home", "documents": ["old", "new"]}
        report = await service.client.ok("POST", "/admin/erasures", wanted)
        assert report["keys"] == sum(report["events"].values()) >= 3
        assert report["retainedEvents"] >= 3
        assert (await _readable(service, (*WORDS, KEPT)))[0] == {"zyxotextq", KEPT}
    async with running_service(tmp_path, **on_kafka) as service:
        await service.replay()
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["kept"]
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]


def _run(*words: str) -> str:
    result = CliRunner().invoke(app, ["sealing", *words])
    assert result.exit_code == ExitCode.OK, result.output
    return result.output


async def test_shared_keys_are_backed_up_restored_and_rotated_by_commands(
    places: _Places, own_kafka: LocalBroker | DockerBroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here: dict[str, Any] = {"data_dir": places.folder, "kafka_bootstrap": own_kafka.bootstrap, **places.settings}
    for name, value in here.items():
        monkeypatch.setenv(f"RECOLLECT_{name}".upper(), json.dumps(value) if isinstance(value, dict) else str(value))
    backup, settings = tmp_path / "backup.db", {name: here[name] for name in here if name != "data_dir"}
    assert CliRunner().invoke(app, ["sealing", "backup", str(backup)]).exit_code == ExitCode.FAILED
    async with running_service(places.folder, sealing=True, **settings) as service:
        await service.add_document("home", f"Ben keeps a {KEPT}.", id="kept")
        await service.add_document("home", "Ada keeps a zyxotextq. " * 20_000, id="gone")
        await service.wait_idle()
        assert "keys written" in await to_thread.run_sync(_run, "backup", str(backup))
        await service.client.ok("POST", "/admin/erasures", {"namespace": "home", "documents": ["gone"]})
        uri, options = _sealing_place(service)
        storage = open_files(uri, "keys", options)
        for block in storage.names("blocks"):
            storage.delete(f"blocks/{block}")
    assert "added" in await to_thread.run_sync(_run, "restore", str(backup))
    old = (places.folder / "sealing.key").read_text()
    assert "wrapped with a new key" in await to_thread.run_sync(_run, "rotate")
    assert old not in (places.folder / "sealing.key").read_text()
    refused = await to_thread.run_sync(lambda: CliRunner().invoke(app, ["sealing", "restore", str(backup)]))
    assert "not in the sealing key file" in refused.stderr
    async with running_service(places.folder, sealing=True, **settings) as service:
        found, erased = await _readable(service, ("zyxotextq", KEPT))
        assert found == {KEPT}
        assert erased >= 3
        await service.replay()
        assert [row["id"] for row in await service.list_items("home", "documents")] == ["kept"]
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]


def _sealing_place(service: RunningService) -> tuple[str, dict[str, str]]:
    settings = service.pipeline.resources.settings
    return sealing_uri(settings), dict(settings.storage_options(sealing_uri(settings)) or {})
