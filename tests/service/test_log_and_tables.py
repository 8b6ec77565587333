"""A log and tables that do not belong together are noticed at the start and by the doctor."""

import asyncio
import json
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from functools import partial
from pathlib import Path

import pytest

from app.cli.diagnostics.check_runner import run_checks
from app.cli.diagnostics.component_checks import check_tables
from app.pipeline_supervisor import open_supervisor
from pipeline.store import StoreMismatchError
from tests.support.service_world import rebuild_tables, running_service, service_settings

pytestmark = pytest.mark.anyio


async def _add(folder: Path, *documents: str, copy_to: Path | None = None) -> None:
    """Add documents one after the other; `copy_to` gets the log as it is while the service still runs."""
    async with running_service(folder) as service:
        for document in documents:
            await service.add_document("home", f"A note of {document}.", id=document, taskType="superrag")
        await service.wait_idle()
        if copy_to is not None:
            shutil.copytree(folder / "log", copy_to)


def _put_back(folder: Path, log: Path) -> None:
    shutil.rmtree(folder / "log")
    shutil.copytree(log, folder / "log")


async def _assert_refused(folder: Path) -> None:
    with pytest.raises(StoreMismatchError, match="do not belong to the log") as refusal:
        async with open_supervisor(service_settings(folder)):
            pass
    assert "recollect replay" in str(refusal.value)
    ((status, message, remedy),) = await check_tables(service_settings(folder))
    assert (status, "do not belong to the log" in message) == ("problem", True)
    assert "recollect replay" in remedy


async def test_an_older_log_beside_newer_tables_is_refused_until_the_tables_are_rebuilt_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _add(folder, "a", "b", "c")
    shutil.copytree(folder / "log", tmp_path / "older")
    await _add(folder, *(f"later{number}" for number in range(6)))
    assert [status for status, *_ in await check_tables(service_settings(folder))] == ["ok"]
    _put_back(folder, tmp_path / "older")
    await _assert_refused(folder)
    await rebuild_tables(folder)
    async with running_service(folder) as service:
        assert {item["id"] for item in await service.list_items("home", "documents")} == {"a", "b", "c"}
        await service.add_document("home", "A note of d.", id="d")
        await service.wait_idle()
        assert len(await service.list_items("home", "documents")) == 4


async def test_a_log_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    await _add(tmp_path, "a", "b", "c")
    shutil.rmtree(tmp_path / "log")
    await _assert_refused(tmp_path)


async def _set_contexts(folder: Path, *contexts: str) -> None:
    """Change the organization, a record each in one partition."""
    async with running_service(folder) as service:
        for context in contexts:
            await service.client.ok("PATCH", "/organization", {"organizationalContext": context})


async def test_a_log_of_other_settings_is_refused_until_the_tables_are_rebuilt_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _set_contexts(folder, "first")
    shutil.copytree(folder / "log", tmp_path / "older")
    await _set_contexts(folder, "second")
    _put_back(folder, tmp_path / "older")
    await _assert_refused(folder)
    await _set_contexts(tmp_path / "other", "third", "fourth", "fifth")
    _put_back(folder, tmp_path / "other" / "log")
    with pytest.raises(StoreMismatchError, match="made of another record"):
        async with open_supervisor(service_settings(folder)):
            pass
    await rebuild_tables(folder)
    async with running_service(folder) as service:
        assert (await service.client.ok("GET", "/organization"))["organizationalContext"] == "fifth"


async def test_a_log_that_lost_its_end_because_its_write_ahead_log_is_damaged_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _add(folder, "a")
    await _add(folder, "b", "c", "d", copy_to=tmp_path / "damaged")
    (ahead,) = (tmp_path / "damaged").glob("*-wal")
    ahead.write_bytes(b"\x00" * ahead.stat().st_size)
    _put_back(folder, tmp_path / "damaged")
    await _assert_refused(folder)


async def _rebuild(folder: Path) -> set[str]:
    """Build new tables from the log, and return the documents that a service shows then."""
    await rebuild_tables(folder)
    async with running_service(folder) as service:
        return {item["id"] for item in await service.list_items("home", "documents")}


async def test_a_log_whose_tables_were_removed_is_refused_until_they_are_rebuilt(tmp_path: Path) -> None:
    await _add(tmp_path, "a", "b", "c")
    shutil.rmtree(tmp_path / "tables")
    ((status, message, remedy),) = await check_tables(service_settings(tmp_path))
    assert (status, "but the log holds documents" in message) == ("problem", True)
    assert "recollect replay" in remedy
    with pytest.raises(StoreMismatchError, match=r"lack the document .* `recollect replay --force`"):
        async with open_supervisor(service_settings(tmp_path)):
            pass
    assert await _rebuild(tmp_path) == {"a", "b", "c"}


async def test_tables_older_than_the_log_are_refused_until_they_are_rebuilt(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _add(folder, "a", "b", "c")
    shutil.copytree(folder / "tables", tmp_path / "older")
    later = [f"later{number}" for number in range(60)]
    await _add(folder, *later)
    shutil.rmtree(folder / "tables")
    shutil.copytree(tmp_path / "older", folder / "tables")
    with pytest.raises(StoreMismatchError, match="older than the log"):
        async with open_supervisor(service_settings(folder)):
            pass
    assert await _rebuild(folder) == {"a", "b", "c", *later}


async def test_tables_that_lack_a_single_document_of_a_later_run_are_refused_until_they_are_rebuilt(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    documents = [f"d{number}" for number in range(20)]
    await _add(folder, *documents)
    shutil.copytree(folder / "tables", tmp_path / "older")
    await _add(folder, "later")
    shutil.rmtree(folder / "tables")
    shutil.copytree(tmp_path / "older", folder / "tables")
    with pytest.raises(StoreMismatchError, match="older than the log"):
        async with open_supervisor(service_settings(folder)):
            pass
    assert await _rebuild(folder) == {*documents, "later"}


async def test_log_and_tables_of_one_older_copy_belong_together(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await _add(folder, "a")
    shutil.copytree(folder, tmp_path / "older")
    await _add(folder, "b")
    async with running_service(tmp_path / "older") as service:
        assert {item["id"] for item in await service.list_items("home", "documents")} == {"a"}


async def test_tables_of_documents_that_were_deleted_since_belong_to_the_log(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for number in range(30):
            await service.add_document("home", f"A note of {number}.", id=f"d{number}", taskType="superrag")
            await service.add_document("gone", f"A note of {number}.", id=f"d{number}", taskType="superrag")
        await service.wait_idle()
        await service.delete_documents("home", *(f"d{number}" for number in range(30)))
        await service.client.ok("DELETE", "/ns/gone")
        await service.wait_idle()
    async with running_service(tmp_path) as service:
        assert await service.list_items("home", "documents") == []


async def test_the_doctor_says_that_a_table_is_damaged(tmp_path: Path) -> None:
    await _add(tmp_path, "a")
    for file in (tmp_path / "tables" / "documents.lance" / "_versions").iterdir():
        file.write_bytes(b"damaged")
    (finding,) = [
        finding async for finding in run_checks({"tables": partial(check_tables, service_settings(tmp_path))})
    ]
    assert finding.status == "problem"
    assert "can't be read" in finding.message
    assert "recollect replay" in finding.remedy


async def test_the_command_reads_the_tables_with_the_modules_that_it_loads(tmp_path: Path) -> None:
    await _add(tmp_path, "a")
    settings = service_settings(tmp_path)
    environment = {name: str(getattr(settings, name)) for name in ("data_dir", "embedder", "shards", "log_partitions")}
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("recollect")), "doctor", "--json", stdout=PIPE, stderr=PIPE,
        env=os.environ | {f"RECOLLECT_{name.upper()}": value for name, value in environment.items()},
    )  # fmt: skip
    output, errors = await process.communicate()
    assert "Traceback" not in errors.decode()
    (tables,) = [check for check in json.loads(output) if check["component"] == "tables"]
    assert tables["status"] == "ok", tables
