"""`python -m bench.rewriting`: what each step of `rewriteQuery` brings, plain beside rewritten.

LoCoMo, Chroma's texts and Cranfield, not shipped, as `bench.ablation` and `bench.recall` ask them; `--data`
names their folder. Then the same questions as people put them, by the rules below: wrapped in politeness, two
in one, with a letter wrong in a name; and a diary of made-up days, asked about "last Friday".
"""

import argparse
import asyncio
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from api.queries import search
from bench.ablation import changed
from bench.answers import BUDGETS, LIMIT, Found
from bench.chunking import AS_IT_IS, Corpus, Place, corpora, made, namespace_of, shares_of
from bench.memory.conversations import Asked, Conversation, conversations
from bench.memory.coverage import extracted
from bench.memory.finding import corpus
from bench.recall import DATA, filled, ndcg
from bench.relevance import Collection, Query, collections
from pipeline.index.asking import ask
from pipeline.index.hits import Hit
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.scoring import Question
from pipeline.inference import open_embedder
from pipeline.memory.dates import Dated
from pipeline.ports import Embedder
from pipeline.rows import ChunkRow
from schemas.http.search import SearchBody

TODAY = date(2024, 5, 15)
"""A Wednesday, on which everything here is asked."""
WRAPPINGS = (
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
JOININGS = ("{}? And {}?", "{}, and {}?", "{}? Also, {}?", "{} and {}?")
_DISHES = ("lasagne", "dumplings", "pancakes", "risotto", "goulash", "paella", "curry", "ramen")
_PLACES = ("library", "harbour", "museum", "market", "stadium", "forest", "theatre", "bakery")
_FRIENDS = ("Ann", "Bob", "Carol", "Dave", "Eve", "Frank", "Grace", "Henry")
_DIARY_DAYS = 120
_SAID = ("What did I cook {}", "Whom did I meet {}", "Where was I {}")
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
_SEEN = ("Today is 13 March 2024. {}", "As of 13 March 2024, {}", "It's 2024-03-13: {}")
_SEEN_WHEN = (
    ("yesterday", "2024-03-12", "2024-03-12"),
    ("last Friday", "2024-03-08", "2024-03-08"),
    ("last week", "2024-03-04", "2024-03-10"),
    ("last weekend", "2024-03-09", "2024-03-10"),
    ("two weeks ago", "2024-02-26", "2024-03-03"),
    ("last month", "2024-02-01", "2024-02-29"),
)

_COLLECTIONS = 5
_HOME = "api.queries.rewriting"
Judge = Callable[[Sequence[Hit]], Sequence[float]]


@dataclass(frozen=True)
class Put:
    """A question as it is put to a namespace, and what its results are worth."""

    index: NamespaceIndex
    text: str
    judge: Judge


@dataclass(frozen=True)
class Questions:
    """Questions of a kind, what is measured of each, and the step of rewriting that they are there for."""

    names: Sequence[str]
    asked: Sequence[Put]
    step: str


async def _undated(index: NamespaceIndex, embedder: Embedder, text: str, _: date) -> Question:
    return await ask(index, embedder, text)


async def _unchanged(_: NamespaceIndex, question: Question, *__: Any) -> Question:
    return question


async def _unread(_: NamespaceIndex, text: str, *__: Any) -> str:
    return text


STEPS: Mapping[str, Mapping[str, Any]] = {
    "wrappings": {f"{_HOME}.rewritten": lambda query: query},
    "parts": {f"{_HOME}.parts": lambda _: []},
    "names": {f"{_HOME}.spelled": _unread},
    "dates": {
        f"{_HOME}.seen_from": lambda query, today: (query, today),
        f"{_HOME}.dated": lambda text, _: Dated(text),
        f"{_HOME}.ask": _undated,
    },
    "other words": {f"{_HOME}.widened": _unchanged},
}
"""By step the names in modules that stand for it, and what makes it nothing."""


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.rewriting", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    data = options.parse_args().data
    if len(collections(data)) + len(corpora(data)) < _COLLECTIONS:
        print("There is nothing to measure without all of them.")
        return
    asyncio.run(_measure(data))


async def _measure(data: Path) -> None:
    print("| questions | asked | plain | rewritten | without | |\n|---|---:|---:|---:|---:|---|")
    for one in await sets(data):
        plain, rewritten = [await measured(one, rewrite=rewrite) for rewrite in (False, True)]
        with changed(STEPS[one.step]):
            without = await measured(one, rewrite=True)
        for name, *values in zip(one.names, plain, rewritten, without, strict=True):
            shown = " | ".join(f"{100 * value:.1f}" for value in values)
            print(f"| {name} | {len(one.asked)} | {shown} | {one.step} |", flush=True)


async def _spoken(talks: Sequence[Conversation]) -> list[Questions]:
    embedder, draw = open_embedder("wordllama"), random.Random(0)
    plain: list[Put] = []
    wrapped: list[Put] = []
    two: list[Put] = []
    when: list[Put] = []
    wrong: list[Put] = []
    for one in talks:
        index = (await corpus(one, extracted(one), embedder, by_turn=False, dated=True)).index
        for at, asked in enumerate([*one.questions, *one.adversarial]):
            judge = _proven(asked, one)
            plain.append(Put(index, asked.text, judge))
            wrapped.append(Put(index, _wrapped(asked.text, at), judge))
            if (text := _mistyped(asked.text, one.speakers, draw)) is not None:
                wrong.append(Put(index, text, judge))
            if asked.text.startswith("When did "):
                bare = asked.text.removeprefix("When did ").rstrip(" ?")
                when.append(Put(index, f"{('Why', 'How')[at % 2]} did {bare}, and when?", judge))
        for at, (first, second) in enumerate(pairwise(one.questions)):
            both = Asked("", first.turns | second.turns, first.category)
            two.append(Put(index, _joined(first.text, second.text, at, one.speakers), _proven(both, one)))
    return [
        Questions(_budgets("LoCoMo"), plain, "other words"),
        Questions(_budgets("LoCoMo, wrapped"), wrapped, "wrappings"),
        Questions(_budgets("LoCoMo, two in one"), two, "parts"),
        Questions(_budgets('LoCoMo, "how …, and when?"'), when, "parts"),
        Questions(_budgets("LoCoMo, mistyped names"), wrong, "names"),
    ]


def _budgets(name: str) -> list[str]:
    return [f"{name}, within {budget:,} tokens" for budget in BUDGETS]


def _proven(asked: Asked, one: Conversation) -> Judge:
    def judge(hits: Sequence[Hit]) -> list[float]:
        found = Found()
        found.add(asked, one, [hit.text for hit in hits])
        return found.every()

    return judge


def _wrapped(text: str, at: int) -> str:
    bare = text.strip().rstrip("?").rstrip()
    wrapping = WRAPPINGS[at % len(WRAPPINGS)]
    return wrapping.format(bare if wrapping.startswith("{}") or ". {}" in wrapping else _lower(bare))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _joined(first: str, second: str, at: int, speakers: Sequence[str]) -> str:
    """The second says "they" of whom the first names."""
    for name in speakers:
        if name in first and name in second:
            second = re.sub(rf"\b{name}\b", "they", second.replace(f"{name}'s", "their"))
    joining = JOININGS[at % len(JOININGS)]
    return joining.format(first.rstrip(" ?."), _lower(second.rstrip(" ?.")))


def _mistyped(text: str, speakers: Sequence[str], draw: random.Random) -> str | None:
    """In each speaker's name a letter is left out, doubled, changed, or put behind its neighbour."""
    named = [name for name in speakers if name in text]
    for name in named:
        at, how = draw.randrange(1, len(name) - 1), draw.randrange(4)
        one, two = name[at], name[at + 1]
        slip = (two, one * 2 + two, ("e" if one != "e" else "a") + two, two + one)[how]
        text = text.replace(name, name[:at] + slip + name[at + 2 :])
    return text if named else None


async def _diary() -> list[Questions]:
    embedder = open_embedder("wordllama")
    draw = random.Random(1)
    days = [TODAY - timedelta(days=back) for back in range(1, _DIARY_DAYS)]
    texts = [
        f"I cooked {draw.choice(_DISHES)}, met {draw.choice(_FRIENDS)} and was at the {draw.choice(_PLACES)}."
        for _ in days
    ]
    dated = await filled(texts, embedder, [(day.isoformat(), day.isoformat()) for day in days])
    written = [f"{day.day} {day:%B %Y}: {text}" for day, text in zip(days, texts, strict=True)]
    undated = await filled(written, embedder)
    asked = []
    for patterns, times in ((("{}",), _WHEN), (_SEEN, _SEEN_WHEN)):
        puts = []
        for index in (dated, undated):
            for at, (when, first, last) in enumerate(times):
                right = {str(place) for place, day in enumerate(days) if first <= day.isoformat() <= last}
                for said in _SAID:
                    text = patterns[at % len(patterns)].format(said.format(when) + "?")
                    puts.append(Put(index, text, _precise(right)))
        asked.append(puts)
    return [
        Questions(['diary, "last Friday"'], asked[0], "dates"),
        Questions(['diary, "as of 13 March 2024"'], asked[1], "dates"),
    ]


def _precise(right: set[str]) -> Judge:
    """Of as many results as there are right ones, the share that is right."""
    return lambda hits: [mean(hit.id in right for hit in hits[: len(right)])]


async def _texts(some: Sequence[Corpus]) -> Questions:
    embedder, asked = open_embedder("wordllama"), []
    for one in some:
        rows = await made(one, AS_IT_IS, embedder)
        index, by_id = namespace_of(one, rows), {row.id: row for row in rows}
        asked += [Put(index, text, _covering(one, places, by_id)) for text, places in one.questions]
    return Questions(_budgets("texts"), asked, "other words")


def _covering(one: Corpus, places: Sequence[Place], by_id: Mapping[str, ChunkRow]) -> Judge:
    return lambda hits: shares_of(one, places, [by_id[hit.id] for hit in hits])


async def _abstracts(one: Collection) -> list[Questions]:
    index = await filled(one.texts, open_embedder("wordllama"))
    plain = [Put(index, query.text, _graded(query)) for query in one.queries]
    wrapped = [
        Put(index, _wrapped(" ".join(query.text.rstrip(" .").split()), at), _graded(query))
        for at, query in enumerate(one.queries)
    ]
    return [
        Questions(["Cranfield, nDCG@10"], plain, "other words"),
        Questions(["Cranfield, wrapped, nDCG@10"], wrapped, "wrappings"),
    ]


def _graded(query: Query) -> Judge:
    return lambda hits: [ndcg(query, [int(hit.id) for hit in hits])]


async def sets(data: Path) -> list[Questions]:
    """All questions, in the namespaces that they are put to."""
    return [
        *(await _spoken(conversations(data / "locomo-dev.json"))),
        await _texts([one for group in corpora(data) for one in group if not one.whole]),
        *(await _abstracts(collections(data)[-1][0])),
        *(await _diary()),
    ]


async def measured(one: Questions, *, rewrite: bool) -> list[float]:
    """The means of what is measured."""
    models, where = search.Models(open_embedder("wordllama")), search.Asked("s#0", TODAY)
    worth = []
    for put in one.asked:
        asked = {"query": put.text, "limit": LIMIT, "threshold": 0, "rewriteQuery": rewrite}
        found = await search.found_in(put.index, models, SearchBody.model_validate(asked), where)
        worth.append(put.judge(found.hits))
    return [mean(column) for column in zip(*worth, strict=True)]


if __name__ == "__main__":
    main()
