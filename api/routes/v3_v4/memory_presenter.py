"""Memories in the shapes of v4."""

from collections.abc import Mapping
from typing import Any

from api.commands.memory_storage import StoredMemory
from api.dependencies.app_state import AppState
from api.routes.v3_v4.document_ids import encode_document_id
from pipeline.rows import DocumentRow, MemoryRow
from schemas.base import format_optional_timestamp, format_timestamp
from schemas.http.v3_v4.memory_bodies import CreatedMemory, MemoryEntry, MemoryVersion, UpdatedMemory
from schemas.ids import namespace_id

ORGANIZATION_ID = "organization"
"""Id of the one organization of a deployment."""


def created_memory(stored: StoredMemory) -> CreatedMemory:
    return CreatedMemory(**_stored_fields(stored), is_static=stored.is_static)


def updated_memory(stored: StoredMemory, before: MemoryRow, history: Mapping[str, MemoryRow]) -> UpdatedMemory:
    chain = [before, *earlier_versions(before, history)]
    return UpdatedMemory(
        **_stored_fields(stored),
        version=before.version + 1,
        parent_memory_id=before.id,
        root_memory_id=chain[-1].id,
    )


def _stored_fields(stored: StoredMemory) -> dict[str, Any]:
    return {
        "id": stored.id,
        "memory": stored.text,
        "created_at": format_timestamp(stored.at),
        "forget_after": None,
        "forget_reason": None,
        "metadata": stored.metadata,
    }


def memory_entry(
    state: AppState, row: MemoryRow, history: Mapping[str, MemoryRow], sources: Mapping[str, DocumentRow]
) -> MemoryEntry:
    """Present a memory with its earlier versions, the newest first."""
    namespace = state.catalog.namespace_of(row.incarnation)
    present = [key for key in row.sources if key in sources]
    chain = earlier_versions(row, history)
    return MemoryEntry(
        **_version_fields(row, chain[-1] if chain else row),
        is_static=row.is_static,
        is_inference=row.is_inference,
        space_id=namespace_id(namespace.name, namespace.epoch) if namespace else row.incarnation,
        org_id=ORGANIZATION_ID,
        source_count=len(present),
        forget_after=format_optional_timestamp(row.expires_at),
        forget_reason=row.forget_reason,
        metadata=sources[present[0]].metadata if present else None,
        memory_relations={relation.target: relation.kind for relation in row.relations},
        temporal_context={"documentDate": row.date} if row.date else None,
        history=[MemoryVersion(**_version_fields(earlier, chain[-1])) for earlier in chain],
        document_ids=[encode_document_id(key) for key in present],
    )


def earlier_versions(row: MemoryRow, history: Mapping[str, MemoryRow]) -> list[MemoryRow]:
    """Return the earlier versions of a memory, the newest first."""
    chain: list[MemoryRow] = []
    seen = {row.id}
    while (target := parent_id(row)) is not None and target in history and target not in seen:
        row = history[target]
        seen.add(target)
        chain.append(row)
    return chain


def parent_id(row: MemoryRow) -> str | None:
    return next((relation.target for relation in row.relations if relation.kind == "updates"), None)


def _version_fields(row: MemoryRow, root: MemoryRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "memory": row.text,
        "version": row.version,
        "created_at": format_timestamp(row.created_at),
        "updated_at": format_timestamp(row.updated_at),
        "parent_memory_id": parent_id(row),
        "root_memory_id": None if root.id == row.id else root.id,
        "is_latest": row.is_latest,
        "is_forgotten": row.forgotten_at is not None,
    }
