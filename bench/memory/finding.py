"""How many of the turns that answer a question are found, by what is searched: chunks, memories, or both.

Rows, vectors, ranking: the service's own, over a namespace in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, groupby
from operator import attrgetter
from statistics import mean

from bench.memory.conversations import Conversation, Session
from bench.memory.coverage import Extracted
from pipeline.columns import chunk_columns, document_columns, memory_columns
from pipeline.extraction.split import StructuredSplitter
from pipeline.index.asking import ask
from pipeline.index.hits import Hit, Kind, Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.text.surroundings import counted
from pipeline.text.terms import hashed

LIMIT, DEEP = 10, 100
BUDGETS = (2_880, 8_000)
"""Characters: 720 and 2,000 tokens of four."""
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Corpus:
    """A namespace filled with a conversation, and the turns that each row holds."""

    index: NamespaceIndex
    turns: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Recall:
    """Of one question: the share of its turns in ten results, and within so many characters."""

    in_ten: float
    within: dict[int, float]


@dataclass(frozen=True)
class _Passage:
    """A part of a session: the document it belongs to, which begins at `origin`, and its offsets there."""

    document: str
    origin: int
    start: int
    text: str
    turns: frozenset[str]


async def corpus(
    conversation: Conversation,
    memories: Sequence[Extracted],
    embedder: Embedder,
    *,
    by_turn: bool,
    dated: bool = False,
) -> Corpus:
    """`by_turn`: each turn is a document of its own, as when an application adds message by message.

    `dated`: documents are of their session's day.
    """
    sessions = [
        _turns(session, number) if by_turn else _chunks(session, number)
        for number, session in enumerate(conversation.sessions)
    ]
    passages = [passage for some in sessions for passage in some]
    chunks = await _chunk_rows(passages, embedder)
    rows = await _memory_rows(sessions, memories, embedder)
    days = {
        passage.document: session.date if dated else None
        for session, some in zip(conversation.sessions, sessions, strict=True)
        for passage in some
    }
    documents = [
        DocumentRow(
            key=key, space="s#0", id=key, seq=0, content_seq=0, created_at=_NOW, updated_at=_NOW, date=day
        )
        for key, day in days.items()
    ]
    index = NamespaceIndex(document_columns(documents))
    index.chunks.add(chunk_columns(chunks))
    index.memories.add(memory_columns(rows))
    turns = {f"c{at}": passage.turns for at, passage in enumerate(passages)}
    turns |= {f"m{at}": memory.turns for at, memory in enumerate(memories)}
    return Corpus(index, turns)


def _turns(session: Session, number: int) -> list[_Passage]:
    return [
        _Passage(f"{number}/{turn}", start, 0, session.text[start:end].strip(), frozenset({turn}))
        for turn, (start, end) in session.turns.items()
    ]


def _chunks(session: Session, number: int) -> list[_Passage]:
    spans = StructuredSplitter().split(session.text, "text")
    return [
        _Passage(str(number), 0, span.start, span.text, frozenset(session.at(span.start, span.end)))
        for span in spans
    ]


async def _chunk_rows(passages: Sequence[_Passage], embedder: Embedder) -> list[ChunkRow]:
    vectors = await embedder.documents([passage.text for passage in passages])
    terms = [
        own
        for _, some in groupby(passages, key=attrgetter("document"))
        for texts in [[passage.text for passage in some]]
        for own in counted(texts, [hashed(text) for text in texts])
    ]
    return [
        ChunkRow(
            id=f"c{at}", space="s#0", document=one.document, position=at, text=one.text, start=one.start,
            end=one.start + len(one.text), seq=0, created_at=_NOW, vector=vectors[at], terms=terms[at],
        )
        for at, one in enumerate(passages)
    ]  # fmt: skip


async def _memory_rows(
    sessions: Sequence[Sequence[_Passage]], memories: Sequence[Extracted], embedder: Embedder
) -> list[MemoryRow]:
    vectors = await embedder.documents([memory.text for memory in memories])
    rows = []
    for at, memory in enumerate(memories):
        # The document that begins last before the memory does: the session's, or that of its turn.
        home = max(
            (one for one in sessions[memory.session] if one.origin <= memory.start), key=attrgetter("origin")
        )
        rows.append(
            MemoryRow(
                id=f"m{at}", space="s#0", text=memory.text, sources=(home.document,), seq=0, created_at=_NOW,
                updated_at=_NOW, vector=vectors[at], terms=hashed(memory.text),
                start=memory.start - home.origin, end=memory.end - home.origin,
            )
        )  # fmt: skip
    return rows


async def recalls(
    conversation: Conversation, filled: Corpus, embedder: Embedder, kinds: tuple[Kind, ...]
) -> list[Recall]:
    """Each question of a conversation, with a search of these kinds."""
    found = []
    for question in conversation.questions:
        asked = await ask(filled.index, embedder, question.text)
        hits = await filled.index.search(asked, Wanted(kinds=kinds, limit=DEEP, threshold=0.0))
        within = {budget: _share(question.turns, read(hits, budget), filled) for budget in BUDGETS}
        found.append(Recall(_share(question.turns, hits[:LIMIT], filled), within))
    return found


def read(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The first results that together have at most so many characters."""
    sizes = accumulate(len(hit.text) for hit in hits)
    return [hit for hit, size in zip(hits, sizes, strict=True) if size <= budget]


def _share(wanted: frozenset[str], hits: Sequence[Hit], filled: Corpus) -> float:
    return len(wanted & _turns_of(hits, filled)) / len(wanted)


def _turns_of(hits: Sequence[Hit], filled: Corpus) -> frozenset[str]:
    return frozenset(turn for hit in hits for turn in filled.turns[hit.id])


def shown(found: Sequence[Recall]) -> list[str]:
    """Mean recalls in percent: in ten results, then within each budget."""
    means = [mean(one.in_ten for one in found)]
    means += [mean(one.within[budget] for one in found) for budget in BUDGETS]
    return [f"{100 * value:.1f}" for value in means]
