"""Commands that store memories as a client states them, without extraction.

Such a memory is written like an imported one: as the text of a document and as the memories formed of it, so
that it is found, listed, deleted, replayed and exported like any other.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from api.commands.document_submission import submit
from api.commands.namespace_settings import get_or_create_namespace
from api.dependencies.app_state import AppState
from pipeline.memory.versioning.provenance import CLIENT_UPDATE_REASON
from schemas.base import Metadata
from schemas.events import DocumentSubmitted, FormedMemory, ImportedDocument, MemoriesFormed, Relation
from schemas.ids import content_id, document_key, memory_id
from schemas.topics import MEMORIES_FORMED

MAX_WAIT_SECONDS = 2.0
"""Longest wait for stored memories to be readable; they are acknowledged in any case."""
_POLL_SECONDS = 0.02
EXTRACTOR = "client"
"""Name of the extractor of memories that a client states."""


@dataclass(frozen=True, slots=True)
class StatedMemory:
    """A memory to store. `date`: time of its source; `replaces`: id of the memory that it is a new version of.

    `relations`: further ones. `title`: of the document that holds it, if not its text. `is_about_now`: it holds from
    now on, whatever the date of its source; otherwise the date decides which of two memories is newer.
    """

    text: str
    is_static: bool = False
    metadata: Metadata | None = None
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    replaces: str | None = None
    relations: tuple[Relation, ...] = ()
    title: str | None = None
    is_about_now: bool = True


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A stored memory, and the key of the document that holds it."""

    id: str
    text: str
    is_static: bool
    metadata: Metadata | None
    document: str
    at: datetime


async def store_memories(state: AppState, namespace_name: str, stated: Sequence[StatedMemory]) -> list[StoredMemory]:
    """Store memories; returns them in order. Those with the same metadata, date and title share a document."""
    namespace = await get_or_create_namespace(state, namespace_name)
    incarnation, now = namespace.incarnations[0], state.clock.now()
    groups: dict[str, list[StatedMemory]] = {}
    for memory in stated:
        groups.setdefault(json.dumps([memory.metadata, memory.date, memory.title], sort_keys=True), []).append(memory)
    stored: dict[int, StoredMemory] = {}
    for members in groups.values():
        document = await _store_group(state, namespace_name, incarnation, members, now)
        for memory in members:
            stored[id(memory)] = StoredMemory(
                memory_id(incarnation, memory.text), memory.text, memory.is_static, memory.metadata, document, now
            )
    await _wait_until_projected(state, {memory.id: memory.document for memory in stored.values()})
    return [stored[id(memory)] for memory in stated]


async def _wait_until_projected(state: AppState, documents: Mapping[str, str]) -> None:
    """Wait until the pipeline, in this process or another, has the memories in the table, but not for ever.

    `documents`: by memory, the key of the document that states it now.
    """
    deadline = monotonic() + MAX_WAIT_SECONDS
    while monotonic() < deadline:
        rows = await state.memories.get(documents.keys())
        if all((found := rows.get(memory)) and key in found[0].sources for memory, key in documents.items()):
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _store_group(
    state: AppState, namespace_name: str, incarnation: str, members: Sequence[StatedMemory], now: datetime
) -> str:
    """Store memories of one document; returns its key."""
    first, text = members[0], "\n".join(memory.text for memory in members)
    public_id = content_id(namespace_name, text, first.metadata, first.date)
    key = document_key(incarnation, public_id)
    content = await state.blobs.store_text(text)
    submitted = DocumentSubmitted(
        operation="add",
        incarnation=incarnation,
        document=key,
        id=public_id,
        at=now,
        content=content,
        metadata=first.metadata,
        date=first.date,
        title=first.title,
        imported=ImportedDocument(text=content, memories_included=True),
    )
    rows = await submit(state, [submitted])
    if rows:
        formed = MemoriesFormed(
            incarnation=incarnation,
            document=key,
            seq=rows[0].content_seq,
            at=now,
            memories=tuple(_formed(incarnation, memory, now) for memory in members),
        )
        await state.publisher.publish(MEMORIES_FORMED, [(incarnation, formed)])
    return key


def _formed(incarnation: str, memory: StatedMemory, now: datetime) -> FormedMemory:
    update = (
        ()
        if memory.replaces is None
        else (Relation(kind="updates", target=memory.replaces, reason=CLIENT_UPDATE_REASON),)
    )
    return FormedMemory.of(
        memory,
        id=memory_id(incarnation, memory.text),
        relations=(*update, *memory.relations),
        effective_at=now if memory.is_about_now else None,
        extracted_by=EXTRACTOR,
    )
