"""Checks of components on a real log, real tables and unreachable endpoints."""

import socket
import sqlite3
from contextlib import closing
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import obstore
import pytest

from app.cli.commands.doctor_command import build_checks
from app.cli.diagnostics import component_checks
from app.cli.diagnostics.check_runner import run_checks
from app.resources import open_sealing_keys
from pipeline.bus.kafka.cluster import Cluster
from pipeline.bus.records import SEALED_HEADER, ProducerRecord
from pipeline.bus.sealing.sealed_records import BLOCKS
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.settings import Settings
from pipeline.store import StoreMismatchError, open_store
from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store
from tests.support.fakes import EPOCH, FixedClock
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio


def settings(folder: Path, **fields: Any) -> Settings:
    return Settings(_env_file=None, data_dir=folder, **fields)


@pytest.fixture
def unreachable_url() -> str:
    """Address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"


async def write_log(folder: Path) -> None:
    bus = await SqliteBus.open(folder / "log", partitions=4, clock=FixedClock())
    await bus.append("notes.v1", [ProducerRecord(b"key", b"x" * 1000, {}) for _ in range(100)])
    await bus.append("notes.v1.dlq", [ProducerRecord(b"key", b"{}", {})])
    await bus.close()


async def test_sealed_records_without_their_keys_are_a_problem(tmp_path: Path) -> None:
    bus = await SqliteBus.open(tmp_path / "log", partitions=4, clock=FixedClock())
    sealed = [ProducerRecord(b"key", b"x", {SEALED_HEADER: name}) for name in ("5f/0", "5f/1", "6a/0", "7b-20261127/0")]
    await bus.append("notes.v1", [*sealed, ProducerRecord(b"key", b"x", {})])
    await bus.close()
    storage = open_sealing_keys(settings(tmp_path))
    storage.create(f"{BLOCKS}/6a", b"keys")
    ((status, message, remedy),) = await component_checks.check_sealing_keys(settings(tmp_path))
    assert (status, "2 of 3 sealed records" in message) == ("problem", True)
    assert "recollect sealing restore" in remedy
    storage.create(f"{BLOCKS}/5f", b"keys")
    ((status, message, _),) = await component_checks.check_sealing_keys(settings(tmp_path))
    assert (status, message) == ("ok", "there for all of 3 sealed records")


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def test_a_new_deployment_passes_and_the_checks_create_nothing(tmp_path: Path) -> None:
    for check in (
        component_checks.check_log,
        component_checks.check_sealing_keys,
        component_checks.check_tables,
        component_checks.check_object_store,
        component_checks.check_kafka,
        component_checks.check_language_model,
    ):
        ((status, _, remedy),) = await check(settings(tmp_path))
        assert (status, remedy) == ("ok", "")
    assert is_empty(tmp_path)


async def test_dead_letters_and_another_number_of_partitions_are_reported(tmp_path: Path) -> None:
    await write_log(tmp_path)
    ((status, message, remedy),) = await component_checks.check_log(settings(tmp_path))
    assert (status, message) == ("warning", "1 dead letter in notes.v1.dlq.")
    assert "recollect dlq" in remedy
    results = await component_checks.check_log(settings(tmp_path, log_partitions=7))
    assert results[0][0] == "problem"
    assert "RECOLLECT_LOG_PARTITIONS=4" in results[0][2]
    assert await component_checks.newest_record_at(settings(tmp_path)) == EPOCH


async def test_a_damaged_log_is_reported(tmp_path: Path) -> None:
    await write_log(tmp_path)
    file = component_checks.log_path(settings(tmp_path))
    data = bytearray(file.read_bytes())
    data[8192:12288] = b"\xff" * 4096
    file.write_bytes(data)
    findings = [
        finding async for finding in run_checks({"log": lambda: component_checks.check_log(settings(tmp_path))})
    ]
    assert findings[0].status == "problem"
    assert "log.db is damaged" in findings[0].message
    assert "backup" in findings[0].remedy


async def test_a_file_that_is_no_log_is_reported_by_every_check_that_reads_it(tmp_path: Path) -> None:
    configured = settings(tmp_path)
    file = component_checks.log_path(configured)
    file.parent.mkdir()
    file.write_bytes(b"no database at all" * 1000)
    for check in (component_checks.check_log, component_checks.check_sealing_keys):
        (finding,) = [finding async for finding in run_checks({"log": partial(check, configured)})]
        assert (finding.status, "damaged" in finding.message, "backup" in finding.remedy) == ("problem", True, True)


async def test_a_log_that_lost_its_metadata_is_damaged(tmp_path: Path) -> None:
    await write_log(tmp_path)
    with closing(sqlite3.connect(component_checks.log_path(settings(tmp_path)), isolation_level=None)) as db:
        db.execute("DELETE FROM log_metadata")
    (finding,) = [
        finding async for finding in run_checks({"log": lambda: component_checks.check_log(settings(tmp_path))})
    ]
    assert (finding.status, "damaged" in finding.message) == ("problem", True)


async def test_kafka_that_does_not_answer_is_reported_once_with_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "__init__", partialmethod(Cluster.__init__, call_timeout=0.1))
    configured = settings(tmp_path, kafka_bootstrap="127.0.0.1:1")
    checks = build_checks(configured, str)
    findings = [finding async for finding in run_checks({name: checks[name] for name in ("Kafka", "tables")})]
    assert [(finding.component, finding.status) for finding in findings] == [("Kafka", "problem"), ("tables", "ok")]
    assert "127.0.0.1:1 could not list its topics: no answer within" in findings[0].message
    assert "RECOLLECT_KAFKA_BOOTSTRAP" in findings[0].remedy


async def test_tables_of_another_embedder_are_reported(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path / "tables"), dimensions=4, shards=1, embedder="some-4")
    await store.close()
    with pytest.raises(StoreMismatchError, match="some-4"):
        await component_checks.check_tables(settings(tmp_path))


async def test_the_packaged_embedder_answers() -> None:
    ((status, message, _),) = await component_checks.check_embedder(settings(Path("unused")))
    assert status == "ok" or message.startswith("Slow")
    assert "576" in message


async def test_unreachable_endpoints_are_problems(tmp_path: Path, unreachable_url: str) -> None:
    configured = settings(
        tmp_path,
        embedder="openai",
        embedder_base_url=unreachable_url,
        llm_base_url=unreachable_url,
        llm_model="some",
    )
    checks = {
        "embedder": lambda: component_checks.check_embedder(configured),
        "model": lambda: component_checks.check_language_model(configured),
    }
    findings = [finding async for finding in run_checks(checks)]
    assert [(finding.component, finding.status) for finding in findings] == [
        ("embedder", "problem"),
        ("model", "problem"),
    ]


async def test_an_object_store_is_probed_and_left_empty(s3: S3Server, tmp_path: Path) -> None:
    configured = settings(tmp_path, **s3.service_settings())
    results = await component_checks.check_object_store(configured)
    assert [status for status, _, _ in results] == ["ok", "ok"]
    assert configured.blob_uri is not None
    store = open_object_store(
        configured.blob_uri, configured.storage_options(configured.blob_uri), timeout=SHORT_TIMEOUT
    )
    assert [entry async for page in obstore.list(store) for entry in page] == []
