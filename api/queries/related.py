"""What belongs to a memory: earlier and later versions, direct links, its source document."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from api.queries import present
from pipeline.index.cache import NamespaceCache
from pipeline.index.hits import RelatedHit
from pipeline.ports import Documents, Memories
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow
from schemas.base import timestamp
from schemas.http.memories import Family, MemoryIncluded, RelatedMemoryWithDocument, RelatedSystem

STEPS = 3
"""Versions in either direction, at most."""


async def related(
    cache: NamespaceCache,
    memories: Memories,
    documents: Documents,
    namespace: NamespaceRow,
    memory: MemoryRow,
    *,
    include: Collection[str],
    limit: int,
) -> MemoryIncluded:
    """What `include` asks for (`related`, `documents`); `limit` bounds each list of the family."""
    found = await _family(cache, namespace, memory, limit) if "related" in include else {}
    rows = await memories.get({hit.id for hits in found.values() for hit in hits})
    there = {id_: members[0] for id_, members in rows.items() if members}
    keys = {key for row in (memory, *there.values()) for key in row.sources}
    sources = {key: members[0] for key, members in (await documents.get(keys)).items() if members}
    included = MemoryIncluded()
    with_documents = "documents" in include
    if "related" in include:
        shown = {
            name: [
                _shown(hit, there[hit.id], sources, document=with_documents)
                for hit in hits
                if hit.id in there
            ]
            for name, hits in found.items()
        }
        included.related = Family(**shown)
    source = _source(memory, sources)
    if with_documents and source is not None:
        included.document = present.document_ref(source)
    return included


async def _family(
    cache: NamespaceCache, namespace: NamespaceRow, memory: MemoryRow, limit: int
) -> dict[str, list[RelatedHit]]:
    index = await cache.open(namespace)
    near = (await index.relatives([memory.id], None, forgotten=True))[memory.id]
    links = [*near.parents, *near.children, *near.siblings]
    return {
        "parents": _steps([one for one in near.parents if one.relation == "updates"], nearest_last=True)[
            :limit
        ],
        "children": _steps([one for one in near.children if one.relation == "updates"])[:limit],
        "siblings": [one for one in links if one.relation != "updates"][:limit],
    }


def _steps(hits: Iterable[RelatedHit], *, nearest_last: bool = False) -> list[RelatedHit]:
    """Nearest version first, three steps at most: a memory names all versions it replaces."""
    ordered = sorted(hits, key=lambda one: (one.version, one.id), reverse=nearest_last)
    steps = [list(members) for _, members in groupby(ordered, key=lambda one: one.version)]
    return [one for members in steps[:STEPS] for one in members]


def _shown(
    hit: RelatedHit, row: MemoryRow, sources: Mapping[str, DocumentRow], *, document: bool
) -> RelatedMemoryWithDocument:
    source = _source(row, sources)
    shown = RelatedMemoryWithDocument(
        id=row.id,
        relation=hit.relation,
        version=row.version,
        memory=row.text,
        metadata=source.metadata if source is not None else {},
        system=RelatedSystem(updated_at=timestamp(row.updated_at)),
    )
    if document and source is not None:
        shown.document = present.document_ref(source)
    return shown


def _source(row: MemoryRow, sources: Mapping[str, DocumentRow]) -> DocumentRow | None:
    present_sources: Sequence[DocumentRow] = [sources[key] for key in row.sources if key in sources]
    return present_sources[0] if present_sources else None
