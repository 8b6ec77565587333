"""A second look at the best results: a stronger order, and one result where several say the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pipeline.index.finding import ranked
from pipeline.index.hits import Hit
from pipeline.index.parts import Parts, ScorePart
from pipeline.index.scoring import Question
from pipeline.ports import WordVectors
from pipeline.text.terms import hashed, telling, term_hashes, words

# Fitted on every second question of four LoCoMo conversations, the first fifty passages of each: evidence
# within 720 tokens 86.9 -> 87.5 %, MRR 63.5 -> 65.1. Words in common count less than in the first score:
# comparing word by word counts them again. `_USUAL` is what a borderline result gains, so that the threshold
# means the same as without reranking.
_MEANING, _NEARNESS, _COMMON, _USUAL = 4.0, 2.0, -3.0, 0.3
_USUAL_ALONE = 0.2
_ALIKE = 4.0
_TOGETHER = 800
"""How much the scores of neighbours that become one may differ, and how many characters the one may have: on
LoCoMo ten results then hold 90.0 % of the evidence, and 85.0 % without."""
_SAME_MEMORY = 0.95
"""Cosine from which two memories say the same; so do they when all words of one are among the other's."""
_NEGATIONS = frozenset({"not", "no", "never", "nor", "without", "t"})


def reordered(question: Question, query: str, hits: Sequence[Hit], vectors: WordVectors | None) -> list[Hit]:
    """Scored again by how near the query's words stand in the text and, with word vectors, by likeness."""
    asked = telling(words(query))
    if not asked or not hits:
        return list(hits)
    texts = [_Text.of(hit.text) for hit in hits]
    gains: dict[ScorePart, NDArray[np.float64]] = {"nearness": _NEARNESS * _nearness(question, query, texts)}
    if vectors is None:
        gains["usual"] = np.full(len(hits), -_USUAL_ALONE)
    else:
        gains["likeness"] = _MEANING * _likeness(question, asked, texts, vectors)
        gains["common"] = _COMMON * _common(question, texts)
        gains["usual"] = np.full(len(hits), -_USUAL)
    again = [
        _scored(question, hit, {name: float(gain[at]) for name, gain in gains.items()})
        for at, hit in enumerate(hits)
    ]
    return _ranked(again)


def handed_out(
    question: Question, hits: Sequence[Hit], order: Sequence[int], part: ScorePart = "endpoint"
) -> list[Hit]:
    """The same results in an order that somebody else gave; the scores stay, and go to whom they belong now.

    So a threshold means what it meant, whatever scale the other one has. `part`: whose order it is.
    """
    return [
        _scored(question, hits[at], {part: before.raw - hits[at].raw})
        for before, at in zip(hits, order, strict=True)
    ]


def aggregated(hits: Sequence[Hit]) -> list[Hit]:
    """Passages that touch and answer alike become one; of memories that say the same the best stays.

    So does a passage alone where a memory only says again what stands in it.
    """
    merged = _ranked(_passages([hit for hit in hits if hit.kind == "chunk"]))
    kept = _distinct([hit for hit in hits if hit.kind == "memory"], merged)
    return _ranked([*merged, *kept])


def _ranked(hits: Sequence[Hit]) -> list[Hit]:
    return ranked(hits, len(hits))


@dataclass(frozen=True, slots=True)
class _Text:
    """The terms of a text in order, and its distinct words that say something."""

    terms: list[int]
    words: list[str]

    @classmethod
    def of(cls, text: str) -> "_Text":
        found = words(text)
        return cls([term for word in found for term in term_hashes(word)], telling(found))


def _scored(question: Question, hit: Hit, gains: Parts) -> Hit:
    raw = hit.raw + sum(gains.values())
    gave = None if hit.gave is None else {**hit.gave, **gains}
    return replace(hit, raw=raw, similarity=round(question.scale.similarity(raw), 4), gave=gave)


def _common(question: Question, texts: Sequence[_Text]) -> NDArray[np.float64]:
    """The share of the query's weight whose words the text has."""
    weights, total = question.weights.terms, question.weights.total or 1.0
    return np.array(
        [sum(weights[term] for term in weights.keys() & set(text.terms)) / total for text in texts]
    )


def _nearness(question: Question, query: str, texts: Sequence[_Text]) -> NDArray[np.float64]:
    """How close together the text has what stands side by side in the query; 1: side by side as well."""
    weights = question.weights.terms
    pairs = [
        (one, other, weights[one] + weights[other])
        for one, other in pairwise(hashed(query).tolist())
        if one != other and one in weights and other in weights
    ]
    total = sum(weight for _, _, weight in pairs)
    if not total:
        return np.zeros(len(texts))
    return np.array([_closeness(pairs, text.terms) / total for text in texts])


def _closeness(pairs: Sequence[tuple[int, int, float]], terms: Sequence[int]) -> float:
    places: dict[int, list[int]] = {}
    for at, term in enumerate(terms):
        places.setdefault(term, []).append(at)
    return sum(
        weight / min(abs(left - right) for left in places[one] for right in places[other])
        for one, other, weight in pairs
        if one in places and other in places
    )


def _likeness(
    question: Question, asked: Sequence[str], texts: Sequence[_Text], vectors: WordVectors
) -> NDArray[np.float64]:
    """For each word of the query the cosine of the likest word of the text, by weight."""
    every = {word: at for at, word in enumerate(dict.fromkeys(word for text in texts for word in text.words))}
    if not every:
        return np.zeros(len(texts))
    # Pair by pair: a product of matrices would call in threads that take longer to wake than this takes.
    likeness = np.vecdot(vectors.word_vectors(asked)[:, None], vectors.word_vectors(list(every))[None])
    weights = np.array([question.weights.word(word) for word in asked])
    weights /= weights.sum() or 1.0
    likest = np.zeros((len(texts), len(asked)))
    for at, text in enumerate(texts):
        if text.words:
            likest[at] = likeness[:, [every[word] for word in text.words]].max(axis=1)
    scores: NDArray[np.float64] = likest @ weights
    return scores


def _passages(hits: Sequence[Hit]) -> list[Hit]:
    merged: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.document.key, hit.position)):
        if merged and _touch(merged[-1], hit):
            merged[-1] = _joined(merged[-1], hit)
        else:
            merged.append(hit)
    return merged


def _touch(one: Hit, other: Hit) -> bool:
    """Overlapping, or neighbours that answer alike: the weaker must not push away what answers better."""
    if one.document.key != other.document.key:
        return False
    alike = abs(one.raw - other.raw) <= _ALIKE and other.end - one.start <= _TOGETHER
    return other.start < one.end or (alike and other.position <= one.position + 1)


def _joined(one: Hit, other: Hit) -> Hit:
    """One passage with the id and score of the better; what both have stands there once."""
    overlap = one.end - other.start
    if overlap >= len(other.text):
        text = one.text
    else:
        text = one.text + (other.text[overlap:] if overlap >= 0 else "\n" + other.text)
    best = max(one, other, key=lambda hit: hit.raw)
    return replace(best, text=text, start=one.start, end=max(one.end, other.end), position=other.position)


@dataclass(frozen=True, slots=True)
class _Saying:
    """What a memory says, as far as that can be told from its words."""

    hit: Hit
    terms: frozenset[int]
    details: frozenset[str]
    """Negations and numbers: where they differ, nothing else makes two memories the same."""

    @classmethod
    def of(cls, hit: Hit) -> "_Saying":
        found = words(hit.text)
        details = frozenset(word for word in found if word in _NEGATIONS or word.isdigit())
        return cls(hit, frozenset(term for word in found for term in term_hashes(word)), details)

    def repeats(self, other: "_Saying") -> bool:
        """Whether the other one says all of it."""
        if self.details != other.details:
            return False
        within = bool(self.terms) and self.terms <= other.terms
        return within or float(self.hit.vector @ other.hit.vector) >= _SAME_MEMORY

    def stands_in(self, passage: "_Saying") -> bool:
        """Whether a passage of its document that answers better has all of its words."""
        same = self.hit.document.key == passage.hit.document.key and passage.hit.raw >= self.hit.raw
        return same and bool(self.terms) and self.terms <= passage.terms and self.details <= passage.details


def _distinct(hits: Sequence[Hit], passages: Sequence[Hit]) -> list[Hit]:
    kept: list[_Saying] = []
    better = [_Saying.of(passage) for passage in passages]
    for saying in map(_Saying.of, hits):
        if not any(saying.repeats(other) for other in kept) and not any(map(saying.stands_in, better)):
            kept.append(saying)
    return [saying.hit for saying in kept]
