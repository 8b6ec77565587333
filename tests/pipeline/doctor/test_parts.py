"""The parts: a real log and real tables, and endpoints that are not there."""

import socket
from pathlib import Path
from typing import Any

import obstore
import pytest

from pipeline.bus.log import LogBus
from pipeline.doctor import parts
from pipeline.doctor.findings import examined
from pipeline.records import Entry
from pipeline.settings import Settings
from pipeline.store import StoreMismatchError, open_store
from pipeline.store.objects import QUICK, open_objects
from tests.fakes import EPOCH, FixedClock
from tests.s3 import S3

pytestmark = pytest.mark.anyio


def settings(folder: Path, **fields: Any) -> Settings:
    return Settings(_env_file=None, data_dir=folder, **fields)


@pytest.fixture
def nobody() -> str:
    """An address where nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"


async def written(folder: Path) -> None:
    bus = await LogBus.open(folder / "log", partitions=4, clock=FixedClock())
    await bus.append("notes.v1", [Entry(b"key", b"x" * 1000, {}) for _ in range(100)])
    await bus.append("notes.v1.dlq", [Entry(b"key", b"{}", {})])
    await bus.close()


def nothing_in(folder: Path) -> bool:
    return not any(folder.iterdir())


async def test_a_deployment_that_never_ran_is_well_and_nothing_is_made(tmp_path: Path) -> None:
    for check in (parts.log, parts.tables, parts.object_store, parts.kafka, parts.language_model):
        ((state, _, do),) = await check(settings(tmp_path))
        assert (state, do) == ("ok", "")
    assert nothing_in(tmp_path)


async def test_dead_letters_and_another_number_of_partitions_are_told(tmp_path: Path) -> None:
    await written(tmp_path)
    ((state, says, do),) = await parts.log(settings(tmp_path))
    assert (state, says) == ("warning", "1 dead letters in notes.v1.dlq.")
    assert "recollect dlq" in do
    found = await parts.log(settings(tmp_path, partitions=7))
    assert found[0][0] == "problem"
    assert "RECOLLECT_PARTITIONS=4" in found[0][2]
    assert await parts.newest(settings(tmp_path)) == EPOCH


async def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    await written(tmp_path)
    file = parts.log_file(settings(tmp_path))
    data = bytearray(file.read_bytes())
    data[8192:12288] = b"\xff" * 4096
    file.write_bytes(data)
    found = [one async for one in examined({"log": lambda: parts.log(settings(tmp_path))})]
    assert found[0].state == "problem"
    assert found[0].do


async def test_tables_of_another_embedder_are_told(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path / "tables"), dimensions=4, shards=1, embedder="some-4")
    await store.close()
    with pytest.raises(StoreMismatchError, match="some-4"):
        await parts.tables(settings(tmp_path))


async def test_tables_of_these_settings_are_well(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path / "tables"), dimensions=256, shards=4, embedder="wordllama-256")
    await store.close()
    ((state, says, _),) = await parts.tables(settings(tmp_path))
    assert (state, says.partition(" at ")[0]) == ("ok", "generation 0")


async def test_the_packaged_embedder_answers() -> None:
    ((state, says, _),) = await parts.embedder(settings(Path("unused")))
    assert state == "ok" or says.startswith("Slow")
    assert "256" in says


async def test_endpoints_that_are_not_there_are_problems(tmp_path: Path, nobody: str) -> None:
    asked = settings(
        tmp_path, embedder="openai", embedder_base_url=nobody, llm_base_url=nobody, llm_model="some"
    )
    checks = {"embedder": lambda: parts.embedder(asked), "model": lambda: parts.language_model(asked)}
    found = [one async for one in examined(checks)]
    assert [(one.part, one.state) for one in found] == [("embedder", "problem"), ("model", "problem")]


async def test_an_object_store_is_tried_and_nothing_is_left_there(s3: S3, tmp_path: Path) -> None:
    asked = settings(tmp_path, **s3.settings())
    found = await parts.object_store(asked)
    assert [state for state, _, _ in found] == ["ok", "ok"]
    assert asked.blob_uri is not None
    store = open_objects(asked.blob_uri, asked.storage(asked.blob_uri), within=QUICK)
    assert [entry async for page in obstore.list(store) for entry in page] == []
