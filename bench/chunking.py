"""`python -m bench.chunking`: how texts are cut, and what it brings in the first tokens of an answer.

Two collections, neither shipped; `--data` names their folder. LoCoMo: the turns that prove an answer, word
for word. Chroma's chunking evaluation (MIT): the characters of the passages that its questions refer to; its
texts are the documents of one namespace. Rows are made by the service's own embedding, and ranked by its own
search; passages only. Below, the same passages by BM25, vectors, and LanceDB's hybrid query.
"""

import argparse
import asyncio
import csv
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from bench.answers import BUDGETS, LIMIT, TOKEN
from bench.memory.conversations import conversations
from bench.recall import DATA
from bench.retrieval_baselines import Bm25Ranking, HybridRanking, VectorRanking
from pipeline.columns import chunk_columns, document_columns
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import open_embedder
from pipeline.parsing.document_titles import document_title
from pipeline.parsing.text_splitter import TRANSCRIPT_CHUNK_CHARACTERS, StructuredSplitter
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.stages.chunk_rows import build_chunk_rows, with_title_and_heading
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import CONTEXT_CHARS, context_expanded_terms
from schemas.events import ChunkSpan, Content, DocumentChunked

Place = tuple[str, int, int]
"""A stretch of a document's text."""
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


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


@dataclass(frozen=True)
class ChunkingVariant:
    """A way to make passages. Sizes, overlap and reach in characters; `above`: what is embedded over each."""

    name: str
    prose: int = 800
    transcript_size: int = TRANSCRIPT_CHUNK_CHARACTERS
    overlap: int = 0
    heading_context: Callable[[str | None, ChunkSpan], str] = with_title_and_heading
    reach: int = CONTEXT_CHARS


CURRENT_VARIANT = ChunkingVariant("as it is: prose of 800 characters, talk of 300")
VARIANTS = (
    CURRENT_VARIANT,
    *(ChunkingVariant(f"prose of {size:,}", prose=size) for size in (400, 600, 1_200, 1_600)),
    *(ChunkingVariant(f"talk of {size:,}", transcript_size=size) for size in (150, 200, 400, 800)),
    *(ChunkingVariant(f"overlap of {size}", overlap=size) for size in (100, 200)),
    ChunkingVariant("neither title nor headings", heading_context=lambda _, span: span.text),
    ChunkingVariant("headings without the title", heading_context=lambda _, span: with_title_and_heading(None, span)),
    ChunkingVariant(
        "the title without headings",
        heading_context=lambda title, span: with_title_and_heading(title, without_heading(span)),
    ),
    ChunkingVariant("nothing around counts", reach=0),
    *(ChunkingVariant(f"{reach} characters around count", reach=reach) for reach in (150, 600)),
)


def main() -> None:
    """Print the table as Markdown."""
    os.environ.setdefault("RUST_LOG", "error")
    options = argparse.ArgumentParser(prog="python -m bench.chunking", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    groups = corpora(options.parse_args().data)
    if not groups:
        print("There is nothing to measure.")
        return
    names = [f"{group[0].name}, within {budget:,} tokens" for group in groups for budget in BUDGETS]
    print(f"| | {' | '.join(['passages', *names])} |\n|---|{'---:|' * (len(names) + 1)}")
    asyncio.run(_measure(groups))


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


async def _measure(groups: Sequence[Sequence[Corpus]]) -> None:
    embedder = open_embedder("wordllama")
    for way in VARIANTS:
        cells, passages = [], 0
        for group in groups:
            shares: list[list[float]] = []
            for corpus in group:
                rows = await build_chunks(corpus, way, embedder)
                passages += len(rows)
                shares += await _rank_with_service(corpus, rows, embedder)
            cells += means(shares)
        print(f"| {way.name} | {passages:,} | {' | '.join(cells)} |", flush=True)
    for name in ("BM25", "vectors", "LanceDB, hybrid with RRF"):
        others = [
            [share for corpus in group for share in await _evaluate_baseline(name, corpus, embedder)]
            for group in groups
        ]
        print(f"| {name} | | {' | '.join(cell for shares in others for cell in means(shares))} |", flush=True)


async def build_chunks(corpus: Corpus, way: ChunkingVariant, embedder: Embedder) -> list[ChunkRow]:
    """The passages of a corpus, as the service makes them but for the way."""
    splitter = StructuredSplitter(way.prose, transcript_characters=way.transcript_size)
    cut = [
        (_event(key, text), with_overlap(splitter.split(text.text, text.kind), text.text, way.overlap))
        for key, text in corpus.texts.items()
    ]
    rows = await build_chunk_rows(cut, embedder, hash_terms, way.heading_context)
    if way.reach == CONTEXT_CHARS:
        return [row for group_rows in rows.values() for row in group_rows]
    return [
        replace(row, terms=own)
        for group_rows in rows.values()
        for texts in [[row.text for row in group_rows]]
        for row, own in zip(
            group_rows, context_expanded_terms(texts, [hash_terms(text) for text in texts], way.reach), strict=True
        )
    ]


def with_overlap(spans: Sequence[ChunkSpan], text: str, overlap: int) -> list[ChunkSpan]:
    """Each passage begun so much earlier, at a word, and not before the one before it."""
    if not overlap:
        return list(spans)
    begun = [0, *(span.start for span in spans)]
    found = []
    for span, before in zip(spans, begun, strict=False):
        early = max(span.start - overlap, before)
        start = text.find(" ", early, span.start) + 1 if early else 0
        start = start or early
        found.append(span.model_copy(update={"start": start, "text": text[start : span.end]}))
    return found


def without_heading(span: ChunkSpan) -> ChunkSpan:
    """The same passage under no heading."""
    return span.model_copy(update={"heading": None})


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
    index = NamespaceIndex(document_columns([_document(key, text) for key, text in corpus.texts.items()]))
    index.chunks.add(chunk_columns(list(rows)))
    return index


async def _rank_with_service(corpus: Corpus, rows: Sequence[ChunkRow], embedder: Embedder) -> list[list[float]]:
    index = namespace_of(corpus, rows)
    by_id = {row.id: row for row in rows}
    shares = []
    for question, places in corpus.questions:
        asked = await analyze_query(index, embedder, question)
        hits = await index.search(asked, SearchRequest(limit=LIMIT, threshold=0.0))
        shares.append(shares_of(corpus, places, [by_id[hit.id] for hit in hits]))
    return shares


async def evaluate_variant(corpus: Corpus, way: ChunkingVariant, embedder: Embedder) -> list[list[float]]:
    """Return the covered share of each question's places, by budget."""
    return await _rank_with_service(corpus, await build_chunks(corpus, way, embedder), embedder)


async def _evaluate_baseline(name: str, corpus: Corpus, embedder: Embedder) -> list[list[float]]:
    rows = await build_chunks(corpus, CURRENT_VARIANT, embedder)
    texts = [row.text for row in rows]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        if name == "BM25":
            words = Bm25Ranking(texts)
            orders = [words.order(question)[:LIMIT] for question, _ in corpus.questions]
        elif name == "vectors":
            vectors = await VectorRanking.embed_texts(texts, embedder)
            orders = [(await vectors.order(question))[:LIMIT] for question, _ in corpus.questions]
        else:
            hybrid = await HybridRanking.store_texts(texts, embedder, Path(folder))
            orders = [await hybrid.order(question, LIMIT) for question, _ in corpus.questions]
    return [
        shares_of(corpus, places, [rows[at] for at in order])
        for (_, places), order in zip(corpus.questions, orders, strict=True)
    ]


def means(shares: Sequence[Sequence[float]]) -> list[str]:
    """Format shares by budget in percent."""
    return [f"{100 * mean(share):.1f}" for share in zip(*shares, strict=True)]


def _event(key: str, text: SourceText) -> DocumentChunked:
    title, nothing = document_title(text.text, text.kind), Content(text="")
    return DocumentChunked(incarnation="s#0", document=key, id=key, seq=0, at=_NOW, title=title, chunks=nothing)


def _document(key: str, text: SourceText) -> DocumentRow:
    return DocumentRow(
        key=key,
        incarnation="s#0",
        id=key,
        seq=0,
        content_seq=0,
        created_at=_NOW,
        updated_at=_NOW,
        date=text.date,
    )


if __name__ == "__main__":
    main()
