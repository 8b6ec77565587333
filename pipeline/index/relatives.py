"""The direct relations of memories, in both directions."""

import json
from collections.abc import Collection, Sequence

from pipeline.index.candidates import passed
from pipeline.index.documents import NO_DOCUMENT, DocumentSide
from pipeline.index.hits import RelatedHit, Relatives
from pipeline.index.live import Visible
from pipeline.rows import MemoryColumns
from schemas.events import RelationKind
from schemas.filters import FilterExpression
from schemas.limits import RELATED_LIMIT


def related(
    documents: DocumentSide,
    parts: Sequence[Visible[MemoryColumns]],
    ids: Sequence[str],
    expression: FilterExpression | None,
    *,
    forgotten: bool,
) -> dict[str, Relatives]:
    """Both directions of every direct relation of these memories, among segments of one namespace."""
    passing = None if expression is None else documents.mask(expression)
    parts = list(passed(parts, documents, passing))
    own = _own_relations(parts, ids)
    targets = _located(parts, {target for pairs in own.values() for _, target in pairs})
    found = {one: Relatives() for one in ids}

    def shown(kind: RelationKind, place: tuple[Visible[MemoryColumns], int] | None) -> RelatedHit | None:
        return None if place is None else _related(documents, kind, place, forgotten=forgotten)

    for one in ids:
        for kind, target in own.get(one, ()):
            group = found[one].siblings if kind == "extends" else found[one].parents
            _add(group, shown(kind, targets.get(target)))
        for part in parts:
            for row, kind in part.segment.lookup.links.get(one, ()):
                group = found[one].siblings if kind == "derives" else found[one].children
                _add(group, shown(kind, (part, row)))
    return found


def _add(some: list[RelatedHit], one: RelatedHit | None) -> None:
    if one is not None and len(some) < RELATED_LIMIT:
        some.append(one)


def _located(
    parts: Sequence[Visible[MemoryColumns]], ids: Collection[str]
) -> dict[str, tuple[Visible[MemoryColumns], int]]:
    return {
        part.segment.columns.ids[row]: (part, row)
        for part in parts
        for row in part.segment.lookup.find(ids)
        if not part.segment.dead[row]
    }


def _own_relations(
    parts: Sequence[Visible[MemoryColumns]], ids: Sequence[str]
) -> dict[str, list[tuple[RelationKind, str]]]:
    return {
        one: [(relation["kind"], relation["target"]) for relation in json.loads(text)]
        for one, (part, row) in _located(parts, ids).items()
        if (text := part.segment.columns.relations[row])
    }


def _related(
    documents: DocumentSide,
    kind: RelationKind,
    place: tuple[Visible[MemoryColumns], int],
    *,
    forgotten: bool,
) -> RelatedHit | None:
    part, row = place
    columns = part.segment.columns
    document = int(part.documents[row])
    hidden = (part.mask is not None and not part.mask[row]) or (columns.forgotten[row] and not forgotten)
    if hidden:
        return None
    return RelatedHit(
        id=columns.ids[row],
        relation=kind,
        version=int(columns.versions[row]),
        text=columns.texts[row],
        document=documents.facts(document) or NO_DOCUMENT,
        updated_at=int(columns.updated_at[row]),
    )
