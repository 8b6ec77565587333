"""Pages of a namespace's memories by kind, state, source and time."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from api.dependencies.app_state import AppState
from api.presenters import resource_presenter
from pipeline.rows import MemoryRow
from schemas.http.extensions.explain_bodies import FilteredMemories, MemoryKind, MemoryState
from schemas.http.pagination import paginate

MAX_LOOKED_AT = 20_000
"""Memories that a filter looks through; the newest."""
_READ_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Conditions of which all must hold; None: any. Times: of the last statement of a memory."""

    kind: MemoryKind | None = None
    state: MemoryState | None = None
    since: datetime | None = None
    until: datetime | None = None

    def matches(self, row: MemoryRow) -> bool:
        return (
            self.kind in {None, *memory_kinds(row)}
            and self.state in {None, memory_state(row)}
            and (self.since is None or row.updated_at >= self.since)
            and (self.until is None or row.updated_at < self.until)
        )


def memory_state(row: MemoryRow) -> MemoryState:
    """Return whether a memory holds, or why it does not."""
    if row.forgotten_at is not None:
        return "forgotten"
    return "current" if row.is_latest else "replaced"


def memory_kinds(row: MemoryRow) -> tuple[MemoryKind, ...]:
    """Return the kinds of a memory: by how long it holds, and by where it comes from."""
    return ("long-term" if row.is_static else "recent", "inferred" if row.is_inference else "stated")


async def list_filtered(
    state: AppState, name: str, wanted: MemoryFilter, *, document: str | None, page: int, limit: int
) -> FilteredMemories:
    """Return a page of the memories that match, newest first; `document`: id of one that states them."""
    incarnations = state.incarnations_of(name)
    keys: list[str] | None = None
    if document is not None:
        keys = [row.key for row in (await state.find_documents(name, [document])).values()]
    rows: list[MemoryRow] = []
    looked_at = 0
    if incarnations and keys != []:
        async for row in _newest(state, incarnations, keys):
            looked_at += 1
            if wanted.matches(row):
                rows.append(row)
    shown = rows[(page - 1) * limit : page * limit]
    sources = await state.documents_by_key({key for row in shown for key in row.sources})
    return FilteredMemories(
        memories=[resource_presenter.memory_response(row, sources) for row in shown],
        pagination=paginate(page, limit, len(rows)),
        is_complete=looked_at < MAX_LOOKED_AT,
    )


async def _newest(state: AppState, incarnations: tuple[str, ...], keys: list[str] | None) -> AsyncIterator[MemoryRow]:
    for offset in range(0, MAX_LOOKED_AT, _READ_AT_ONCE):
        page = await state.memories.page(
            incarnations, documents=keys, include_forgotten=True, offset=offset, limit=_READ_AT_ONCE
        )
        for row in page.rows:
            yield row
        if offset + _READ_AT_ONCE >= page.total:
            return
