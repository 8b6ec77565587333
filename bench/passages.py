"""Documents of two collections as the service cuts and embeds them, and the share of an answer among first results.

Neither collection is shipped. LoCoMo: the turns that prove an answer, word for word. Chroma's chunking evaluation
(MIT): the characters of the passages that its questions refer to; its texts are the documents of one namespace.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench.answers import BUDGETS, TOKEN
from bench.doubles.sample_rows import EPOCH, INCARNATION, document_row
from bench.memory.conversations import conversations
from pipeline.columns import chunk_columns
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.segments.document_store import document_columns
from pipeline.parsing.document_titles import document_title
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow
from pipeline.stages.chunk_rows import build_chunk_rows
from pipeline.text.analyzer import hash_terms
from schemas.events import Content, DocumentChunked

Place = tuple[str, int, int]
"""A stretch of a document's text."""


@dataclass(frozen=True)
class SourceText:
    """A document: its kind, and the day it is of."""

    text: str
    kind: str
    date: str | None = None


@dataclass(frozen=True)
class Corpus:
    """The documents of a namespace, and questions with the places that answer each."""

    name: str
    texts: Mapping[str, SourceText]
    questions: Sequence[tuple[str, Sequence[Place]]]
    whole: bool
    """True if a place counts only when it is covered completely."""


def corpora(folder: Path) -> list[list[Corpus]]:
    """Groups of namespaces that are measured as one; says what is missing."""
    found = []
    for path, read in ((folder / "locomo-dev.json", _conversation_corpora), (folder / "chunking", _texts)):
        if path.exists():
            found.append(read(path))
        else:
            print(f"No {path.name} in {folder}: it is skipped.")
    return found


def _conversation_corpora(path: Path) -> list[Corpus]:
    found = []
    for conversation in conversations(path):
        texts = {
            str(at): SourceText(session.text, "text", session.date) for at, session in enumerate(conversation.sessions)
        }
        lines = {
            turn: (str(at), start, start + len(session.text_of_turn(turn)))
            for at, session in enumerate(conversation.sessions)
            for turn, (start, _) in session.turns.items()
        }
        asked = [
            (each.text, [lines[turn] for turn in each.turns])
            for each in (*conversation.questions, *conversation.adversarial)
        ]
        found.append(Corpus("LoCoMo", texts, asked, whole=True))
    return found


def _texts(folder: Path) -> list[Corpus]:
    texts = {path.stem: SourceText(path.read_text("utf-8"), "markdown") for path in sorted(folder.glob("*.md"))}
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        asked = [
            (
                line["question"],
                [
                    (line["corpus_id"], reference["start_index"], reference["end_index"])
                    for reference in json.loads(line["references"])
                ],
            )
            for line in csv.DictReader(file)
            if line["corpus_id"] in texts
        ]
    return [Corpus("texts", texts, asked, whole=False)]


async def build_chunks(corpus: Corpus, embedder: Embedder) -> list[ChunkRow]:
    """The passages of a corpus, as the service makes them."""
    splitter = StructuredSplitter()
    cut = [(_event(key, text), splitter.split(text.text, text.kind)) for key, text in corpus.texts.items()]
    rows = await build_chunk_rows(cut, embedder, hash_terms)
    return [row for group_rows in rows.values() for row in group_rows]


def share_of(places: Sequence[Place], found: Sequence[Place], *, entire: bool) -> float:
    """The share of the places, or of their characters, that stands in what was found."""
    if entire:
        return mean(_covered(place, found) == place[2] - place[1] for place in places)
    return sum(_covered(place, found) for place in places) / sum(end - start for _, start, end in places)


def _covered(place: Place, found: Sequence[Place]) -> int:
    document, start, end = place
    covered: set[int] = set()
    for other, begin, stop in found:
        if other == document:
            covered |= set(range(max(start, begin), min(end, stop)))
    return len(covered)


def positions_within_budget(rows: Sequence[ChunkRow], characters: int) -> list[Place]:
    """Return the spans of the first results, up to the budget of characters."""
    found: list[Place] = []
    for row in rows:
        length = min(len(row.text), characters)
        found.append((row.document, row.start, row.start + length))
        characters -= length + 1
        if characters <= 0:
            break
    return found


def shares_of(corpus: Corpus, places: Sequence[Place], order: Sequence[ChunkRow]) -> list[float]:
    """Return the share of the places covered by the first results, by budget."""
    return [share_of(places, positions_within_budget(order, budget * TOKEN), entire=corpus.whole) for budget in BUDGETS]


def namespace_of(corpus: Corpus, rows: Sequence[ChunkRow]) -> NamespaceIndex:
    """The passages of a corpus, as they are searched."""
    index = NamespaceIndex(document_columns([document_row(key, date=text.date) for key, text in corpus.texts.items()]))
    index.chunks.add(chunk_columns(list(rows)))
    return index


def _event(key: str, text: SourceText) -> DocumentChunked:
    title, nothing = document_title(text.text, text.kind), Content(text="")
    return DocumentChunked(incarnation=INCARNATION, document=key, id=key, seq=0, at=EPOCH, title=title, chunks=nothing)
