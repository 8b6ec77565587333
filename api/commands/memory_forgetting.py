"""Commands that forget memories and restore them: they are hidden from recall, not erased."""

from collections.abc import Sequence
from typing import Final

from api.dependencies.app_state import AppState
from pipeline.memory.versioning.forget_command import ForgetCommand, forget_edit, source_positions_of
from pipeline.rows import MemoryRow
from schemas.events import MemoriesForgotten
from schemas.http.v5.memory_bodies import ForgetError, ForgetMatch, ForgetResponse
from schemas.topics import MEMORIES_FORGOTTEN

REQUESTED_REASON: Final = "on request"


async def forget_by_ids(
    state: AppState, namespace_name: str, ids: Sequence[str], reason: str | None = None
) -> ForgetResponse:
    """Forget memories by id, for the reason given; unknown and already forgotten ids are reported as errors."""
    ids = list(dict.fromkeys(ids))
    rows = await state.find_memories(namespace_name, ids)
    problems = {memory_id: _forget_error(rows.get(memory_id), namespace_name) for memory_id in ids}
    fresh = [row for row in rows.values() if problems[row.id] is None]
    await hide(state, fresh, reason or REQUESTED_REASON)
    errors = [ForgetError(id=memory_id, error=error) for memory_id, error in problems.items() if error is not None]
    return _forget_response(fresh, errors)


async def forget_by_query(state: AppState, namespace_name: str, query: str, *, dry_run: bool) -> ForgetResponse:
    """Forget the memories that match a description; a dry run only returns them."""
    namespace = state.catalog.namespace(namespace_name)
    rows = await state.queries.find_semantic_matches(namespace, query) if namespace else []
    if not dry_run:
        await hide(state, rows, f"asked for by meaning: {query[:200]}")
    return _forget_response(rows, [])


def _forget_error(row: MemoryRow | None, namespace_name: str) -> str | None:
    """Return why a memory can't be forgotten; None if it can."""
    if row is None:
        return f"There is no such memory in {namespace_name}"
    return "It is forgotten already" if row.forgotten_at is not None else None


async def hide(state: AppState, rows: Sequence[MemoryRow], reason: str) -> None:
    """Hide memories that are not hidden already."""
    if fresh := [row for row in rows if row.forgotten_at is None]:
        await _change(state, fresh, reason)


async def restore(state: AppState, row: MemoryRow) -> None:
    """Take back that a memory was forgotten."""
    await _change(state, [row], "", restores=True)


async def _change(state: AppState, fresh: Sequence[MemoryRow], reason: str, *, restores: bool = False) -> None:
    now = state.clock.now()
    sources: dict[str, dict[str, dict[str, int]]] = {}
    for row in fresh:
        sources.setdefault(row.incarnation, {})[row.id] = source_positions_of(row)
    events = [
        (
            incarnation,
            MemoriesForgotten(
                incarnation=incarnation,
                ids=tuple(positions),
                at=now,
                reason=reason,
                sources=positions,
                restores=restores,
            ),
        )
        for incarnation, positions in sources.items()
    ]
    await state.publisher.publish(MEMORIES_FORGOTTEN, events)
    edits = {
        memory_id: [forget_edit({incarnation}, ForgetCommand(now, reason, positions[memory_id], restores))]
        for incarnation, positions in sources.items()
        for memory_id in positions
    }
    await state.memory_repository.apply(sources.keys(), edits)
    # A stage of another process may have been quicker, and searches here have to know of it as well.
    await state.memories.refresh(sources)


def _forget_response(rows: Sequence[MemoryRow], errors: list[ForgetError]) -> ForgetResponse:
    matches = [ForgetMatch(id=row.id, memory=row.text) for row in rows]
    return ForgetResponse(count=len(matches), errors=errors, matches=matches)
