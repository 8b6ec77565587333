"""Forgetting: memories are hidden from recall, never erased."""

from collections.abc import Sequence

from api.state import State
from pipeline.memory.forgetting import Forgetting, hidden, sources_of
from pipeline.rows import MemoryRow
from schemas.events import MemoriesForgotten
from schemas.http.memories import ForgetAnswer, ForgetMatch, ForgetProblem
from schemas.topics import MEMORIES_FORGOTTEN


async def by_ids(state: State, name: str, ids: Sequence[str]) -> ForgetAnswer:
    """Forget each on its own; ids that are unknown or forgotten already are told."""
    wanted = list(dict.fromkeys(ids))
    namespace = state.catalog.namespace(name)
    found = await state.memories.get(wanted) if namespace else {}
    spaces = namespace.spaces if namespace else ()
    rows = [rows[0] for rows in found.values() if rows and rows[0].space in spaces]
    known = {row.id: row for row in rows}
    problems = {one: _problem(known.get(one), name) for one in wanted}
    fresh = [row for row in rows if problems[row.id] is None]
    await _forget(state, fresh, "asked for by id")
    errors = [ForgetProblem(id=one, error=error) for one, error in problems.items() if error is not None]
    return _answer(fresh, errors)


async def by_meaning(state: State, name: str, query: str, *, dry_run: bool) -> ForgetAnswer:
    """Forget what a description means; a dry run only shows it."""
    namespace = state.catalog.namespace(name)
    rows = await state.matching(namespace, query) if namespace else []
    if not dry_run:
        await _forget(state, rows, f"asked for by meaning: {query[:200]}")
    return _answer(rows, [])


def _problem(row: MemoryRow | None, name: str) -> str | None:
    """Why a memory can't be forgotten."""
    if row is None:
        return f"There is no such memory in {name}"
    return "It is forgotten already" if row.forgotten_at is not None else None


async def _forget(state: State, rows: Sequence[MemoryRow], reason: str) -> None:
    fresh = [row for row in rows if row.forgotten_at is None]
    if not fresh:
        return
    now = state.clock.now()
    sources: dict[str, dict[str, dict[str, int]]] = {}
    for row in fresh:
        sources.setdefault(row.space, {})[row.id] = sources_of(row)
    events = [
        (space, MemoriesForgotten(space=space, ids=tuple(said), at=now, reason=reason, sources=said))
        for space, said in sources.items()
    ]
    await state.publisher.publish(MEMORIES_FORGOTTEN, events)
    edits = {
        one: [hidden({space}, Forgetting(now, reason, said[one]))]
        for space, said in sources.items()
        for one in said
    }
    await state.keeper.change(sources.keys(), edits)


def _answer(rows: Sequence[MemoryRow], errors: list[ForgetProblem]) -> ForgetAnswer:
    matches = [ForgetMatch(id=row.id, memory=row.text) for row in rows]
    return ForgetAnswer(count=len(matches), errors=errors, matches=matches)
