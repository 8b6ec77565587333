"""recall@10 of the turns that answer a question, by what is searched: chunks, memories, or both.

Rows, vectors, ranking: the service's own, over a namespace in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
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

LIMIT = 10
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Corpus:
    """A namespace filled with a conversation, and the turns that each row holds."""

    index: NamespaceIndex
    turns: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Recall:
    """Of one question: the share of its turns in the results, and how much there is to read."""

    share: float
    characters: int


async def corpus(
    conversation: Conversation, memories: Sequence[Extracted], embedder: Embedder, *, by_turn: bool
) -> Corpus:
    """`by_turn`: each turn is a document of its own, as when an application adds message by message."""
    passages = [
        (f"{number}", text, turns)
        for number, session in enumerate(conversation.sessions)
        for text, turns in (_turns(session) if by_turn else _chunks(session))
    ]
    documents = [
        DocumentRow(
            key=str(at), space="s#0", id=str(at), seq=0, content_seq=0, created_at=_NOW, updated_at=_NOW
        )
        for at in range(len(conversation.sessions))
    ]
    vectors = await embedder.documents([text for _, text, _ in passages])
    terms = [
        own
        for _, some in groupby(passages, key=itemgetter(0))
        for texts in [[text for _, text, _ in some]]
        for own in counted(texts, [hashed(text) for text in texts])
    ]
    chunks = [
        ChunkRow(
            id=f"c{at}", space="s#0", document=document, position=at, text=text, start=0, end=len(text),
            seq=0, created_at=_NOW, vector=vectors[at], terms=terms[at],
        )
        for at, (document, text, _) in enumerate(passages)
    ]  # fmt: skip
    vectors = await embedder.documents([memory.text for memory in memories])
    rows = [
        MemoryRow(
            id=f"m{at}", space="s#0", text=memory.text, sources=(str(memory.session),), seq=0,
            created_at=_NOW, updated_at=_NOW, vector=vectors[at], terms=hashed(memory.text),
        )
        for at, memory in enumerate(memories)
    ]  # fmt: skip
    index = NamespaceIndex(document_columns(documents))
    index.chunks.add(chunk_columns(chunks))
    index.memories.add(memory_columns(rows))
    turns = {f"c{at}": turns for at, (_, _, turns) in enumerate(passages)}
    turns |= {f"m{at}": memory.turns for at, memory in enumerate(memories)}
    return Corpus(index, turns)


def _turns(session: Session) -> list[tuple[str, frozenset[str]]]:
    return [
        (session.text[start:end].strip(), frozenset({turn})) for turn, (start, end) in session.turns.items()
    ]


def _chunks(session: Session) -> list[tuple[str, frozenset[str]]]:
    spans = StructuredSplitter().split(session.text, "text")
    return [(span.text, frozenset(session.at(span.start, span.end))) for span in spans]


async def recalls(
    conversation: Conversation, filled: Corpus, embedder: Embedder, kinds: tuple[Kind, ...]
) -> list[Recall]:
    """Each question of a conversation, with a search of these kinds."""
    found = []
    for question in conversation.questions:
        asked = await ask(filled.index, embedder, question.text)
        hits = await filled.index.search(asked, Wanted(kinds=kinds, limit=LIMIT, threshold=0.0))
        found.append(_recall(question.turns, hits, filled))
    return found


def _recall(wanted: frozenset[str], hits: Sequence[Hit], filled: Corpus) -> Recall:
    turns = frozenset(turn for hit in hits for turn in filled.turns[hit.id])
    return Recall(len(wanted & turns) / len(wanted), sum(len(hit.text) for hit in hits))


def shown(found: Sequence[Recall]) -> str:
    """The mean recall in percent, and the mean number of characters."""
    return f"{100 * mean(one.share for one in found):.1f} ({mean(one.characters for one in found):,.0f})"
