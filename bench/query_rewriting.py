"""`python -m bench.query_rewriting`: what each step of `rewriteQuery` brings, plain beside rewritten.

LoCoMo, Chroma's texts and Cranfield, not shipped, as `bench.ranking` and `bench.recall` ask them; `--data`
names their folder. Then the same questions as people put them, by the rules below: wrapped in politeness, two
in one, with a letter wrong in a name; and a diary of made-up days, asked about "last Friday".
"""

import argparse
import asyncio
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from statistics import mean
from typing import Any

from api.search import search_query
from bench.answers import BUDGETS, LIMIT, EvidenceShares
from bench.memory.conversations import AnnotatedQuestion, Conversation, conversations
from bench.memory.coverage import extracted
from bench.memory.memory_recall import build_index
from bench.passages import Corpus, Place, build_chunks, corpora, namespace_of, shares_of
from bench.recall import DATA, build_text_index, ndcg
from bench.relevance import Collection, Query, collections
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import Hit
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow
from pipeline.text.temporal_expressions import ResolvedText
from schemas.http.v5.search_bodies import SearchBody

TODAY = date(2024, 5, 15)
"""A Wednesday, on which everything here is asked."""
POLITE_TEMPLATES = (
    "Hi, could you please tell me {}? Thanks!",
    "Hello! I was wondering: {}?",
    "Hey, quick question for you: {}? Thank you so much!",
    "Please remind me, {}?",
    "I'd love to know: {}? Please answer briefly.",
    "Good morning, can you help me? I need to find out {}?",
    "Do you happen to remember {}?",
    "I can't remember, {}? Any idea?",
    "Sorry to bother you, but {}? I appreciate your help.",
    "Let me ask you something. {}? Cheers",
)
CONJUNCTION_TEMPLATES = ("{}? And {}?", "{}, and {}?", "{}? Also, {}?", "{} and {}?")
_DISHES = ("lasagne", "dumplings", "pancakes", "risotto", "goulash", "paella", "curry", "ramen")
_PLACES = ("library", "harbour", "museum", "market", "stadium", "forest", "theatre", "bakery")
_FRIENDS = ("Ann", "Bob", "Carol", "Dave", "Eve", "Frank", "Grace", "Henry")
_DIARY_DAYS = 120
_DIARY_QUESTIONS = ("What did I cook {}", "Whom did I meet {}", "Where was I {}")
_WHEN = (
    ("yesterday", "2024-05-14", "2024-05-14"),
    ("the day before yesterday", "2024-05-13", "2024-05-13"),
    ("three days ago", "2024-05-12", "2024-05-12"),
    ("last Monday", "2024-05-13", "2024-05-13"),
    ("last Friday", "2024-05-10", "2024-05-10"),
    ("on Sunday", "2024-05-12", "2024-05-12"),
    ("last week", "2024-05-06", "2024-05-12"),
    ("last weekend", "2024-05-11", "2024-05-12"),
    ("two weeks ago", "2024-04-29", "2024-05-05"),
    ("four weeks ago", "2024-04-15", "2024-04-21"),
    ("last month", "2024-04-01", "2024-04-30"),
    ("two months ago", "2024-03-01", "2024-03-31"),
    ("in March", "2024-03-01", "2024-03-31"),
    ("on 3 April", "2024-04-03", "2024-04-03"),
    ("on March 28th", "2024-03-28", "2024-03-28"),
)
_REFERENCE_DATE_TEMPLATES = ("Today is 13 March 2024. {}", "As of 13 March 2024, {}", "It's 2024-03-13: {}")
_SEEN_WHEN = (
    ("yesterday", "2024-03-12", "2024-03-12"),
    ("last Friday", "2024-03-08", "2024-03-08"),
    ("last week", "2024-03-04", "2024-03-10"),
    ("last weekend", "2024-03-09", "2024-03-10"),
    ("two weeks ago", "2024-02-26", "2024-03-03"),
    ("last month", "2024-02-01", "2024-02-29"),
)

_COLLECTIONS = 5
_HOME = "api.search.query_variants"
Scorer = Callable[[Sequence[Hit]], Sequence[float]]


@dataclass(frozen=True)
class PreparedQuery:
    """A question as it is put to a namespace, and what its results are worth."""

    index: NamespaceIndex
    text: str
    judge: Scorer


@dataclass(frozen=True)
class QuestionSet:
    """Questions of a kind, what is measured of each, and the step of rewriting that they are there for."""

    names: Sequence[str]
    asked: Sequence[PreparedQuery]
    step: str


async def _without_date_parsing(index: NamespaceIndex, embedder: Embedder, text: str, _: date) -> AnalyzedQuery:
    return await analyze_query(index, embedder, text)


async def _without_rewriting(_: NamespaceIndex, question: AnalyzedQuery, *__: Any) -> AnalyzedQuery:
    return question


async def _without_query_analysis(_: NamespaceIndex, text: str, *__: Any) -> str:
    return text


STEPS: Mapping[str, Mapping[str, Any]] = {
    "wrappings": {f"{_HOME}.remove_courtesies": lambda query: query},
    "parts": {f"{_HOME}.decompose_query": lambda _: []},
    "names": {f"{_HOME}.correct_spelling": _without_query_analysis},
    "dates": {
        f"{_HOME}.resolve_reference_date": lambda query, today: (query, today),
        f"{_HOME}.resolve_dates": lambda text, _: ResolvedText(text),
        f"{_HOME}.analyze_query": _without_date_parsing,
    },
    "other words": {f"{_HOME}.expand_query": _without_rewriting},
}
"""Names in modules to replace by rewriting step, with a function that disables the step."""


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.query_rewriting", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    data = options.parse_args().data
    if len(collections(data)) + len(corpora(data)) < _COLLECTIONS:
        print("There is nothing to measure without all of them.")
        return
    asyncio.run(_measure(data))


async def _measure(data: Path) -> None:
    print("| questions | asked | plain | rewritten | without | |\n|---|---:|---:|---:|---:|---|")
    for question_set in await question_sets(data):
        plain, rewritten = [await mean_scores(question_set, rewrite=rewrite) for rewrite in (False, True)]
        with patched_parameters(STEPS[question_set.step]):
            without = await mean_scores(question_set, rewrite=True)
        for name, *values in zip(question_set.names, plain, rewritten, without, strict=True):
            shown = " | ".join(f"{100 * value:.1f}" for value in values)
            print(f"| {name} | {len(question_set.asked)} | {shown} | {question_set.step} |", flush=True)


@contextmanager
def patched_parameters(numbers: Mapping[str, Any]) -> Iterator[None]:
    """Replace these names in modules within the block."""
    homes = [(resolve_name(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in numbers]
    before = [getattr(home, name) for home, name in homes]
    try:
        for (home, name), number in zip(homes, numbers.values(), strict=True):
            setattr(home, name, number)
        yield
    finally:
        for (home, name), number in zip(homes, before, strict=True):
            setattr(home, name, number)


async def _locomo_question_sets(talks: Sequence[Conversation]) -> list[QuestionSet]:
    embedder, draw = open_embedder("wordllama"), random.Random(0)
    plain: list[PreparedQuery] = []
    wrapped: list[PreparedQuery] = []
    two: list[PreparedQuery] = []
    when: list[PreparedQuery] = []
    wrong: list[PreparedQuery] = []
    for talk in talks:
        index = (await build_index(talk, extracted(talk), embedder, by_turn=False, dated=True)).index
        for at, asked in enumerate([*talk.questions, *talk.adversarial]):
            judge = _evidence_scorer(asked, talk)
            plain.append(PreparedQuery(index, asked.text, judge))
            wrapped.append(PreparedQuery(index, _with_politeness(asked.text, at), judge))
            if (text := _with_typos(asked.text, talk.speakers, draw)) is not None:
                wrong.append(PreparedQuery(index, text, judge))
            if asked.text.startswith("When did "):
                bare = asked.text.removeprefix("When did ").rstrip(" ?")
                when.append(PreparedQuery(index, f"{('Why', 'How')[at % 2]} did {bare}, and when?", judge))
        for at, (first, second) in enumerate(pairwise(talk.questions)):
            both = AnnotatedQuestion("", first.turns | second.turns, first.category)
            two.append(
                PreparedQuery(
                    index,
                    _with_conjunction(first.text, second.text, at, talk.speakers),
                    _evidence_scorer(both, talk),
                )
            )
    return [
        QuestionSet(_budgets("LoCoMo"), plain, "other words"),
        QuestionSet(_budgets("LoCoMo, wrapped"), wrapped, "wrappings"),
        QuestionSet(_budgets("LoCoMo, two in one"), two, "parts"),
        QuestionSet(_budgets('LoCoMo, "how …, and when?"'), when, "parts"),
        QuestionSet(_budgets("LoCoMo, mistyped names"), wrong, "names"),
    ]


def _budgets(name: str) -> list[str]:
    return [f"{name}, within {budget:,} tokens" for budget in BUDGETS]


def _evidence_scorer(asked: AnnotatedQuestion, conversation: Conversation) -> Scorer:
    def judge(hits: Sequence[Hit]) -> list[float]:
        found = EvidenceShares()
        found.add(asked, conversation, [hit.text for hit in hits])
        return found.mean_by_budget()

    return judge


def _with_politeness(text: str, at: int) -> str:
    bare = text.strip().rstrip("?").rstrip()
    wrapping = POLITE_TEMPLATES[at % len(POLITE_TEMPLATES)]
    return wrapping.format(bare if wrapping.startswith("{}") or ". {}" in wrapping else _lower(bare))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _with_conjunction(first: str, second: str, at: int, speakers: Sequence[str]) -> str:
    """The second says "they" of whom the first names."""
    for name in speakers:
        if name in first and name in second:
            second = re.sub(rf"\b{name}\b", "they", second.replace(f"{name}'s", "their"))
    joining = CONJUNCTION_TEMPLATES[at % len(CONJUNCTION_TEMPLATES)]
    return joining.format(first.rstrip(" ?."), _lower(second.rstrip(" ?.")))


def _with_typos(text: str, speakers: Sequence[str], draw: random.Random) -> str | None:
    """Misspell each speaker's name: a letter dropped, doubled, replaced, or transposed."""
    named = [name for name in speakers if name in text]
    for name in named:
        at, edit = draw.randrange(1, len(name) - 1), draw.randrange(4)
        first, second = name[at], name[at + 1]
        slip = (second, first * 2 + second, ("e" if first != "e" else "a") + second, second + first)[edit]
        text = text.replace(name, name[:at] + slip + name[at + 2 :])
    return text if named else None


async def _diary_question_sets() -> list[QuestionSet]:
    embedder = open_embedder("wordllama")
    draw = random.Random(1)
    days = [TODAY - timedelta(days=back) for back in range(1, _DIARY_DAYS)]
    texts = [
        f"I cooked {draw.choice(_DISHES)}, met {draw.choice(_FRIENDS)} and was at the {draw.choice(_PLACES)}."
        for _ in days
    ]
    dated = await build_text_index(texts, embedder, [(day.isoformat(), day.isoformat()) for day in days])
    written = [f"{day.day} {day:%B %Y}: {text}" for day, text in zip(days, texts, strict=True)]
    undated = await build_text_index(written, embedder)
    asked = []
    for patterns, times in ((("{}",), _WHEN), (_REFERENCE_DATE_TEMPLATES, _SEEN_WHEN)):
        puts = []
        for index in (dated, undated):
            for at, (when, first, last) in enumerate(times):
                right = {str(place) for place, day in enumerate(days) if first <= day.isoformat() <= last}
                for question in _DIARY_QUESTIONS:
                    text = patterns[at % len(patterns)].format(question.format(when) + "?")
                    puts.append(PreparedQuery(index, text, _r_precision_scorer(right)))
        asked.append(puts)
    return [
        QuestionSet(['diary, "last Friday"'], asked[0], "dates"),
        QuestionSet(['diary, "as of 13 March 2024"'], asked[1], "dates"),
    ]


def _r_precision_scorer(right: set[str]) -> Scorer:
    """Return the precision at the number of correct results."""
    return lambda hits: [mean(hit.id in right for hit in hits[: len(right)])]


async def _texts(group: Sequence[Corpus]) -> QuestionSet:
    embedder, asked = open_embedder("wordllama"), []
    for corpus in group:
        rows = await build_chunks(corpus, embedder)
        index, by_id = namespace_of(corpus, rows), {row.id: row for row in rows}
        asked += [PreparedQuery(index, text, _covering(corpus, places, by_id)) for text, places in corpus.questions]
    return QuestionSet(_budgets("texts"), asked, "other words")


def _covering(corpus: Corpus, places: Sequence[Place], by_id: Mapping[str, ChunkRow]) -> Scorer:
    return lambda hits: shares_of(corpus, places, [by_id[hit.id] for hit in hits])


async def _cranfield_question_sets(collection: Collection) -> list[QuestionSet]:
    index = await build_text_index(collection.texts, open_embedder("wordllama"))
    plain = [PreparedQuery(index, query.text, _graded(query)) for query in collection.queries]
    wrapped = [
        PreparedQuery(index, _with_politeness(" ".join(query.text.rstrip(" .").split()), at), _graded(query))
        for at, query in enumerate(collection.queries)
    ]
    return [
        QuestionSet(["Cranfield, nDCG@10"], plain, "other words"),
        QuestionSet(["Cranfield, wrapped, nDCG@10"], wrapped, "wrappings"),
    ]


def _graded(query: Query) -> Scorer:
    return lambda hits: [ndcg(query, [int(hit.id) for hit in hits])]


async def question_sets(data: Path) -> list[QuestionSet]:
    """All questions, in the namespaces that they are put to."""
    return [
        *(await _locomo_question_sets(conversations(data / "locomo-dev.json"))),
        await _texts([corpus for group in corpora(data) for corpus in group if not corpus.whole]),
        *(await _cranfield_question_sets(collections(data)[-1][0])),
        *(await _diary_question_sets()),
    ]


async def mean_scores(question_set: QuestionSet, *, rewrite: bool) -> list[float]:
    """The means of what is measured."""
    models, where = (
        search_query.SearchModels(open_embedder("wordllama")),
        search_query.SearchContext("s#0", TODAY),
    )
    worth = []
    for put in question_set.asked:
        asked = {"query": put.text, "limit": LIMIT, "threshold": 0, "rewriteQuery": rewrite}
        found = await search_query.search_index(put.index, models, SearchBody.model_validate(asked), where)
        worth.append(put.judge(found.hits))
    return [mean(column) for column in zip(*worth, strict=True)]


if __name__ == "__main__":
    main()
