"""Memories in the shapes of v4."""

from collections.abc import Mapping

from api.commands.memory_storage import StoredMemory
from api.dependencies.app_state import AppState
from api.routes.v3_v4.document_ids import encode_document_id
from pipeline.rows import DocumentRow, MemoryRow
from schemas.base import JsonObject, format_optional_timestamp, format_timestamp
from schemas.ids import namespace_id

ORGANIZATION_ID = "organization"
"""Id of the one organization of a deployment."""


def stored_memory(stored: StoredMemory) -> JsonObject:
    return {
        "id": stored.id,
        "memory": stored.text,
        "createdAt": format_timestamp(stored.at),
        "forgetAfter": None,
        "forgetReason": None,
        "metadata": stored.metadata,
    }


def memory_entry(
    state: AppState, row: MemoryRow, history: Mapping[str, MemoryRow], sources: Mapping[str, DocumentRow]
) -> JsonObject:
    """Present a memory with its earlier versions, the newest first."""
    namespace = state.catalog.namespace_of(row.incarnation)
    present = [key for key in row.sources if key in sources]
    chain = earlier_versions(row, history)
    return {
        **_version(row, chain[-1] if chain else row),
        "isStatic": row.is_static,
        "isInference": row.is_inference,
        "spaceId": namespace_id(namespace.name, namespace.epoch) if namespace else row.incarnation,
        "orgId": ORGANIZATION_ID,
        "sourceCount": len(present),
        "forgetAfter": format_optional_timestamp(row.expires_at),
        "forgetReason": row.forget_reason,
        "metadata": sources[present[0]].metadata if present else None,
        "memoryRelations": {relation.target: relation.kind for relation in row.relations},
        "temporalContext": {"documentDate": row.date} if row.date else None,
        "history": [_version(earlier, chain[-1]) for earlier in chain],
        "documentIds": [encode_document_id(key) for key in present],
    }


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


def _version(row: MemoryRow, root: MemoryRow) -> JsonObject:
    return {
        "id": row.id,
        "memory": row.text,
        "version": row.version,
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
        "parentMemoryId": parent_id(row),
        "rootMemoryId": None if root.id == row.id else root.id,
        "isLatest": row.is_latest,
        "isForgotten": row.forgotten_at is not None,
    }
