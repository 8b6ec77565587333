"""Direct relations of memories, in both directions."""

import json
from collections.abc import Collection, Sequence

from pipeline.index.ranking.candidate_generation import filter_views
from pipeline.index.ranking.search_request_and_hits import RelatedHit, RelatedMemories
from pipeline.index.segments.document_store import EMPTY_DOCUMENT, DocumentStore
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import MemoryColumns
from schemas.events import RelationKind
from schemas.filters import FilterExpression
from schemas.limits import MAX_RELATED_MEMORIES

RowLocation = tuple[SegmentView[MemoryColumns], int]


def find_related_memories(
    documents: DocumentStore,
    views: Sequence[SegmentView[MemoryColumns]],
    ids: Sequence[str],
    expression: FilterExpression | None,
    *,
    include_forgotten: bool,
) -> dict[str, RelatedMemories]:
    """The memories that each of these relates to and is related from, as far as they pass the filter."""
    passing = None if expression is None else documents.filter_mask(expression)
    views = list(filter_views(views, documents, passing))
    outgoing = _outgoing_relations(views, ids)
    targets = _locate_rows(views, {target for pairs in outgoing.values() for _, target in pairs})
    related = {id_: RelatedMemories() for id_ in ids}

    def append(hits: list[RelatedHit], kind: RelationKind, location: RowLocation | None) -> None:
        if location is None or len(hits) >= MAX_RELATED_MEMORIES:
            return
        if _is_visible(location, include_forgotten=include_forgotten):
            hits.append(_to_related_hit(documents, kind, location))

    for id_, lists in related.items():
        for kind, target in outgoing.get(id_, ()):
            append(lists.siblings if kind == "extends" else lists.parents, kind, targets.get(target))
        for view in views:
            for row, kind in view.segment.lookup.relations_by_target.get(id_, ()):
                append(lists.siblings if kind == "derives" else lists.children, kind, (view, row))
    return related


def _locate_rows(views: Sequence[SegmentView[MemoryColumns]], ids: Collection[str]) -> dict[str, RowLocation]:
    return {
        view.segment.columns.ids[row]: (view, row)
        for view in views
        for row in view.segment.lookup.rows_with_ids(ids)
        if not view.segment.deleted[row]
    }


def _outgoing_relations(
    views: Sequence[SegmentView[MemoryColumns]], ids: Sequence[str]
) -> dict[str, list[tuple[RelationKind, str]]]:
    return {
        id_: [(relation["kind"], relation["target"]) for relation in json.loads(text)]
        for id_, (view, row) in _locate_rows(views, ids).items()
        if (text := view.segment.columns.relations[row])
    }


def _is_visible(location: RowLocation, *, include_forgotten: bool) -> bool:
    view, row = location
    visible = view.mask is None or bool(view.mask[row])
    return visible and (include_forgotten or not view.segment.columns.forgotten[row])


def _to_related_hit(documents: DocumentStore, kind: RelationKind, location: RowLocation) -> RelatedHit:
    view, row = location
    columns = view.segment.columns
    return RelatedHit(
        id=columns.ids[row],
        relation=kind,
        version=int(columns.versions[row]),
        text=columns.texts[row],
        document=documents.get(int(view.document_ordinals[row])) or EMPTY_DOCUMENT,
        updated_at=int(columns.updated_at[row]),
        in_profile=bool(columns.in_profile[row]),
    )
