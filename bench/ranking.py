"""`python -m bench.ranking`: what searches find on every collection, in process, half of each kept locked.

A change of the ranking is judged in a minute: vectors are computed once and kept in a file (`--vectors`). LoCoMo,
Cranfield, Chroma's texts and the guides are not shipped; `--data` names their folder. A question is open or locked
by a hash of its text: choose parameters by the open half (`--open`), and believe the locked one.
"""

import argparse
import asyncio
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from bench.answers import BUDGETS, EvidenceShares
from bench.datasets.changed_lives import changed_lives
from bench.datasets.mixed_facts import mixed_facts
from bench.datasets.near_questions import near_questions
from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, Paraphrases, paraphrases
from bench.datasets.worlds import PARTS, UNLEARNED_PARTS, worlds
from bench.memory.conversations import AnnotatedQuestion, Conversation, conversations
from bench.memory.coverage import extracted
from bench.memory.memory_recall import build_index
from bench.paraphrases import GUIDES, TOGETHER, guide_sections
from bench.passages import Corpus, Place, build_chunks, corpora, namespace_of, shares_of
from bench.recall import DATA, build_text_index, ndcg
from bench.relevance import Query, collections
from pipeline.columns import chunk_columns, memory_columns
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.index.segments.document_store import document_columns
from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.models import open_embedder
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, Vector
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import context_expanded_terms

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SAVED_TEXTS = 256
"""New vectors after which the file is written: an interrupted run goes on from there."""
_ALL = SearchRequest(limit=100, threshold=0.0)
_DEFAULT = SearchRequest()
_DOUBT = 0.5
"""A similarity below it does not claim to be the answer."""
Judge = Callable[[Sequence[Hit]], Sequence[float]]
"""The measures of one answer, each within 0 and 1."""


@dataclass(frozen=True)
class JudgedQuestion:
    """A question to a namespace, how it is searched, and how its answer is measured."""

    index: NamespaceIndex
    text: str
    request: SearchRequest
    judge: Judge
    locked: bool


@dataclass(frozen=True)
class JudgedCollection:
    """Questions that are measured as one, and what the measures are called."""

    name: str
    measures: tuple[str, ...]
    questions: list[JudgedQuestion]


class KeptVectors:
    """An embedder that keeps the vectors it has computed in a file."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._vectors: dict[str, Vector] = {}
        self._added = False
        self.name, self.dimensions = embedder.name, embedder.dimensions
        if path.is_file():
            with np.load(path) as kept:
                if kept["vectors"].shape[1] == self.dimensions:
                    self._vectors = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector per text."""
        keys = [_key("passage", text) for text in texts]
        missing = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in self._vectors]
        for start in range(0, len(missing), _SAVED_TEXTS):
            batch = missing[start : start + _SAVED_TEXTS]
            found = await self._embedder.embed_documents([text for _, text in batch])
            self._vectors |= zip((key for key, _ in batch), found, strict=True)
            self._added = True
            if len(batch) == _SAVED_TEXTS:
                self.save()
        return [self._vectors[key] for key in keys]

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        """Return the question's vector."""
        key = _key("query", text)
        if key not in self._vectors:
            self._vectors[key] = await self._embedder.embed_query(text, term_weight)
            self._added = True
        return self._vectors[key]

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return a matrix with the vector of each word."""
        vectors: NDArray[np.float32] = self._embedder.word_vectors(words)  # type: ignore[attr-defined]  # e5 has them
        return vectors

    def save(self) -> None:
        """Write the file anew where vectors came in."""
        if self._added:
            np.savez(self._path, keys=list(self._vectors), vectors=np.stack(list(self._vectors.values())))
            self._added = False


def _key(side: str, text: str) -> str:
    return hashlib.sha256(f"{side}\0{text}".encode()).hexdigest()


def is_locked(text: str) -> bool:
    """Return whether a question belongs to the half that nothing is tuned on."""
    return bool(hashlib.sha256(text.encode()).digest()[0] & 1)


def main() -> None:
    """Print a line per collection as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.ranking", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--vectors", type=Path, help="file that keeps vectors")
    options.add_argument("--open", action="store_true", help="the open half")
    options.add_argument("--embedder", choices=["e5-encoder", "e5"], default="e5-encoder", help="its vectors")
    chosen = options.parse_args()
    kept = chosen.vectors or Path(tempfile.gettempdir()) / f"recollect-bench-{chosen.embedder}.npz"
    embedder = KeptVectors(open_embedder(chosen.embedder), kept)
    asyncio.run(_measure(chosen.data, embedder, locked=not chosen.open))


async def _measure(data: Path, embedder: KeptVectors, *, locked: bool) -> None:
    found = await judged_collections(data, embedder, (locked,))
    embedder.save()
    for collection in found:
        values = await measured(collection, embedder, locked=locked)
        if not values:  # its data is absent
            continue
        cells = [f"{name} {100 * value:.1f}" for name, value in zip(collection.measures, values, strict=True)]
        print(f"| {collection.name} | {' | '.join(cells)} |", flush=True)
    embedder.save()


async def measured(collection: JudgedCollection, embedder: Embedder, *, locked: bool) -> list[float]:
    """Return the mean of each measure over one half of the questions."""
    rows = [
        asked.judge(await asked.index.search(await analyze_query(asked.index, embedder, asked.text), asked.request))
        for asked in collection.questions
        if asked.locked == locked
    ]
    return [mean(values) for values in zip(*rows, strict=True)]


async def judged_collections(data: Path, embedder: Embedder, halves: Sequence[bool]) -> list[JudgedCollection]:
    """Return all collections with their open (False) or locked questions."""
    found = []
    if (data / "locomo-dev.json").is_file():
        found += await _locomo(conversations(data / "locomo-dev.json"), embedder)
    groups = [group for group in collections(data) if group[0].name == "Cranfield"]
    for group in groups:
        index = await build_text_index(group[0].texts, embedder)
        asked = [
            JudgedQuestion(index, query.text, _ALL, _graded_judge(query), is_locked(query.text))
            for query in group[0].queries
        ]
        found.append(JudgedCollection("Cranfield", ("nDCG@10",), asked))
    found += [await _passages(data, embedder), await _headings(data, embedder)]
    return [*found, *await _facts(data, embedder, halves)]


def _graded_judge(query: Query) -> Judge:
    return lambda hits: [ndcg(query, [int(hit.id) for hit in hits])]


async def _locomo(talks: Sequence[Conversation], embedder: Embedder) -> list[JudgedCollection]:
    sessions, turns = [await _talk_questions(talks, embedder, by_turn=each) for each in (False, True)]
    measures = tuple(f"within {budget:,}" for budget in BUDGETS)
    return [
        JudgedCollection(name, measures, [replace(each, request=replace(_ALL, kinds=kinds)) for each in asked])
        for name, asked, kinds in (
            ("LoCoMo, hybrid", sessions, _ALL.kinds),
            ("LoCoMo, chunks", sessions, ("chunk",)),
            ("LoCoMo, memories", sessions, ("memory",)),
            ("LoCoMo, hybrid, a document for each turn", turns, _ALL.kinds),
        )
    ]


async def _talk_questions(talks: Sequence[Conversation], embedder: Embedder, *, by_turn: bool) -> list[JudgedQuestion]:
    found: list[JudgedQuestion] = []
    for talk in talks:
        index = (await build_index(talk, extracted(talk), embedder, by_turn=by_turn, dated=True)).index
        asked = (*talk.questions, *talk.adversarial)
        found += [
            JudgedQuestion(index, each.text, _ALL, _evidence_judge(talk, each), is_locked(each.text)) for each in asked
        ]
    return found


def _evidence_judge(talk: Conversation, asked: AnnotatedQuestion) -> Judge:
    def judge(hits: Sequence[Hit]) -> list[float]:
        shares = EvidenceShares()
        shares.add(asked, talk, [hit.text for hit in hits])
        return shares.mean_by_budget()

    return judge


async def _passages(data: Path, embedder: Embedder) -> JudgedCollection:
    questions = []
    for corpus in (corpus for group in corpora(data) for corpus in group if not corpus.whole):
        rows = await build_chunks(corpus, embedder)
        index, by_id = namespace_of(corpus, rows), {row.id: row for row in rows}

        questions += [
            JudgedQuestion(index, text, _ALL, _passage_judge(corpus, places, by_id), is_locked(text))
            for text, places in corpus.questions
        ]
    return JudgedCollection("texts", tuple(f"within {budget:,}" for budget in BUDGETS), questions)


def _passage_judge(corpus: Corpus, places: Sequence[Place], rows: Mapping[str, ChunkRow]) -> Judge:
    return lambda hits: shares_of(corpus, places, [rows[hit.id] for hit in hits])


async def _headings(data: Path, embedder: Embedder) -> JudgedCollection:
    questions = []
    for folder in GUIDES.values():
        sections = guide_sections(data / "languages" / folder)
        if sections:
            index = await build_text_index([body for _, body in sections], embedder)
            questions += [
                JudgedQuestion(index, heading, _ALL, _rank_judge(str(at)), is_locked(heading))
                for at, (heading, _) in enumerate(sections)
            ]
    return JudgedCollection("headings", _RANKS, questions)


_RANKS = ("first", "in three", "in five", "empty")


def _rank_judge(right: str) -> Judge:
    """Judge by the place of the right document."""

    def judge(hits: Sequence[Hit]) -> list[float]:
        documents = list(dict.fromkeys(hit.document.id for hit in hits))
        return [*(right in documents[:depth] for depth in (1, 3, 5)), not documents]

    return judge


def _silence_judge(hits: Sequence[Hit]) -> list[float]:
    return [not hits]


def _doubt_judge(hits: Sequence[Hit]) -> list[float]:
    return [not hits, all(hit.similarity < _DOUBT for hit in hits)]


def _newer_judge(newer: str, older: str) -> Judge:
    def judge(hits: Sequence[Hit]) -> list[float]:
        documents = [hit.document.id for hit in hits]
        return [documents[:1] == [newer], older in documents]

    return judge


async def _facts(data: Path, embedder: Embedder, halves: Sequence[bool]) -> list[JudgedCollection]:
    among: list[JudgedQuestion] = []
    for locked in halves:
        for language, folder in GUIDES.items():
            half = paraphrases(language, locked=locked)
            guide = [body for _, body in guide_sections(data / "languages" / folder)]
            if guide:
                index = await remembered([*(fact for fact, _ in half.facts[:TOGETHER]), *guide], 0, embedder)
                among += _about(index, half, range(TOGETHER), locked=locked)
    return [
        *await _everyday(LANGUAGES, "", embedder, halves),
        *await _everyday(MORE_LANGUAGES, " in ten more languages", embedder, halves),
        JudgedCollection("facts among a guide", _RANKS, among),
        *await _mixed(embedder, halves),
        *await _near("facts of one person", embedder, halves),
        *await _near("texts that say several things", embedder, halves, "several"),
        *await _near("questions of a word or two", embedder, halves, "brief"),
        *await _near("questions whose words are said of others", embedder, halves, "repeated"),
        *await _near("facts of people by name", embedder, halves, "strangers"),
        *await _near("relatives named by two others", embedder, halves, "kin"),
        *[
            each
            for part in (*PARTS, *UNLEARNED_PARTS)
            for each in await _worlds(f"{part} worlds".strip(), embedder, halves, part)
        ],
        *await _changed_lives(embedder),
    ]


async def _changed_lives(embedder: Embedder) -> list[JudgedCollection]:
    """What people said of their lives, all that changed it later, and what changed nothing of it."""
    replaced: list[JudgedQuestion] = []
    kept: list[JudgedQuestion] = []
    for pairs in changed_lives():
        statements = [*(pair.older for pair, _ in pairs), *(pair.newer for pair, _ in pairs)]
        index = await remembered(statements, 0, embedder)
        for at, (pair, locked) in enumerate(pairs):
            older, newer = str(at), str(at + len(pairs))
            judge = _newer_judge(newer, older) if pair.replaces else _newer_judge(older, newer)
            asked = JudgedQuestion(index, pair.question, _DEFAULT, judge, locked)
            (replaced if pair.replaces else kept).append(asked)
    return [
        JudgedCollection("changed lives: statements replaced", ("newer first", "older found"), replaced),
        JudgedCollection("changed lives: statements that still hold", ("first", "other found"), kept),
    ]


async def _worlds(name: str, embedder: Embedder, halves: Sequence[bool], part: str = "") -> list[JudgedCollection]:
    """What people said one after another, and questions of four kinds."""
    answered: list[JudgedQuestion] = []
    replaced: list[JudgedQuestion] = []
    near: list[JudgedQuestion] = []
    foreign: list[JudgedQuestion] = []
    for locked in halves:
        for world in worlds(locked=locked, part=part):
            index = await remembered(world.statements, 0, embedder)
            ask = partial(JudgedQuestion, index, request=_DEFAULT, locked=locked)
            answered += [ask(text=text, judge=_rank_judge(str(at))) for text, at in world.answered]
            replaced += [ask(text=text, judge=_newer_judge(str(new), str(old))) for text, new, old in world.replaced]
            near += [ask(text=text, judge=_doubt_judge) for text in world.near]
            foreign += [ask(text=text, judge=_silence_judge) for text in world.foreign]
    return [
        JudgedCollection(f"{name}: facts", _RANKS, answered),
        JudgedCollection(f"{name}: statements replaced", ("newer first", "older found"), replaced),
        JudgedCollection(f"{name}: questions near them without an answer", ("silent", "below 0.5"), near),
        JudgedCollection(f"{name}: questions about something else", ("silent",), foreign),
    ]


async def _near(name: str, embedder: Embedder, halves: Sequence[bool], part: str = "") -> list[JudgedCollection]:
    """Facts of one person, and questions about the same people and things that no fact answers."""
    own: list[JudgedQuestion] = []
    unanswered: list[JudgedQuestion] = []
    for locked in halves:
        for person in near_questions(locked=locked, part=part):
            index = await remembered(person.facts, 0, embedder)
            own += [JudgedQuestion(index, text, _DEFAULT, _rank_judge(str(at)), locked) for text, at in person.answered]
            unanswered += [JudgedQuestion(index, text, _DEFAULT, _doubt_judge, locked) for text in person.unanswered]
    return [
        JudgedCollection(name, _RANKS, own),
        JudgedCollection(f"{name}: questions near them without an answer", ("silent", "below 0.5"), unanswered),
    ]


async def _mixed(embedder: Embedder, halves: Sequence[bool]) -> list[JudgedCollection]:
    """Facts in several languages in one namespace."""
    own: list[JudgedQuestion] = []
    foreign: list[JudgedQuestion] = []
    for locked in halves:
        facts, others = mixed_facts(locked=locked)
        index = await remembered([fact for fact, _ in facts], 0, embedder)
        own += [
            JudgedQuestion(index, text, _DEFAULT, _rank_judge(str(at)), locked)
            for at, (_, questions) in enumerate(facts)
            for text in questions
        ]
        foreign += [JudgedQuestion(index, text, _DEFAULT, _silence_judge, locked) for text in others]
    return [
        JudgedCollection("facts in mixed languages", _RANKS, own),
        JudgedCollection("questions about something else in mixed languages", ("silent",), foreign),
    ]


async def _everyday(
    languages: Sequence[str], where: str, embedder: Embedder, halves: Sequence[bool]
) -> list[JudgedCollection]:
    """Facts in a namespace of ten, questions about something else, and statements that a later one replaces."""
    own: list[JudgedQuestion] = []
    across: list[JudgedQuestion] = []
    foreign: list[JudgedQuestion] = []
    newer: list[JudgedQuestion] = []
    others: list[JudgedQuestion] = []
    foreign_others: list[JudgedQuestion] = []
    for locked in halves:
        english = paraphrases("en", locked=locked)
        for language in languages:
            half = paraphrases(language, locked=locked)
            for index, start in await _namespaces(half, embedder):
                places = range(start, min(start + TOGETHER, len(half.facts)))
                own += _about(index, half, places, locked=locked)
                across += _about(index, english, places, locked=locked) if language != "en" else []
                foreign += [JudgedQuestion(index, text, _DEFAULT, _silence_judge, locked) for text in half.foreign]
            for own_fact, relative, text in half.others:
                index = await remembered([own_fact, relative], 0, embedder)
                alone = await remembered([relative], 1, embedder)
                others.append(JudgedQuestion(index, text, _DEFAULT, _newer_judge("0", "1"), locked))
                foreign_others.append(JudgedQuestion(alone, text, _DEFAULT, _silence_judge, locked))
            count = len(half.updates)
            index = await remembered(
                [*(one for one, _, _ in half.updates), *(two for _, two, _ in half.updates)], 0, embedder
            )
            newer += [
                JudgedQuestion(index, text, _DEFAULT, _newer_judge(str(at + count), str(at)), locked)
                for at, (_, _, text) in enumerate(half.updates)
            ]
    return [
        JudgedCollection(f"facts{where}", _RANKS, own),
        JudgedCollection(f"facts{where}, asked in English", _RANKS, across),
        JudgedCollection(f"questions about something else{where}", ("silent",), foreign),
        JudgedCollection(f"statements replaced{where}", ("newer first", "older found"), newer),
        JudgedCollection(f"asker's before relative's{where}", ("own first", "relative's found"), others),
        JudgedCollection(f"relative's alone{where}", ("silent",), foreign_others),
    ]


async def _namespaces(half: Paraphrases, embedder: Embedder) -> list[tuple[NamespaceIndex, int]]:
    facts = [fact for fact, _ in half.facts]
    return [
        (await remembered(facts[start : start + TOGETHER], start, embedder), start)
        for start in range(0, len(facts), TOGETHER)
    ]


def _about(index: NamespaceIndex, half: Paraphrases, places: range, *, locked: bool) -> Iterator[JudgedQuestion]:
    return (JudgedQuestion(index, half.facts[at][1], _DEFAULT, _rank_judge(str(at)), locked) for at in places)


async def remembered(texts: Sequence[str], first: int, embedder: Embedder) -> NamespaceIndex:
    """A namespace of documents that came one after another, and the memories that the rules find in them."""
    index = NamespaceIndex(
        document_columns(
            [
                DocumentRow(
                    key=str(key), incarnation="s#0", id=str(key), seq=0, content_seq=0, created_at=time, updated_at=time
                )
                for key, time, _ in _arrivals(texts, first)
            ]
        )
    )
    chunks: list[ChunkRow] = []
    memories: list[MemoryRow] = []
    for key, time, text in _arrivals(texts, first):
        spans = StructuredSplitter().split(text, "text")
        own = [span.text for span in spans]
        vectors = await embedder.embed_documents(own)
        terms = context_expanded_terms(own, [hash_terms(each) for each in own])
        chunks += [
            ChunkRow(
                id=f"{key}/{at}",
                incarnation="s#0",
                document=str(key),
                position=at,
                text=span.text,
                start=span.start,
                end=span.end,
                seq=0,
                created_at=time,
                vector=vectors[at],
                terms=terms[at],
            )
            for at, span in enumerate(spans)
        ]
        facts = extract_facts(text)
        vectors = await embedder.embed_documents([fact.text for fact in facts])
        memories += [
            MemoryRow(
                id=f"{key}/m{at}", incarnation="s#0", text=fact.text, sources=(str(key),), seq=0, created_at=time,
                updated_at=time, vector=vectors[at], terms=hash_terms(fact.text), start=fact.start or 0,
                end=fact.end or 0,
            )
            for at, fact in enumerate(facts)
        ]  # fmt: skip
    index.chunks.add(chunk_columns(chunks))
    index.memories.add(memory_columns(memories))
    return index


def _arrivals(texts: Sequence[str], first: int) -> Iterator[tuple[int, datetime, str]]:
    return ((first + at, _NOW + timedelta(milliseconds=at), text) for at, text in enumerate(texts))


if __name__ == "__main__":
    main()
