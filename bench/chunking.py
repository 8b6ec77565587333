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
from bench.plain import Bm25, Hybrid, Vectors
from bench.recall import DATA
from pipeline.columns import chunk_columns, document_columns
from pipeline.extraction.split import TALK, StructuredSplitter
from pipeline.extraction.titles import title_of
from pipeline.index.asking import ask
from pipeline.index.hits import Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.inference import open_embedder
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.stages.embed import embedded, in_context
from pipeline.text.surroundings import REACH, counted
from pipeline.text.terms import hashed
from schemas.events import ChunkSpan, Content, DocumentChunked

Place = tuple[str, int, int]
"""A stretch of a document's text."""
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Text:
    """A document: its kind, and the day it is of."""

    text: str
    kind: str
    date: str | None = None


@dataclass(frozen=True)
class Corpus:
    """The documents of a namespace, and questions with the places that answer each."""

    name: str
    texts: Mapping[str, Text]
    questions: Sequence[tuple[str, Sequence[Place]]]
    whole: bool
    """Whether a place counts only as a whole."""


@dataclass(frozen=True)
class Way:
    """A way to make passages. Sizes, overlap and reach in characters; `above`: what is embedded over each."""

    name: str
    prose: int = 800
    talk: int = TALK
    overlap: int = 0
    above: Callable[[str | None, ChunkSpan], str] = in_context
    reach: int = REACH


AS_IT_IS = Way("as it is: prose of 800 characters, talk of 300")
WAYS = (
    AS_IT_IS,
    *(Way(f"prose of {size:,}", prose=size) for size in (400, 600, 1_200, 1_600)),
    *(Way(f"talk of {size:,}", talk=size) for size in (150, 200, 400, 800)),
    *(Way(f"overlap of {size}", overlap=size) for size in (100, 200)),
    Way("neither title nor headings", above=lambda _, span: span.text),
    Way("headings without the title", above=lambda _, span: in_context(None, span)),
    Way("the title without headings", above=lambda title, span: in_context(title, unheaded(span))),
    Way("nothing around counts", reach=0),
    *(Way(f"{reach} characters around count", reach=reach) for reach in (150, 600)),
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
    for path, read in ((folder / "locomo-dev.json", _talks), (folder / "chunking", _texts)):
        if path.exists():
            found.append(read(path))
        else:
            print(f"No {path.name} in {folder}: it is skipped.")
    return found


def _talks(path: Path) -> list[Corpus]:
    found = []
    for one in conversations(path):
        texts = {str(at): Text(said.text, "text", said.date) for at, said in enumerate(one.sessions)}
        lines = {
            turn: (str(at), start, start + len(said.said(turn)))
            for at, said in enumerate(one.sessions)
            for turn, (start, _) in said.turns.items()
        }
        asked = [
            (each.text, [lines[turn] for turn in each.turns]) for each in (*one.questions, *one.adversarial)
        ]
        found.append(Corpus("LoCoMo", texts, asked, whole=True))
    return found


def _texts(folder: Path) -> list[Corpus]:
    texts = {path.stem: Text(path.read_text("utf-8"), "markdown") for path in sorted(folder.glob("*.md"))}
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        asked = [
            (
                line["question"],
                [
                    (line["corpus_id"], one["start_index"], one["end_index"])
                    for one in json.loads(line["references"])
                ],
            )
            for line in csv.DictReader(file)
            if line["corpus_id"] in texts
        ]
    return [Corpus("texts", texts, asked, whole=False)]


async def _measure(groups: Sequence[Sequence[Corpus]]) -> None:
    embedder = open_embedder("wordllama")
    for way in WAYS:
        cells, passages = [], 0
        for group in groups:
            shares: list[list[float]] = []
            for one in group:
                rows = await made(one, way, embedder)
                passages += len(rows)
                shares += await _by_us(one, rows, embedder)
            cells += means(shares)
        print(f"| {way.name} | {passages:,} | {' | '.join(cells)} |", flush=True)
    for name in ("BM25", "vectors", "LanceDB, hybrid with RRF"):
        others = [
            [share for one in group for share in await _by_another(name, one, embedder)] for group in groups
        ]
        print(f"| {name} | | {' | '.join(cell for shares in others for cell in means(shares))} |", flush=True)


async def made(corpus: Corpus, way: Way, embedder: Embedder) -> list[ChunkRow]:
    """The passages of a corpus, as the service makes them but for the way."""
    splitter = StructuredSplitter(way.prose, talk=way.talk)
    cut = [
        (_event(key, one), overlapping(splitter.split(one.text, one.kind), one.text, way.overlap))
        for key, one in corpus.texts.items()
    ]
    rows = await embedded(cut, embedder, hashed, way.above)
    if way.reach == REACH:
        return [row for some in rows.values() for row in some]
    return [
        replace(row, terms=own)
        for some in rows.values()
        for texts in [[row.text for row in some]]
        for row, own in zip(some, counted(texts, [hashed(text) for text in texts], way.reach), strict=True)
    ]


def overlapping(spans: Sequence[ChunkSpan], text: str, overlap: int) -> list[ChunkSpan]:
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


def unheaded(span: ChunkSpan) -> ChunkSpan:
    """The same passage under no heading."""
    return span.model_copy(update={"heading": None})


def share_of(places: Sequence[Place], found: Sequence[Place], *, whole: bool) -> float:
    """The share of the places, or of their characters, that stands in what was found."""
    if whole:
        return mean(_covered(place, found) == place[2] - place[1] for place in places)
    return sum(_covered(place, found) for place in places) / sum(end - start for _, start, end in places)


def _covered(place: Place, found: Sequence[Place]) -> int:
    document, start, end = place
    there: set[int] = set()
    for other, begin, stop in found:
        if other == document:
            there |= set(range(max(start, begin), min(end, stop)))
    return len(there)


def within(rows: Sequence[ChunkRow], characters: int) -> list[Place]:
    """Where what comes first lies, until the characters are used up."""
    found: list[Place] = []
    for row in rows:
        length = min(len(row.text), characters)
        found.append((row.document, row.start, row.start + length))
        characters -= length + 1
        if characters <= 0:
            break
    return found


def shares_of(corpus: Corpus, places: Sequence[Place], order: Sequence[ChunkRow]) -> list[float]:
    """By budget, the share of the places that stands in what comes first."""
    return [share_of(places, within(order, budget * TOKEN), whole=corpus.whole) for budget in BUDGETS]


def namespace_of(corpus: Corpus, rows: Sequence[ChunkRow]) -> NamespaceIndex:
    """The passages of a corpus, as they are searched."""
    index = NamespaceIndex(document_columns([_document(key, one) for key, one in corpus.texts.items()]))
    index.chunks.add(chunk_columns(list(rows)))
    return index


async def _by_us(corpus: Corpus, rows: Sequence[ChunkRow], embedder: Embedder) -> list[list[float]]:
    index = namespace_of(corpus, rows)
    by_id = {row.id: row for row in rows}
    shares = []
    for question, places in corpus.questions:
        asked = await ask(index, embedder, question)
        hits = await index.search(asked, Wanted(limit=LIMIT, threshold=0.0))
        shares.append(shares_of(corpus, places, [by_id[hit.id] for hit in hits]))
    return shares


async def asked_of(corpus: Corpus, way: Way, embedder: Embedder) -> list[list[float]]:
    """By question and budget, the share of its places that comes first."""
    return await _by_us(corpus, await made(corpus, way, embedder), embedder)


async def _by_another(name: str, corpus: Corpus, embedder: Embedder) -> list[list[float]]:
    rows = await made(corpus, AS_IT_IS, embedder)
    texts = [row.text for row in rows]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        if name == "BM25":
            words = Bm25(texts)
            orders = [words.order(question)[:LIMIT] for question, _ in corpus.questions]
        elif name == "vectors":
            vectors = await Vectors.of(texts, embedder)
            orders = [(await vectors.order(question))[:LIMIT] for question, _ in corpus.questions]
        else:
            hybrid = await Hybrid.of(texts, embedder, Path(folder))
            orders = [await hybrid.order(question, LIMIT) for question, _ in corpus.questions]
    return [
        shares_of(corpus, places, [rows[at] for at in order])
        for (_, places), order in zip(corpus.questions, orders, strict=True)
    ]


def means(shares: Sequence[Sequence[float]]) -> list[str]:
    """By budget, in percent."""
    return [f"{100 * mean(share):.1f}" for share in zip(*shares, strict=True)]


def _event(key: str, one: Text) -> DocumentChunked:
    title, nothing = title_of(one.text, one.kind), Content(text="")
    return DocumentChunked(space="s#0", document=key, id=key, seq=0, at=_NOW, title=title, chunks=nothing)


def _document(key: str, one: Text) -> DocumentRow:
    return DocumentRow(
        key=key, space="s#0", id=key, seq=0, content_seq=0, created_at=_NOW, updated_at=_NOW, date=one.date
    )


if __name__ == "__main__":
    main()
