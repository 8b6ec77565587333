"""Pages of documents, chunks and memories as the interface shows them. Unknown namespaces are empty."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api.ports import ChunkSort
from api.queries import present
from api.state import State
from pipeline.rows import DocumentRow
from schemas.http.listing import ListAnswer, ListBody
from schemas.http.pagination import pagination


@dataclass(frozen=True, slots=True)
class View:
    """Which part of a list, and how."""

    page: int
    limit: int
    sort: ChunkSort
    descending: bool
    body: ListBody

    @property
    def offset(self) -> int:
        """Items on the pages before."""
        return (self.page - 1) * self.limit


async def documents(state: State, name: str, view: View) -> ListAnswer:
    """A page of documents."""
    spaces = _spaces(state, name)
    if not spaces or view.sort == "position":
        return _answer(view, 0)
    include = view.body.include
    page = await state.documents.page(
        spaces,
        filter=view.body.filter,
        sort=view.sort,
        descending=view.descending,
        offset=view.offset,
        limit=view.limit,
        with_text=include.content,
    )
    counts = await state.memories.counts([row.key for row in page.rows]) if include.memory_count else None
    answer = _answer(view, page.total)
    answer.documents = [
        present.listed_document(
            row, None if counts is None else counts.get(row.key, 0), content=include.content
        )
        for row in page.rows
    ]
    return answer


async def chunks(state: State, name: str, view: View) -> ListAnswer:
    """A page of chunks; filters look at their documents' metadata."""
    spaces = _spaces(state, name)
    if not spaces:
        return _answer(view, 0)
    page = await state.chunks.page(
        spaces,
        documents=await _passing(state, spaces, view),
        sort=view.sort,
        descending=view.descending,
        offset=view.offset,
        limit=view.limit,
    )
    sources = await _by_key(state, {row.document for row in page.rows})
    answer = _answer(view, page.total)
    answer.chunks = [
        present.listed_chunk(row, sources[row.document]) for row in page.rows if row.document in sources
    ]
    return answer


async def memories(state: State, name: str, view: View) -> ListAnswer:
    """A page of memories; forgotten ones only when asked for."""
    spaces = _spaces(state, name)
    if not spaces or view.sort == "position":
        return _answer(view, 0)
    passing = await _passing(state, spaces, view)
    page = await state.memories.page(
        spaces,
        documents=passing,
        forgotten=view.body.include.forgotten,
        sort=view.sort,
        descending=view.descending,
        offset=view.offset,
        limit=view.limit,
    )
    keys = {key for row in page.rows for key in row.sources if passing is None or key in passing}
    sources = await _by_key(state, keys)
    answer = _answer(view, page.total)
    answer.memories = [present.memory(row, sources) for row in page.rows]
    return answer


async def memory_counts(state: State, name: str, ids: Sequence[str]) -> dict[str, int]:
    """Recallable memories by public document id, in the order asked; unknown documents are left out."""
    spaces = _spaces(state, name)
    rows = await state.documents.find(spaces, list(dict.fromkeys(ids))) if spaces else {}
    counts = await state.memories.counts([row.key for row in rows.values()])
    return {public: counts.get(rows[public].key, 0) for public in dict.fromkeys(ids) if public in rows}


def _spaces(state: State, name: str) -> Sequence[str]:
    namespace = state.catalog.namespace(name)
    return namespace.spaces if namespace else ()


async def _passing(state: State, spaces: Sequence[str], view: View) -> Collection[str] | None:
    return None if view.body.filter is None else await state.documents.keys(spaces, view.body.filter)


async def _by_key(state: State, keys: Collection[str]) -> dict[str, DocumentRow]:
    found = await state.documents.get(keys) if keys else {}
    return {key: rows[0] for key, rows in found.items() if rows}


def _answer(view: View, total: int) -> ListAnswer:
    return ListAnswer(
        documents=[], chunks=[], memories=[], pagination=pagination(view.page, view.limit, total)
    )
