"""Updates of memories that people should look at: contradictions of the same day, unsure ones, then all others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from api.dependencies.app_state import AppState
from api.presenters.resource_presenter import display_title
from pipeline.memory.versioning.fact_comparison import parse_valid_time
from pipeline.memory.versioning.provenance import CLIENT_UPDATE_REASON, DECIDED_REASON, provenance_of
from pipeline.rows import DocumentRow, MemoryRow
from schemas.base import format_timestamp
from schemas.events import Relation
from schemas.http.extensions.correction_bodies import Review, ReviewedStatement, ReviewResponse

MAX_LOOKED_AT = 2_000
"""Memories that are looked through for updates; the newest."""
SURE = 0.9
"""Confidence from which an update is not doubted: exact values, or the old value named."""
_ORDER = {"contradiction": 0, "unsure": 1, "update": 2}


@dataclass(frozen=True, slots=True)
class Update:
    newer: MemoryRow
    older: MemoryRow
    relation: Relation

    @property
    def kind(self) -> str:
        """Return whether both are of one day, the rule is unsure, or it is a plain update."""
        if _day(self.newer) == _day(self.older) and set(self.newer.sources) != set(self.older.sources):
            return "contradiction"
        return "unsure" if self.relation.score is None or self.relation.score < SURE else "update"


async def open_reviews(state: AppState, name: str, limit: int) -> ReviewResponse:
    """Return the updates that nobody has decided about."""
    namespace = state.catalog.namespace(name)
    if namespace is None:
        return ReviewResponse(reviews=[], total=0, doubtful=0)
    page = await state.memories.page(namespace.incarnations, limit=MAX_LOOKED_AT)
    targets = {relation.target for row in page.rows for relation in row.relations if relation.kind == "updates"}
    older = await state.memories_by_id(targets)
    updates = sorted(undecided_updates(page.rows, older), key=lambda update: _ORDER[update.kind])
    shown = updates[:limit]
    keys = {row.sources[-1] for update in shown for row in (update.newer, update.older) if row.sources}
    documents = await state.documents_by_key(keys)
    return ReviewResponse(
        reviews=[_review(update, documents) for update in shown],
        total=len(updates),
        doubtful=sum(update.kind != "update" for update in updates),
    )


def undecided_updates(rows: Iterable[MemoryRow], older: Mapping[str, MemoryRow]) -> list[Update]:
    """Return the newest replaced memory of each current one, unless a person decided about the two."""
    found = []
    for row in rows:
        replaced = [
            Update(row, older[relation.target], relation)
            for relation in row.relations
            if relation.kind == "updates" and relation.target in older
        ]
        if not row.is_active or not replaced:
            continue
        newest = max(replaced, key=lambda update: (_valid_time(update.older), update.older.id))
        if newest.older.forgotten_at is None and not _is_decided(newest.newer, newest.older):
            found.append(newest)
    return found


def _is_decided(newer: MemoryRow, older: MemoryRow) -> bool:
    return _is_stated_by_person(newer, older.id) or _is_stated_by_person(older, newer.id)


def _is_stated_by_person(row: MemoryRow, target: str) -> bool:
    return any(
        relation.target == target and relation.reason in {DECIDED_REASON, CLIENT_UPDATE_REASON}
        for entry in provenance_of(row)
        for relation in entry.relations
    )


def _valid_time(row: MemoryRow) -> str:
    return format_timestamp(parse_valid_time(row.date, row.updated_at))


def _day(row: MemoryRow) -> str:
    return _valid_time(row)[:10]


def _review(update: Update, documents: Mapping[str, DocumentRow]) -> Review:
    return Review.model_validate(
        {
            "kind": update.kind,
            "reason": update.relation.reason,
            "certainty": update.relation.score,
            "newer": _statement(update.newer, documents),
            "older": _statement(update.older, documents),
        }
    )


def _statement(row: MemoryRow, documents: Mapping[str, DocumentRow]) -> ReviewedStatement:
    source = documents.get(row.sources[-1]) if row.sources else None
    return ReviewedStatement(
        id=row.id,
        memory=row.text,
        date=_day(row),
        document=source.id if source else None,
        title=display_title(source) if source else None,
        sentence=_sentence(row, source),
    )


def _sentence(row: MemoryRow, source: DocumentRow | None) -> str | None:
    entries = [entry for entry in provenance_of(row) if source and entry.document == source.key]
    if not entries or source is None or source.text is None or source.text_seq != entries[0].seq:
        return None
    start, end = entries[0].start, entries[0].end
    return None if start is None or end is None else source.text[start:end]
