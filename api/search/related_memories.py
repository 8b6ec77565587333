"""Related rows of a memory: earlier and later versions, direct relations, and its source document."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from api.presenters import resource_presenter
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.ranking.search_request_and_hits import RelatedHit
from pipeline.ports import DocumentTable, MemoryTable
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow
from schemas.http.v5.memory_bodies import MemoryIncluded, RelatedMemories, RelatedMemoryWithDocument, RelatedSystem

MAX_VERSION_STEPS = 3
"""Versions in either direction, at most."""


async def related_memories(
    cache: NamespaceIndexCache,
    memories: MemoryTable,
    documents: DocumentTable,
    namespace: NamespaceRow,
    memory: MemoryRow,
    *,
    include: Collection[str],
    limit: int,
) -> MemoryIncluded:
    """The parts named in `include` (`related`, `documents`); `limit` bounds each list of relatives."""
    found = await _related_hits(cache, namespace, memory, limit) if "related" in include else {}
    rows = await memories.get({hit.id for hits in found.values() for hit in hits})
    rows_by_id = {id_: members[0] for id_, members in rows.items() if members}
    keys = {key for row in (memory, *rows_by_id.values()) for key in row.sources}
    sources = {key: members[0] for key, members in (await documents.get(keys)).items() if members}
    included = MemoryIncluded()
    with_documents = "documents" in include
    if "related" in include:
        shown = {
            name: [
                _related_response(hit, rows_by_id[hit.id], sources, document=with_documents)
                for hit in hits
                if hit.id in rows_by_id
            ]
            for name, hits in found.items()
        }
        included.related = RelatedMemories(**shown)
    source = _first_source(memory, sources)
    if with_documents and source is not None:
        included.document = resource_presenter.document_ref(source)
    return included


async def _related_hits(
    cache: NamespaceIndexCache, namespace: NamespaceRow, memory: MemoryRow, limit: int
) -> dict[str, list[RelatedHit]]:
    index = await cache.open(namespace)
    near = (await index.related_memories([memory.id], None, include_forgotten=True))[memory.id]
    links = [*near.parents, *near.children, *near.siblings]
    return {
        "parents": _nearest_versions([hit for hit in near.parents if hit.relation == "updates"], nearest_last=True)[
            :limit
        ],
        "children": _nearest_versions([hit for hit in near.children if hit.relation == "updates"])[:limit],
        "siblings": [hit for hit in links if hit.relation != "updates"][:limit],
    }


def _nearest_versions(hits: Iterable[RelatedHit], *, nearest_last: bool = False) -> list[RelatedHit]:
    """Nearest version first, three steps at most: a memory names all versions it replaces."""
    ordered = sorted(hits, key=lambda hit: (hit.version, hit.id), reverse=nearest_last)
    steps = [list(members) for _, members in groupby(ordered, key=lambda hit: hit.version)]
    return [hit for members in steps[:MAX_VERSION_STEPS] for hit in members]


def _related_response(
    hit: RelatedHit, row: MemoryRow, sources: Mapping[str, DocumentRow], *, document: bool
) -> RelatedMemoryWithDocument:
    source = _first_source(row, sources)
    shown = RelatedMemoryWithDocument.of(
        row,
        relation=hit.relation,
        memory=row.text,
        metadata=source.metadata if source is not None else {},
        system=RelatedSystem.of(row),
    )
    if document and source is not None:
        shown.document = resource_presenter.document_ref(source)
    return shown


def _first_source(row: MemoryRow, sources: Mapping[str, DocumentRow]) -> DocumentRow | None:
    present_sources: Sequence[DocumentRow] = [sources[key] for key in row.sources if key in sources]
    return present_sources[0] if present_sources else None
