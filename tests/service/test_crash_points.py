"""Processes that end between two steps: the log has what was acknowledged, the tables do not."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.live import open_live
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
from tests.service.world import settings, until, world

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = "home#0"
KEY = document_key(SPACE, "x")


def _namespace(*spaces: str, generation: int = 0) -> tuple[str, SettingsChanged]:
    change = NamespaceChanged(
        name="home", generation=generation, spaces=spaces, created_at=NOW, updated_at=NOW
    )
    return "namespace/home", SettingsChanged(change=change)


def _submission(text: str, task_type: TaskType) -> tuple[str, DocumentSubmitted]:
    event = DocumentSubmitted(
        operation="add", space=SPACE, document=KEY, id="x", at=NOW, content=Content(text=text),
        task_type=task_type,
    )  # fmt: skip
    return f"{SPACE}/{KEY}", event


async def _only_in_the_log(folder: Path, task_type: TaskType = "superrag") -> None:
    """A namespace and its first document were accepted, and the process ended."""
    async with open_live(settings(folder)) as live:
        await live.foundation.bus.publish(SETTINGS_CHANGED, [_namespace(SPACE)])
        await live.foundation.bus.publish(
            DOCUMENTS_SUBMITTED, [_submission("Ada lives in Berlin.", task_type)]
        )


async def test_the_first_document_of_a_namespace_is_there_at_once_after_the_start(tmp_path: Path) -> None:
    await _only_in_the_log(tmp_path)
    async with world(tmp_path, running=False) as service:
        assert (await service.read("home", "x"))["system"]["status"] == "queued"


async def test_the_first_document_of_a_namespace_is_not_nobodys(tmp_path: Path) -> None:
    await _only_in_the_log(tmp_path)
    async with world(tmp_path) as service:

        async def done() -> bool:
            return bool((await service.read("home", "x"))["system"]["status"] == "done")

        await until(done, "the document done")


async def test_a_memory_that_was_forgotten_before_it_was_on_disk_stays_forgotten(tmp_path: Path) -> None:
    await _only_in_the_log(tmp_path, "memory")
    text = "Ada lives in Berlin"
    one = memory_id(SPACE, text)
    async with open_live(settings(tmp_path)) as live:
        pipeline = live.pipeline
        (row,) = (await pipeline.store.documents.get([KEY]))[KEY]
        formed = MemoriesFormed(
            space=SPACE, document=KEY, seq=row.seq, at=NOW, memories=(FormedMemory(id=one, text=text),)
        )
        await pipeline.bus.publish(
            MEMORIES_FORGOTTEN, [(SPACE, MemoriesForgotten(space=SPACE, ids=(one,), at=NOW))]
        )
        await pipeline.bus.publish(MEMORIES_FORMED, [(SPACE, formed)])
    async with world(tmp_path, running=False) as service:
        memory = await service.client.ok("GET", f"/ns/home/memories/{one}")
        assert memory["isForgotten"]
        assert await service.listed("home", "memories") == []


async def test_what_a_namespace_left_is_erased_though_nobody_asked_for_it(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "Ada lives in Berlin.", id="x")
        await service.settled()
        await service.pipeline.bus.publish(SETTINGS_CHANGED, [_namespace(generation=1)])
    async with world(tmp_path) as service:
        store = service.pipeline.store

        async def erased() -> bool:
            tables = (store.documents, store.chunks, store.memories)
            return not [row for table in tables for row in await table.in_spaces([SPACE])]

        await until(erased, "the rest erased")


async def test_chunks_and_memories_are_erased_with_a_namespace_whose_documents_are_gone_already(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "Ada lives in Berlin.", id="x")
        await service.settled()
        await service.pipeline.store.documents.remove_spaces([SPACE])
        await service.pipeline.bus.publish(SETTINGS_CHANGED, [_namespace(generation=1)])
        await service.settled()
        assert await service.pipeline.store.memories.in_spaces([SPACE])
    async with world(tmp_path) as service:
        store = service.pipeline.store

        async def erased() -> bool:
            return not [
                row for table in (store.chunks, store.memories) for row in await table.in_spaces([SPACE])
            ]

        await until(erased, "the rest erased")
