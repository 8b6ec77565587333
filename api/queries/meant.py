"""Which memories a description means: what forgetting by meaning may take, and nothing that is only alike."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.index.hits import Hit
from pipeline.index.scoring import Question
from pipeline.memory.voice import WRITER
from pipeline.ports import WordVectors
from pipeline.text.terms import is_dense, telling, term_hash, terms, words

MEANT = 1.05
"""The share of the description that a memory has, and their cosine, together: chosen, as the others, on the
open half of `tests/data/forgetting` (docs/benchmarks.md)."""
LEAST = 0.55
"""Of the share, whatever the cosine: one name of two words is half, and brings all that is about it."""
MEANT_BY_WORDS = 0.75
"""The share by itself, without vectors, and in scripts without spaces, where all cosines are high."""
LIKE = 0.3
"""Cosine from which a word stands for another: favorite and favourite have 0.71, car and Volvo 0.26."""
_FIRST = frozenset({"i", "my", "me", "mine"})
_PARTICLES = re.compile("[\u3040-\u309f]+")
"""Hiragana, which most Japanese sentences have in common."""
_OWNED = re.compile(rf"{WRITER}'s (?P<who>.+?) (?:is|was|has|had|\w+s|\w+ed) ")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A term of the description, its weight in the namespace, and the word it is, where it is a whole one."""

    term: str
    weight: float
    word: str | None


def meant(question: Question, query: str, hits: Sequence[Hit], vectors: WordVectors | None) -> list[Hit]:
    """Of these memories those that the query describes, in their order."""
    said = words(query)
    asked = list(_asked(question, said))
    by_words = vectors is None or any(one.word is None for one in asked)
    found = []
    for hit in hits:
        share = _share(asked, hit.text, vectors)
        cosine = 0.0 if by_words else float(np.vecdot(hit.vector, question.vector))
        enough = share >= MEANT_BY_WORDS if by_words else share >= LEAST and share + cosine >= MEANT
        if enough and not (_FIRST.intersection(said) and _is_of_another(hit.text, asked, vectors)):
            found.append(hit)
    return found


def _asked(question: Question, said: Iterable[str]) -> Iterable[_Asked]:
    for word in dict.fromkeys(said):
        for term in terms(word):
            if not _PARTICLES.fullmatch(term):
                weight = question.weights.terms.get(term_hash(term), 0.0)
                yield _Asked(term, weight, None if is_dense(word) else word)


def _share(asked: Sequence[_Asked], text: str, vectors: WordVectors | None) -> float:
    """How much of the description, by weight, the text has in the same or in like words."""
    there = set(terms(text))
    total = sum(one.weight for one in asked)
    had = sum(one.weight for one in asked if one.term in there)
    others = [one for one in asked if one.term not in there and one.word is not None]
    said = telling(words(text))
    if vectors is not None and others and said:
        wanted = vectors.word_vectors([one.word for one in others if one.word is not None])
        likest = np.vecdot(wanted[:, None], vectors.word_vectors(said)[None]).max(axis=1)
        had += sum(
            one.weight * like for one, like in zip(others, likest.tolist(), strict=True) if like >= LIKE
        )
    return had / total if total else 0.0


def _is_of_another(text: str, asked: Sequence[_Asked], vectors: WordVectors | None) -> bool:
    """`User's sister lives in Rome` is not where "I" live: whoever it is about is not in the description."""
    owned = _OWNED.match(text)
    return owned is not None and not _share(asked, owned["who"], vectors)
