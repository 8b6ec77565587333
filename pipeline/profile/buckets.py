"""Which buckets a fact belongs in: how near it is to what they are described as, and by what margin."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder
from pipeline.rows import MemoryColumns, NamespaceRow, OrganizationRow, Terms, Vector
from pipeline.text.terms import hashed

DEFAULT_BUCKETS = {
    "preferences": "What somebody likes, loves, enjoys, prefers, wants, dislikes or hates: favourites, tastes"
}
"""Where neither the namespace nor the organization defines any."""
SIMILAR = 0.2
"""From so much above what strangers have in common a fact is in a bucket."""
MARGIN = 0.1
"""It is in every bucket that is not further behind its best one."""
SHARED_TERM = 0.12
"""For every term that a fact shares with a bucket's name and description."""
_PHRASES = re.compile(r"[,;:.()]|\band\b|\bor\b")
_STRANGERS = (
    ("The museum closes at six.", "Payroll, invoices and taxes"),
    ("It rained all weekend.", "Programming languages and tools"),
    ("The printer on the second floor is broken.", "Birthdays and relatives"),
    ("The team won three games in a row.", "Prescriptions and symptoms"),
    ("The train to Vienna leaves at nine.", "Recipes and restaurants"),
    ("The river flooded the valley.", "Interviews and promotions"),
)
"""Pairs that have nothing to do with each other: their cosine is what this embedder gives for nothing."""


def effective(namespace: NamespaceRow, organization: OrganizationRow) -> dict[str, str]:
    """The buckets that count: the organization's win over the namespace's; without any, the default."""
    return {**namespace.buckets, **organization.buckets} or dict(DEFAULT_BUCKETS)


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets made ready to judge facts. `whole` has a row per bucket, `parts` one per phrase of each."""

    names: tuple[str, ...]
    whole: NDArray[np.float32]
    parts: NDArray[np.float32]
    owners: NDArray[np.intp]
    """Where in `parts` each bucket begins."""
    vocabulary: NDArray[np.uint32]
    """The sorted terms of all descriptions; `meant` says in which buckets each is."""
    meant: NDArray[np.float32]
    nothing: float

    def of(self, vectors: NDArray[np.float32], shared: NDArray[np.float32]) -> NDArray[np.bool_]:
        """For each fact whether it is in each bucket; `shared` counts the terms they have in common."""
        if not self.names:
            return np.zeros((len(vectors), 0), np.bool_)
        near = (vectors @ self.whole.T + _most(vectors @ self.parts.T, self.owners)) / 2 - self.nothing
        score = near + SHARED_TERM * shared
        best = score.max(axis=1, keepdims=True)
        fitting: NDArray[np.bool_] = (score >= SIMILAR) & (score >= best - MARGIN)
        return fitting

    def of_columns(self, columns: MemoryColumns) -> NDArray[np.bool_]:
        """The same for many memories side by side."""
        return self.of(columns.vectors, self._shared(columns.terms, columns.term_offsets))

    def of_facts(self, vectors: Sequence[Vector], terms: Sequence[Terms]) -> NDArray[np.bool_]:
        """The same for facts one by one."""
        if not vectors:
            return np.zeros((0, len(self.names)), np.bool_)
        offsets = np.cumsum([0, *map(len, terms)])
        return self.of(np.stack(vectors), self._shared(np.concatenate(terms), offsets))

    def _shared(self, terms: Terms, offsets: NDArray[np.int64]) -> NDArray[np.float32]:
        """How many different terms each row shares with each bucket."""
        shared = np.zeros((len(offsets) - 1, len(self.names)), np.float32)
        if not len(self.vocabulary) or not len(terms):
            return shared
        places = np.searchsorted(self.vocabulary, terms)
        places[places == len(self.vocabulary)] = 0
        known = np.flatnonzero(self.vocabulary[places] == terms)
        rows = np.searchsorted(offsets, known, side="right") - 1
        pairs = np.unique(rows * len(self.vocabulary) + places[known])
        rows, places = np.divmod(pairs, len(self.vocabulary))
        np.add.at(shared, rows, self.meant[places])
        return shared


async def described(embedder: Embedder, definitions: Mapping[str, str]) -> Buckets:
    """Buckets by name and description, with the vectors that this embedder has for them."""
    texts = [f"{_words(name)}. {text}" for name, text in definitions.items()]
    phrases = [[one.strip() for one in _PHRASES.split(text) if one.strip()] or [text] for text in texts]
    strangers = [text for pair in _STRANGERS for text in pair]
    each = [one for some in phrases for one in some]
    vectors = np.stack(await embedder.documents([*texts, *each, *strangers])).astype(np.float32)
    begins = np.cumsum([0, *map(len, phrases)])[:-1]
    terms = [np.unique(hashed(text)) for text in texts]
    vocabulary = np.unique(np.concatenate([*terms, np.zeros(0, np.uint32)])).astype(np.uint32)
    return Buckets(
        names=tuple(definitions),
        whole=vectors[: len(texts)],
        parts=vectors[len(texts) : len(texts) + len(each)],
        owners=begins,
        vocabulary=vocabulary,
        meant=np.stack([np.isin(vocabulary, one) for one in terms], axis=1).astype(np.float32)
        if terms
        else np.zeros((0, 0), np.float32),
        nothing=_nothing(vectors[len(texts) + len(each) :]),
    )


def _most(near: NDArray[np.float32], begins: NDArray[np.intp]) -> NDArray[np.float32]:
    """The nearest phrase of each bucket."""
    most: NDArray[np.float32] = np.maximum.reduceat(near, begins, axis=1)
    return most


def _nothing(strangers: NDArray[np.float32]) -> float:
    """The mean cosine of the pairs that have nothing to do with each other."""
    return float(np.mean(np.sum(strangers[0::2] * strangers[1::2], axis=1)))


def _words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
