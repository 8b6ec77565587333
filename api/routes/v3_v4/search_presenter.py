"""Search results in the shapes of v3 and v4."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.dependencies.app_state import AppState
from api.presenters.resource_presenter import display_title
from api.routes.v3_v4.document_ids import encode_document_id
from api.routes.v3_v4.document_presenter import type_of
from api.routes.v3_v4.metadata_filters import FILEPATH_FIELD
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow
from schemas.base import JsonObject, format_timestamp
from schemas.http.v3_v4 import search_bodies as bodies
from schemas.http.v5.memory_bodies import RelatedMemory
from schemas.http.v5.search_bodies import SearchRelated, SearchResult


@dataclass(frozen=True, slots=True)
class ContainerResult:
    namespace: NamespaceRow
    result: SearchResult


async def found_documents(
    state: AppState, found: Sequence[ContainerResult], body: bodies.DocumentSearchBody
) -> list[JsonObject]:
    """Group passages by document; a document ranks by its best passage."""
    rows = await _source_documents(state, found)
    matches: dict[str, dict[str, SearchResult]] = {}
    for hit in found:
        if (row := rows.get(hit.result.id)) is not None:
            matches.setdefault(row.key, {})[hit.result.id] = hit.result
    by_key = {row.key: row for row in rows.values()}
    neighbours = {} if body.only_matching_chunks else await state.chunks.get(matches)
    return [_found_document(by_key[key], passages, neighbours.get(key, ()), body) for key, passages in matches.items()]


async def found_memories(
    state: AppState, found: Sequence[ContainerResult], include: bodies.MemorySearchInclude
) -> list[JsonObject]:
    memory_ids = [hit.result.id for hit in found if hit.result.memory is not None]
    memories = await state.memories_by_id(memory_ids)
    documents = await _source_documents(state, found) if include.documents or include.chunks else {}
    passages = await state.chunks.get({row.key for row in documents.values()}) if include.chunks else {}
    return [
        _found_memory(hit.result, memories.get(hit.result.id), documents.get(hit.result.id), passages, include)
        for hit in found
    ]


async def _source_documents(state: AppState, found: Sequence[ContainerResult]) -> dict[str, DocumentRow]:
    by_result: dict[str, DocumentRow] = {}
    for namespace in {hit.namespace.name: hit.namespace for hit in found}.values():
        sources = {
            hit.result.id: hit.result.included.document.id
            for hit in found
            if hit.namespace.name == namespace.name and hit.result.included and hit.result.included.document
        }
        rows = await state.documents.find_by_public_id(namespace.incarnations, set(sources.values()))
        by_result |= {result: rows[source] for result, source in sources.items() if source in rows}
    return by_result


def _found_document(
    row: DocumentRow,
    passages: Mapping[str, SearchResult],
    all_chunks: Sequence[ChunkRow],
    body: bodies.DocumentSearchBody,
) -> JsonObject:
    chunks = [
        {"content": passage.chunk or "", "isRelevant": True, "score": passage.similarity}
        for passage in passages.values()
    ]
    chunks += [{"content": text, "isRelevant": False, "score": 0.0} for text in _neighbours(passages, all_chunks)]
    return {
        "documentId": encode_document_id(row.key),
        "title": display_title(row),
        **_common_fields(row),
        "score": max(passage.similarity for passage in passages.values()),
        "chunks": chunks,
        **({"summary": row.summary} if body.include_summary else {}),
        **({"content": row.text} if body.include_full_docs else {}),
    }


def _common_fields(row: DocumentRow) -> JsonObject:
    return {
        "type": type_of(row),
        "metadata": row.metadata,
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
    }


def _neighbours(passages: Mapping[str, SearchResult], all_chunks: Sequence[ChunkRow]) -> list[str]:
    """Return the passages just before and after those that match, in their order."""
    positions = {chunk.position for chunk in all_chunks if chunk.id in passages}
    near = {position + step for position in positions for step in (-1, 1)} - positions
    return [chunk.text for chunk in sorted(all_chunks, key=lambda chunk: chunk.position) if chunk.position in near]


def _found_memory(
    result: SearchResult,
    memory: MemoryRow | None,
    document: DocumentRow | None,
    passages: Mapping[str, Sequence[ChunkRow]],
    include: bodies.MemorySearchInclude,
) -> JsonObject:
    filepath = result.metadata.get(FILEPATH_FIELD)
    found: JsonObject = {
        "id": result.id,
        "metadata": result.metadata,
        "updatedAt": result.system.updated_at,
        "similarity": result.similarity,
        "filepath": filepath if isinstance(filepath, str) else None,
        **({"chunk": result.chunk} if result.memory is None else {"memory": result.memory}),
    }
    if memory is not None:
        found["version"] = memory.version
    if include.related_memories and result.included and result.included.related:
        found["context"] = _memory_context(result.included.related)
    if include.documents:
        found["documents"] = [] if document is None else [_source_document(document, include)]
    if include.chunks:
        chunks = [] if document is None else passages.get(document.key, [])
        found["chunks"] = [_source_chunk(chunk, result) for chunk in chunks if _holds(chunk, result, memory)]
    return found


def _holds(chunk: ChunkRow, result: SearchResult, memory: MemoryRow | None) -> bool:
    """Return whether the passage is the result, or the one that a memory was found in."""
    if memory is None or memory.start is None:
        return chunk.id == result.id
    return chunk.start <= memory.start < chunk.end


def _source_chunk(chunk: ChunkRow, result: SearchResult) -> JsonObject:
    return {
        "content": chunk.text,
        "score": result.similarity,
        "position": chunk.position,
        "documentId": encode_document_id(chunk.document),
    }


def _source_document(row: DocumentRow, include: bodies.MemorySearchInclude) -> JsonObject:
    return {
        "id": encode_document_id(row.key),
        "title": display_title(row) or "",
        **_common_fields(row),
        **({"summary": row.summary} if include.summaries else {}),
    }


def _memory_context(related: SearchRelated) -> JsonObject:
    lists = {"parents": related.parents, "children": related.children, "related": related.siblings}
    return {name: [_related_memory(memory) for memory in memories] for name, memories in lists.items()}


def _related_memory(memory: RelatedMemory) -> JsonObject:
    return {
        "relation": memory.relation,
        "version": memory.version,
        "memory": memory.memory,
        "metadata": memory.metadata,
        "updatedAt": memory.system.updated_at,
    }
