"""Processes that end between two steps: the log has what was acknowledged, the tables do not."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.pipeline_supervisor import open_supervisor
from schemas.events import (
    Content,
    DocumentSubmitted,
    FormedMemory,
    MemoriesForgotten,
    MemoriesFormed,
    NamespaceChanged,
    SettingsChanged,
    TaskType,
)
from schemas.ids import document_key, memory_id
from schemas.topics import DOCUMENTS_SUBMITTED, MEMORIES_FORGOTTEN, MEMORIES_FORMED, SETTINGS_CHANGED
from tests.support.service_world import running_service, service_settings, wait_until

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INCARNATION = "home#0"
KEY = document_key(INCARNATION, "x")


def _namespace(*incarnations: str, generation: int = 0) -> tuple[str, SettingsChanged]:
    change = NamespaceChanged(name="home", epoch=generation, incarnations=incarnations, created_at=NOW, updated_at=NOW)
    return "namespace/home", SettingsChanged(change=change)


def _submission(text: str, task_type: TaskType) -> tuple[str, DocumentSubmitted]:
    event = DocumentSubmitted(
        operation="add", incarnation=INCARNATION, document=KEY, id="x", at=NOW, content=Content(text=text),
        task_type=task_type,
    )  # fmt: skip
    return f"{INCARNATION}/{KEY}", event


async def _write_log_only(folder: Path, task_type: TaskType = "superrag") -> None:
    """A namespace and its first document were accepted, and the process ended."""
    async with open_supervisor(service_settings(folder)) as live:
        await live.resources.bus.publish(SETTINGS_CHANGED, [_namespace(INCARNATION)])
        await live.resources.bus.publish(DOCUMENTS_SUBMITTED, [_submission("Ada lives in Berlin.", task_type)])


async def test_the_first_document_of_a_namespace_is_there_at_once_after_the_start(tmp_path: Path) -> None:
    await _write_log_only(tmp_path)
    async with running_service(tmp_path, run_stages_here=False) as service:
        assert (await service.read_document("home", "x"))["system"]["status"] == "queued"


async def test_the_first_document_of_a_namespace_is_not_nobodys(tmp_path: Path) -> None:
    await _write_log_only(tmp_path)
    async with running_service(tmp_path) as service:

        async def done() -> bool:
            return bool((await service.read_document("home", "x"))["system"]["status"] == "done")

        await wait_until(done, "the document done")


async def test_a_memory_that_was_forgotten_before_it_was_on_disk_stays_forgotten(tmp_path: Path) -> None:
    await _write_log_only(tmp_path, "memory")
    text = "Ada lives in Berlin"
    memory_key = memory_id(INCARNATION, text)
    async with open_supervisor(service_settings(tmp_path)) as live:
        pipeline = live.pipeline
        (row,) = (await pipeline.store.documents.get([KEY]))[KEY]
        formed = MemoriesFormed(
            incarnation=INCARNATION,
            document=KEY,
            seq=row.seq,
            at=NOW,
            memories=(FormedMemory(id=memory_key, text=text),),
        )
        await pipeline.bus.publish(
            MEMORIES_FORGOTTEN,
            [(INCARNATION, MemoriesForgotten(incarnation=INCARNATION, ids=(memory_key,), at=NOW))],
        )
        await pipeline.bus.publish(MEMORIES_FORMED, [(INCARNATION, formed)])
    async with running_service(tmp_path, run_stages_here=False) as service:
        memory = await service.client.ok("GET", f"/ns/home/memories/{memory_key}")
        assert memory["isForgotten"]
        assert await service.list_items("home", "memories") == []


async def test_what_a_namespace_left_is_erased_though_nobody_asked_for_it(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x")
        await service.wait_idle()
        await service.pipeline.bus.publish(SETTINGS_CHANGED, [_namespace(generation=1)])
    async with running_service(tmp_path) as service:
        store = service.pipeline.store

        async def erased() -> bool:
            tables = (store.documents, store.chunks, store.memories)
            return not [row for table in tables for row in await table.list_rows([INCARNATION])]

        await wait_until(erased, "the rest erased")


async def test_chunks_and_memories_are_erased_with_a_namespace_whose_documents_are_gone_already(
    tmp_path: Path,
) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x")
        await service.wait_idle()
        await service.pipeline.store.documents.delete_incarnations([INCARNATION])
        await service.pipeline.bus.publish(SETTINGS_CHANGED, [_namespace(generation=1)])
        await service.wait_idle()
        assert await service.pipeline.store.memories.list_rows([INCARNATION])
    async with running_service(tmp_path) as service:
        store = service.pipeline.store

        async def erased() -> bool:
            return not [row for table in (store.chunks, store.memories) for row in await table.list_rows([INCARNATION])]

        await wait_until(erased, "the rest erased")
