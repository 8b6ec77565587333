"""Classification of facts into buckets by similarity to the buckets' descriptions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder
from pipeline.rows import MemoryColumns, NamespaceRow, OrganizationRow, Terms, Vector
from pipeline.text.analyzer import hash_terms

DEFAULT_BUCKETS = {
    "preferences": "What somebody likes, loves, enjoys, prefers, wants, dislikes or hates: favourites, tastes"
}
"""Buckets when neither the namespace nor the organization defines any."""
MIN_BUCKET_SIMILARITY = 0.2
"""Minimum score for a fact to be in a bucket; 0 is as similar as unrelated texts, 1 the same vector."""
MAX_SCORE_GAP = 0.1
"""Maximum distance to the best bucket's score for a fact to be in another one too."""
SHARED_TERM_BONUS = 0.12
"""Score bonus for each term that a fact shares with a bucket's name and description."""
_PHRASES = re.compile(r"[,;:.()]|\band\b|\bor\b")
_UNRELATED_PAIRS = (
    ("The museum closes at six.", "Payroll, invoices and taxes"),
    ("It rained all weekend.", "Programming languages and tools"),
    ("The printer on the second floor is broken.", "Birthdays and relatives"),
    ("The team won three games in a row.", "Prescriptions and symptoms"),
    ("The train to Vienna leaves at nine.", "Recipes and restaurants"),
    ("The river flooded the valley.", "Interviews and promotions"),
)
"""Unrelated pairs of texts, whose mean cosine is the embedder's baseline."""


def effective_buckets(namespace: NamespaceRow, organization: OrganizationRow) -> dict[str, str]:
    """Return the buckets in force: the organization's override the namespace's; the default without any."""
    return {**namespace.buckets, **organization.buckets} or dict(DEFAULT_BUCKETS)


@dataclass(frozen=True, slots=True)
class BucketClassifier:
    """Buckets prepared to classify facts.

    Shapes: `bucket_vectors` (buckets, dimensions), `phrase_vectors` (phrases, dimensions), `phrase_offsets`
    (buckets,) with the first phrase of each, `vocabulary` the sorted terms of all descriptions,
    `term_in_bucket` (terms, buckets).
    """

    names: tuple[str, ...]
    bucket_vectors: NDArray[np.float32]
    phrase_vectors: NDArray[np.float32]
    phrase_offsets: NDArray[np.intp]
    vocabulary: NDArray[np.uint32]
    term_in_bucket: NDArray[np.float32]
    baseline_similarity: float

    def classify(self, vectors: NDArray[np.float32], shared_term_counts: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the membership of facts in buckets, shape (facts, buckets).

        `shared_term_counts`: terms that each fact shares with each bucket, same shape.
        """
        if not self.names:
            return np.zeros((len(vectors), 0), np.bool_)
        cosines = (
            vectors @ self.bucket_vectors.T + _max_per_bucket(vectors @ self.phrase_vectors.T, self.phrase_offsets)
        ) / 2
        # Cosines of some models lie in a narrow range above a high baseline: stretch it.
        similarity = (cosines - self.baseline_similarity) / (1 - max(self.baseline_similarity, 0.0))
        score = similarity + SHARED_TERM_BONUS * shared_term_counts
        best = score.max(axis=1, keepdims=True)
        membership: NDArray[np.bool_] = (score >= MIN_BUCKET_SIMILARITY) & (score >= best - MAX_SCORE_GAP)
        return membership

    def classify_columns(self, columns: MemoryColumns) -> NDArray[np.bool_]:
        """Classify memories in columns."""
        return self.classify(columns.vectors, self._count_shared_terms(columns.terms, columns.term_offsets))

    def classify_facts(self, vectors: Sequence[Vector], terms: Sequence[Terms]) -> NDArray[np.bool_]:
        """Classify facts by their vectors and terms."""
        if not vectors:
            return np.zeros((0, len(self.names)), np.bool_)
        offsets = np.cumsum([0, *map(len, terms)])
        return self.classify(np.stack(vectors), self._count_shared_terms(np.concatenate(terms), offsets))

    def _count_shared_terms(self, terms: Terms, offsets: NDArray[np.int64]) -> NDArray[np.float32]:
        """Count the distinct terms that each row shares with each bucket."""
        shared = np.zeros((len(offsets) - 1, len(self.names)), np.float32)
        if not len(self.vocabulary) or not len(terms):
            return shared
        term_positions = np.searchsorted(self.vocabulary, terms)
        term_positions[term_positions == len(self.vocabulary)] = 0
        matching = np.flatnonzero(self.vocabulary[term_positions] == terms)
        rows = np.searchsorted(offsets, matching, side="right") - 1
        pairs = np.unique(rows * len(self.vocabulary) + term_positions[matching])
        rows, term_positions = np.divmod(pairs, len(self.vocabulary))
        np.add.at(shared, rows, self.term_in_bucket[term_positions])
        return shared


NO_BUCKETS = BucketClassifier(
    names=(),
    bucket_vectors=np.zeros((0, 0), np.float32),
    phrase_vectors=np.zeros((0, 0), np.float32),
    phrase_offsets=np.zeros(0, np.intp),
    vocabulary=np.zeros(0, np.uint32),
    term_in_bucket=np.zeros((0, 0), np.float32),
    baseline_similarity=0.0,
)
"""Classifier without any bucket."""


async def build_classifier(embedder: Embedder, definitions: Mapping[str, str]) -> BucketClassifier:
    """Build a classifier for buckets by name and description."""
    texts = [f"{_bucket_name_words(name)}. {text}" for name, text in definitions.items()]
    phrases = [[phrase.strip() for phrase in _PHRASES.split(text) if phrase.strip()] or [text] for text in texts]
    unrelated_texts = [text for pair in _UNRELATED_PAIRS for text in pair]
    all_phrases = [phrase for bucket_phrases in phrases for phrase in bucket_phrases]
    vectors = np.stack(await embedder.embed_documents([*texts, *all_phrases, *unrelated_texts])).astype(np.float32)
    phrase_offsets = np.cumsum([0, *map(len, phrases)])[:-1]
    terms = [np.unique(hash_terms(text)) for text in texts]
    vocabulary = np.unique(np.concatenate([*terms, np.zeros(0, np.uint32)])).astype(np.uint32)
    return BucketClassifier(
        names=tuple(definitions),
        bucket_vectors=vectors[: len(texts)],
        phrase_vectors=vectors[len(texts) : len(texts) + len(all_phrases)],
        phrase_offsets=phrase_offsets,
        vocabulary=vocabulary,
        term_in_bucket=np.stack([np.isin(vocabulary, text_terms) for text_terms in terms], axis=1).astype(np.float32)
        if terms
        else np.zeros((0, 0), np.float32),
        baseline_similarity=_baseline_similarity(vectors[len(texts) + len(all_phrases) :]),
    )


def _max_per_bucket(similarities: NDArray[np.float32], phrase_offsets: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return each fact's highest similarity to a phrase of each bucket."""
    highest: NDArray[np.float32] = np.maximum.reduceat(similarities, phrase_offsets, axis=1)
    return highest


def _baseline_similarity(unrelated_vectors: NDArray[np.float32]) -> float:
    """Return the mean cosine of the unrelated pairs."""
    return float(np.mean(np.sum(unrelated_vectors[0::2] * unrelated_vectors[1::2], axis=1)))


def _bucket_name_words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
