"""With sealing, the log holds no readable words, and an erasure reaches the copies of it that were made before."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.conventions import ExitCode
from app.cli.main import app
from app.resources import SystemClock, open_sealing_keys
from pipeline.bus.bus_factory import open_key_table
from pipeline.bus.records import SEALED_HEADER, ErasedRecordError, ProducerRecord, RawRecord
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.sqlite.log_reader import LogReader
from pipeline.errors import RejectedError
from pipeline.ports import Blobs
from schemas.events import BlobRef
from schemas.ids import document_key
from schemas.topics import ALL_TOPICS, DOCUMENTS_SUBMITTED
from tests.support.asgi_server import serve_app_in_thread
from tests.support.planted_documents import FILE_WORDS, plant_files
from tests.support.planted_words import found_in, found_in_object_store
from tests.support.service_world import RunningService, rebuild_tables, running_service, service_settings
from tests.support.vault_double import TOKEN, VaultDouble
from tools.s3_server import S3Server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("erasing_at_once")]

GONE, KEPT, POISON = "zyxotextq", "quvokeptx", "zyxodeadq"


async def _write_two(service: RunningService) -> None:
    await service.add_document("home", f"Ada keeps a {GONE} in Porto. " * 30 + "Ada lives in Porto.", id="diary")
    await service.add_document("home", f"Ben keeps a {KEPT}. Ben lives in Rome.", id="kept")
    await service.wait_idle()


def _readable_words(log: Path, data: Path, words: tuple[str, ...]) -> tuple[set[str], int]:
    """Words in the records of a copied log, read with the keys of today; and the number of erased records."""
    settings = service_settings(data)
    keys = open_key_table(settings, open_sealing_keys(settings), SystemClock())
    reader = LogReader(log / "log.db")
    reader.opener = Sealer(keys, seals=False).open
    erased, found = 0, set[str]()
    for record in (record for topic in ALL_TOPICS for part in range(4) for record in _all(reader, topic.name, part)):
        try:
            found |= {word for word in words if word.encode() in record.content}
        except ErasedRecordError:
            erased += 1
    reader.close()
    return found, erased


def _all(reader: LogReader, topic: str, partition: int) -> list[RawRecord]:
    return reader.read(topic, partition, 0, 10_000)


async def test_a_copy_of_the_log_is_unreadable_where_it_was_erased(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    async with running_service(data, sealing=True) as service:
        await _write_two(service)
        assert found_in(data / "log", (GONE, KEPT)) == {}
    shutil.copytree(data / "log", copy)
    assert _readable_words(copy, data, (GONE, KEPT)) == ({GONE, KEPT}, 0)
    async with running_service(data, sealing=True) as service:
        wanted = {"namespace": "home", "documents": ["diary"]}
        plan = await service.client.ok("POST", "/admin/erasures", {**wanted, "dryRun": True})
        assert plan["keys"] == sum(plan["events"].values())
        report = await service.client.ok("POST", "/admin/erasures", wanted)
        assert report["waitingEvents"] == 0
        assert report["keys"] == plan["keys"]
        newest = (await service.client.ok("GET", "/admin/audit"))["entries"][0]
        assert newest["details"]["keys"] == str(report["keys"])
        assert (await service.client.ok("POST", "/admin/erasures", {}))["keys"] == 0
        assert found_in(data, (GONE,)) == {}
        await service.replay()
        assert KEPT in (await service.read_document("home", "kept"))["content"]
        assert [found["id"] for found in await service.list_items("home", "documents")] == ["kept"]
    found, erased = _readable_words(copy, data, (GONE, KEPT))
    assert found == {KEPT}
    assert erased >= 3


async def _upload(service: RunningService, text: str) -> str:
    return await service.add_file("home", "notes.txt", text.encode(), "text/plain")


async def _download(service: RunningService, document: str) -> str:
    return str((await service.client("GET", f"/ns/home/explain/originals/{document}")).text)


async def test_a_copy_of_files_and_long_texts_is_unreadable_where_it_was_erased(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    long = "mm " * 90_000
    async with running_service(data, sealing=True) as service:
        gone = [await _upload(service, f"The plan of {GONE}."), await service.add_document("home", GONE + long)]
        kept = [await _upload(service, f"The plan of {KEPT}."), await service.add_document("home", KEPT + long)]
        await service.wait_idle()
        assert found_in(data / "blobs", (GONE, KEPT)) == {}
        shutil.copytree(data / "blobs", copy)
        wanted = {"namespace": "home", "documents": gone}
        plan = await service.client.ok("POST", "/admin/erasures", {**wanted, "dryRun": True})
        report = await service.client.ok("POST", "/admin/erasures", wanted)
        assert plan["blobs"] == report["blobs"] >= 3
        assert plan["keys"] == report["keys"] == sum(report["events"].values()) + report["blobs"]
        assert await _download(service, kept[0]) == f"The plan of {KEPT}."
    stored = _digests(data / "blobs")
    shutil.copytree(copy, data / "blobs", dirs_exist_ok=True)
    async with running_service(data, sealing=True) as service:
        assert await _readable(service.pipeline.resources.blobs, _digests(copy)) == stored
        assert len(_digests(copy)) == len(stored) + report["blobs"]
        await service.replay()
        assert await _download(service, kept[0]) == f"The plan of {KEPT}."
        assert KEPT in (await service.read_document("home", kept[1]))["content"]
        assert {row["id"] for row in await service.list_items("home", "documents")} == set(kept)
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
    async with running_service(data) as service:
        assert await _download(service, kept[0]) == f"The plan of {KEPT}."


async def test_erased_words_are_in_no_object_of_a_store(tmp_path: Path, s3: S3Server) -> None:
    places: dict[str, Any] = s3.service_settings()

    async def found() -> set[str]:
        words = (GONE, KEPT, *FILE_WORDS)
        uris = (places["lance_uri"], places["blob_uri"])
        return {word for uri in uris for word in await found_in_object_store(uri, s3.options, words)}

    async with running_service(tmp_path, sealing=True, **places) as service:
        await _write_two(service)
        files = await plant_files(service, "home")
        await service.wait_idle()
        await service.pipeline.store.flush()
        assert await found() == {GONE, KEPT, *FILE_WORDS}
        assert await found_in_object_store(places["blob_uri"], s3.options, FILE_WORDS) == {}
        wanted = {"namespace": "home", "documents": ["diary", *files]}
        report = await service.client.ok("POST", "/admin/erasures", wanted)
        assert (report["waitingEvents"], report["waitingBlobs"]) == (0, 0)
        assert await found() == {KEPT}
        assert found_in(tmp_path, (GONE, *FILE_WORDS)) == {}


def _digests(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix().replace("/", "") for path in folder.glob("??/*")}


async def _readable(blobs: Blobs, digests: set[str]) -> set[str]:
    readable = set[str]()
    for digest in digests:
        with suppress(RejectedError):
            await blobs.get(BlobRef(sha256=digest, size=0))
            readable.add(digest)
    return readable


def _run(*words: str, data: Path, said: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sealing", *words, "--data-dir", str(data)], input=said)


async def test_a_restored_backup_of_the_keys_reads_only_what_was_not_erased(tmp_path: Path) -> None:
    data, copy, backup = tmp_path / "data", tmp_path / "copy", tmp_path / "backup.db"
    async with running_service(data, sealing=True) as service:
        await _write_two(service)
        assert _run("backup", str(backup), data=data).exit_code == ExitCode.OK
        before = backup.read_bytes()
        assert _run("backup", str(backup), data=data, said="n\n").exit_code == ExitCode.FAILED
        assert _run("rotate", data=data).exit_code == ExitCode.FAILED
    assert backup.read_bytes() == before
    assert backup.stat().st_mode & 0o077 == 0
    shutil.copytree(data / "log", copy)
    async with running_service(data, sealing=True) as service:
        await service.client.ok("POST", "/admin/erasures", {"namespace": "home", "documents": ["diary"]})
    for lost in ("keys", "log", "tables"):
        shutil.rmtree(data / lost)
    copy.rename(data / "log")
    assert "1 block of keys added" in _run("restore", str(backup), data=data).output
    assert _readable_words(data / "log", data, (GONE, KEPT))[0] == {KEPT}
    await rebuild_tables(data, sealing=True)
    async with running_service(data, sealing=True) as service:
        assert [found["id"] for found in await service.list_items("home", "documents")] == ["kept"]


async def test_a_backup_of_the_keys_is_shut_for_ever_when_the_wrapping_key_was_rotated(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    assert _run("backup", str(backup), data=data).exit_code == ExitCode.FAILED
    async with running_service(data, sealing=True) as service:
        await _write_two(service)
    assert json.loads(_run("backup", str(backup), "--json", data=data).stdout)["blocks"] == 1
    first = (data / "sealing.key").read_text()
    assert _run("rotate", data=data).exit_code == ExitCode.OK
    assert first not in (data / "sealing.key").read_text()
    refused = _run("restore", str(backup), data=data)
    assert refused.exit_code == ExitCode.FAILED
    assert "not in the sealing key file" in refused.stderr
    assert _readable_words(data / "log", data, (GONE, KEPT)) == ({GONE, KEPT}, 0)


async def test_vault_keeps_the_wrapping_key_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = VaultDouble()
    with serve_app_in_thread(vault) as address:
        service_of_keys: dict[str, Any] = {"sealing_vault_address": address, "sealing_vault_token": TOKEN}
        for name, value in service_of_keys.items():
            monkeypatch.setenv(f"RECOLLECT_{name}".upper(), value)
        async with running_service(tmp_path, sealing=True, **service_of_keys) as service:
            await _write_two(service)
        assert (tmp_path / "sealing.key").read_text().startswith("vault:v1:")
        vault.rotate()
        assert "1 wrapping key encrypted anew" in _run("rewrap", data=tmp_path).output
        vault.min_decryption_version = 2
        assert _run("rotate", data=tmp_path).exit_code == ExitCode.OK
        async with running_service(tmp_path, sealing=True, **service_of_keys) as service:
            await service.replay()
            assert KEPT in (await service.read_document("home", "kept"))["content"]
    monkeypatch.delenv("RECOLLECT_SEALING_VAULT_TOKEN")
    assert "needs RECOLLECT_SEALING_VAULT_TOKEN" in _run("rewrap", data=tmp_path).stderr


async def test_an_erased_record_in_a_restored_log_is_passed_over(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    async with running_service(data, sealing=True) as service:
        await _write_two(service)
    shutil.copytree(data / "log", copy)
    async with running_service(data, sealing=True) as service:
        await service.client.ok("POST", "/admin/erasures", {"namespace": "home", "documents": ["diary"]})
    shutil.rmtree(data / "log")
    shutil.rmtree(data / "tables")
    copy.rename(data / "log")
    await rebuild_tables(data, sealing=True)
    async with running_service(data, sealing=True) as service:
        assert not (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
        assert [found["id"] for found in await service.list_items("home", "documents")] == ["kept"]


@pytest.mark.parametrize("sealing", [True, False])
async def test_poison_becomes_a_dead_letter_with_its_reason(tmp_path: Path, sealing: bool) -> None:
    async with running_service(tmp_path, sealing=sealing) as service:
        await _write_two(service)
        key = f"home#0/{document_key('home#0', 'diary')}".encode()
        broken = json.dumps({"operation": "explode", "text": POISON}).encode()
        headers = {SEALED_HEADER: "00/1"} if sealing else {}
        await service.pipeline.bus.append(
            DOCUMENTS_SUBMITTED.name, [ProducerRecord(key, broken, {}), ProducerRecord(key, b"\xff", headers)]
        )
        await service.wait_idle()
        letters = (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
        assert len(letters) == 2
        assert sum("key table" in letter["error"] for letter in letters) == sealing
        assert all(letter["error"] for letter in letters)


async def test_what_was_sealed_is_read_after_sealing_is_turned_off(tmp_path: Path) -> None:
    async with running_service(tmp_path, sealing=True) as service:
        await _write_two(service)
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Cleo keeps a lynx.", id="later")
        await service.replay()
        assert KEPT in (await service.read_document("home", "kept"))["content"]
    assert set(found_in(tmp_path / "log", ("lynx", GONE, KEPT))) == {"lynx"}
