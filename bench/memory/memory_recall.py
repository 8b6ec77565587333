"""Recall of the turns that answer a question, by searching chunks, memories, or both.

Rows, vectors, ranking: the service's own, over a namespace in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import attrgetter
from statistics import mean

from bench.doubles.sample_rows import chunk_row, document_row, memory_row
from bench.memory.conversations import Conversation, Session
from bench.memory.coverage import Extracted
from pipeline.columns import chunk_columns, memory_columns
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.index.segments.document_store import document_columns
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, MemoryRow, RowKind
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import context_expanded_terms

LIMIT, DEEP_LIMIT = 10, 100
BUDGETS = (2_880, 8_000)
"""Characters: 720 and 2,000 tokens of four."""


@dataclass(frozen=True)
class ConversationIndex:
    """A namespace filled with a conversation, and the turns that each row holds."""

    index: NamespaceIndex
    turns: dict[str, frozenset[str]]


@dataclass(frozen=True)
class RecallAtCutoffs:
    """Share of a question's turns in ten results, and within each budget of characters."""

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


async def build_index(
    conversation: Conversation,
    memories: Sequence[Extracted],
    embedder: Embedder,
    *,
    by_turn: bool,
    dated: bool = False,
) -> ConversationIndex:
    """Build an index of sessions, or with `by_turn` of single turns, as chat applications add them.

    `dated`: documents are of their session's day.
    """
    sessions = [
        _turns(session, number) if by_turn else _chunks(session, number)
        for number, session in enumerate(conversation.sessions)
    ]
    passages = [passage for session_passages in sessions for passage in session_passages]
    chunks = await _chunk_rows(passages, embedder)
    rows = await _memory_rows(sessions, memories, embedder)
    days = {
        passage.document: session.date if dated else None
        for session, session_passages in zip(conversation.sessions, sessions, strict=True)
        for passage in session_passages
    }
    documents = [document_row(key, date=day) for key, day in days.items()]
    index = NamespaceIndex(document_columns(documents))
    index.chunks.add(chunk_columns(chunks))
    index.memories.add(memory_columns(rows))
    turns = {f"c{at}": passage.turns for at, passage in enumerate(passages)}
    turns |= {f"m{at}": memory.turns for at, memory in enumerate(memories)}
    return ConversationIndex(index, turns)


def _turns(session: Session, number: int) -> list[_Passage]:
    return [
        _Passage(f"{number}/{turn}", start, 0, session.text[start:end].strip(), frozenset({turn}))
        for turn, (start, end) in session.turns.items()
    ]


def _chunks(session: Session, number: int) -> list[_Passage]:
    spans = StructuredSplitter().split(session.text, "text")
    return [
        _Passage(str(number), 0, span.start, span.text, frozenset(session.turns_in_span(span.start, span.end)))
        for span in spans
    ]


async def _chunk_rows(passages: Sequence[_Passage], embedder: Embedder) -> list[ChunkRow]:
    vectors = await embedder.embed_documents([passage.text for passage in passages])
    terms = [
        own
        for _, group in groupby(passages, key=attrgetter("document"))
        for texts in [[passage.text for passage in group]]
        for own in context_expanded_terms(texts, [hash_terms(text) for text in texts])
    ]
    return [
        chunk_row(passage.document, at, passage.text, passage.start, id=f"c{at}", vector=vectors[at], terms=terms[at])
        for at, passage in enumerate(passages)
    ]


async def _memory_rows(
    sessions: Sequence[Sequence[_Passage]], memories: Sequence[Extracted], embedder: Embedder
) -> list[MemoryRow]:
    vectors = await embedder.embed_documents([memory.text for memory in memories])
    rows = []
    for at, memory in enumerate(memories):
        # The document that begins last before the memory does: the session's, or that of its turn.
        home = max(
            (passage for passage in sessions[memory.session] if passage.origin <= memory.start),
            key=attrgetter("origin"),
        )
        rows.append(
            memory_row(
                f"m{at}", memory.text, [home.document], vector=vectors[at], terms=hash_terms(memory.text),
                start=memory.start - home.origin, end=memory.end - home.origin,
            )
        )  # fmt: skip
    return rows


async def measure_recall(
    conversation: Conversation, filled: ConversationIndex, embedder: Embedder, kinds: tuple[RowKind, ...]
) -> list[RecallAtCutoffs]:
    """Each question of a conversation, with a search of these kinds."""
    found = []
    for question in conversation.questions:
        asked = await analyze_query(filled.index, embedder, question.text)
        hits = await filled.index.search(asked, SearchRequest(kinds=kinds, limit=DEEP_LIMIT, threshold=0.0))
        within = {budget: _share(question.turns, hits_within_budget(hits, budget), filled) for budget in BUDGETS}
        found.append(RecallAtCutoffs(_share(question.turns, hits[:LIMIT], filled), within))
    return found


def hits_within_budget(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The first results that together have at most so many characters."""
    sizes = accumulate(len(hit.text) for hit in hits)
    return [hit for hit, size in zip(hits, sizes, strict=True) if size <= budget]


def _share(evidence: frozenset[str], hits: Sequence[Hit], filled: ConversationIndex) -> float:
    return len(evidence & _turns_of(hits, filled)) / len(evidence)


def _turns_of(hits: Sequence[Hit], filled: ConversationIndex) -> frozenset[str]:
    return frozenset(turn for hit in hits for turn in filled.turns[hit.id])


def format_means(found: Sequence[RecallAtCutoffs]) -> list[str]:
    """Mean recalls in percent: in ten results, then within each budget."""
    means = [mean(recall.in_ten for recall in found)]
    means += [mean(recall.within[budget] for recall in found) for budget in BUDGETS]
    return [f"{100 * value:.1f}" for value in means]
