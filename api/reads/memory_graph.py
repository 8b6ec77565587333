"""Graph of a namespace: its memories, their relations, and the people, places and things that they name."""

import calendar
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from api.dependencies.app_state import AppState
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.text.english_verbs import word_set
from schemas.http.extensions.graph_bodies import GraphMemory, GraphName, GraphRelation, GraphResponse

_APOSTROPHES = "'\u2019"
_WORD = re.compile(rf"[^\W\d_][\w{_APOSTROPHES}-]*")
_NAME = re.compile(rf"[^\W\d_a-z][\w{_APOSTROPHES}-]*(?: [^\W\d_a-z][\w{_APOSTROPHES}-]*){{0,3}}")
_POSSESSIVE = re.compile(rf"(?<=\w)[{_APOSTROPHES}]s\b")
_OPENING_WORDS = word_set("the a an this that these those my our your his her its their there it")
_NO_NAMES = _OPENING_WORDS | {name.casefold() for name in (*calendar.month_name, *calendar.day_name)}
"""Words that begin sentences, months and days. Not all stopwords: Will is a name."""


async def memory_graph(state: AppState, namespace: str, limit: int) -> GraphResponse:
    """Read the newest memories of a namespace, replaced and forgotten ones among them, as a graph."""
    row = state.catalog.namespace(namespace)
    if row is None:
        return GraphResponse(memories=[], relations=[], names=[], total=0)
    page = await state.memories.page(row.incarnations, include_forgotten=True, limit=limit)
    place = {memory.id: at for at, memory in enumerate(page.rows)}
    documents = await state.documents_by_key({memory.sources[0] for memory in page.rows if memory.sources})
    ends = _replaced_at(page.rows)
    return GraphResponse(
        memories=[_graph_memory(memory, ends, documents) for memory in page.rows],
        relations=[
            GraphRelation(source=place[memory.id], target=place[relation.target], kind=relation.kind)
            for memory in page.rows
            for relation in memory.relations
            if relation.target in place
        ],
        names=[
            GraphName(name=name, memories=places)
            for name, places in find_names([memory.text for memory in page.rows]).items()
        ],
        total=page.total,
    )


def find_names(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the names in texts with the places of the texts that have them, the most frequent first.

    A name is one to four words with a capital each. A word that also stands in small letters somewhere is none,
    and so is the word that only begins a text, unless it is the subject of several.
    """
    small = {word.group() for text in texts for word in _WORD.finditer(text) if word.group()[:1].islower()}
    found: dict[str, list[int]] = {}
    opening: Counter[str] = Counter()
    for at, text in enumerate(texts):
        for match in _NAME.finditer(_POSSESSIVE.sub("  ", text)):
            name = _without_ordinary_words(match.group(), small)
            if not name:
                continue
            opening[name] += match.start() == 0
            places = found.setdefault(name, [])
            if not places or places[-1] != at:
                places.append(at)
    kept = {name: places for name, places in found.items() if not opening[name] or len(places) > 1}
    return dict(sorted(kept.items(), key=lambda item: (-len(item[1]), item[0])))


def _without_ordinary_words(name: str, small: set[str]) -> str:
    """Return a name without words at its ends that are no names."""
    words = name.split()
    ordinary = [_is_ordinary(word, small) for word in words]
    while words and ordinary[0]:
        words, ordinary = words[1:], ordinary[1:]
    while words and ordinary[-1]:
        words, ordinary = words[:-1], ordinary[:-1]
    return " ".join(words)


def _is_ordinary(word: str, small: set[str]) -> bool:
    folded = word.casefold()
    return len(word) < 2 or not word[0].isupper() or folded in small or folded in _NO_NAMES


def _replaced_at(rows: Sequence[MemoryRow]) -> Mapping[str, datetime]:
    """Return when each memory was replaced: when the memory that updates it came."""
    return {
        relation.target: row.created_at
        for row in sorted(rows, key=lambda row: row.created_at, reverse=True)
        for relation in row.relations
        if relation.kind == "updates"
    }


def _graph_memory(
    row: MemoryRow, replaced: Mapping[str, datetime], documents: Mapping[str, DocumentRow]
) -> GraphMemory:
    stating = documents.get(row.sources[0]) if row.sources else None
    ends = [end for end in (row.forgotten_at, row.expires_at, replaced.get(row.id)) if end is not None]
    return GraphMemory.of(
        row, memory=row.text, document=stating.id if stating else None, ended_at=min(ends, default=None)
    )
