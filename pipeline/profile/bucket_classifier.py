"""Classification of facts into buckets by similarity to the buckets' descriptions."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.calibration import DescribedTopics, calibration_for
from pipeline.ports import Embedder
from pipeline.profile.topic_vectors import TopicVectors, topic_vectors
from pipeline.rows import MemoryColumns, NamespaceRow, OrganizationRow, Terms, Vector
from pipeline.text.analyzer import hash_terms
from pipeline.text.english_verbs import word_set
from pipeline.vector_classifier import center_vectors

DEFAULT_BUCKETS = {
    "preferences": "What somebody likes, loves, enjoys, prefers, wants, dislikes or hates: favourites, tastes"
}
"""Buckets when neither the namespace nor the organization defines any."""
DESCRIPTION_WEIGHT = 0.6
"""Weight of a description's own vector beside the example facts of the topics that it resembles."""
TOPIC_TEMPERATURE = 0.1
"""Temperature of a description's weights of topics: lower takes fewer topics."""
MIN_CLAIMED_WEIGHT = 0.12
"""Weight from which a topic belongs to a bucket; the others compete with it."""
BACKGROUND_WEIGHT = 0.2
"""Weight of the nearest unclaimed topic, subtracted from a fact's similarity to a bucket."""
MIN_MARGIN = 0.01
"""Minimum similarity above that background for a fact to be in a bucket."""
MAX_SCORE_GAP = 0.02
"""Maximum distance to the best bucket's score for a fact to be in another one too."""
SHARED_TERM_BONUS = 0.05
"""Score bonus for each term that a fact shares with a bucket's name and description."""
TOPIC_WEIGHT = 1.6
"""Weight of the probability that a fact tells a topic of life that a description names, where topics were learned."""
USUAL_PROBABILITY = 0.075
"""The probability that counts neither for nor against a bucket."""
_PHRASES = re.compile(r"[,;:.()]|\band\b|\bor\b")
_FRAME_WORDS = word_set(
    "user users the a an of about on for to with from by at in into is are was be been has have had do does did "
    "done what who whom whose where when which how why that this these those it its their they them his her he she "
    "my your fact facts information info detail details everything anything something whatever whenever statement "
    "statements memory memories thing things any all every relates relate related relating regarding regards "
    "concerns concerning concern such as eg e g example examples like including includes include use bucket section "
    "category here put store remember keep contain contains should must if mentions mention says say tells tell "
    "told mentioned person people somebody someone anybody one there "
)
"""Words of a description that say nothing of what belongs into the bucket."""


def effective_buckets(namespace: NamespaceRow, organization: OrganizationRow) -> dict[str, str]:
    """Return the buckets in force: the organization's override the namespace's; the default without any."""
    return {**namespace.buckets, **organization.buckets} or dict(DEFAULT_BUCKETS)


@dataclass(frozen=True, slots=True)
class BucketClassifier:
    """Buckets prepared to classify facts.

    Shapes: `bucket_vectors` (buckets, dimensions), `background_vectors` (topics, dimensions), `fact_mean`
    (dimensions,), `vocabulary` the sorted terms of all descriptions, `term_in_bucket` (terms, buckets).
    """

    names: tuple[str, ...]
    bucket_vectors: NDArray[np.float32]
    background_vectors: NDArray[np.float32]
    fact_mean: NDArray[np.float32]
    vocabulary: NDArray[np.uint32]
    term_in_bucket: NDArray[np.float32]
    life_topics: DescribedTopics | None = None
    """What the descriptions name of somebody's life; None for an embedder for which it was not learned."""

    def classify(self, vectors: NDArray[np.float32], shared_term_counts: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the membership of facts in buckets, shape (facts, buckets).

        `shared_term_counts`: terms that each fact shares with each bucket, same shape.
        """
        if not self.names:
            return np.zeros((len(vectors), 0), np.bool_)
        facts = center_vectors(vectors, self.fact_mean)
        background = (facts @ self.background_vectors.T).max(axis=1, initial=0.0)
        similarity = facts @ self.bucket_vectors.T - BACKGROUND_WEIGHT * background[:, None]
        score = similarity + SHARED_TERM_BONUS * shared_term_counts
        if self.life_topics is not None:
            score += TOPIC_WEIGHT * (self.life_topics.told_by(vectors) - USUAL_PROBABILITY)
        best = score.max(axis=1, keepdims=True)
        membership: NDArray[np.bool_] = (score >= MIN_MARGIN) & (score >= best - MAX_SCORE_GAP)
        return membership

    def classify_columns(self, columns: MemoryColumns, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Like `classify`; `vectors`: those of the columns, unpacked."""
        return self.classify(vectors, self._count_shared_terms(columns.terms, columns.term_offsets))

    def classify_facts(self, vectors: Sequence[Vector], terms: Sequence[Terms]) -> NDArray[np.bool_]:
        if not vectors:
            return np.zeros((0, len(self.names)), np.bool_)
        offsets = np.cumsum([0, *map(len, terms)])
        return self.classify(np.stack(vectors), self._count_shared_terms(np.concatenate(terms), offsets))

    def _count_shared_terms(self, terms: Terms, offsets: NDArray[np.int64]) -> NDArray[np.float32]:
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
    background_vectors=np.zeros((0, 0), np.float32),
    fact_mean=np.zeros(0, np.float32),
    vocabulary=np.zeros(0, np.uint32),
    term_in_bucket=np.zeros((0, 0), np.float32),
)
"""Classifier without any bucket."""


async def build_classifier(
    embedder: Embedder, definitions: Mapping[str, str], topics: TopicVectors | None = None
) -> BucketClassifier:
    """Build a classifier for buckets by name and description; `topics` are looked up if not given."""
    if not definitions:
        return NO_BUCKETS
    topics = topics or await topic_vectors(embedder)
    texts = [describe_bucket(name, description) for name, description in definitions.items()]
    vectors = np.stack(await asyncio.gather(*map(embedder.embed_query, texts)))
    own = center_vectors(vectors, topics.description_mean)
    weights = np.exp(own @ topics.descriptions.T / TOPIC_TEMPERATURE)
    weights /= weights.sum(axis=1, keepdims=True)
    zero = np.zeros_like(topics.example_mean)
    unclaimed = weights.max(axis=0) < MIN_CLAIMED_WEIGHT
    terms = [np.unique(hash_terms(text)) for text in texts]
    vocabulary = np.unique(np.concatenate([*terms, np.zeros(0, np.uint32)])).astype(np.uint32)
    return BucketClassifier(
        names=tuple(definitions),
        bucket_vectors=_mixed(own, center_vectors(weights @ topics.examples, zero)),
        background_vectors=_mixed(topics.descriptions, topics.examples)[unclaimed],
        fact_mean=topics.example_mean,
        vocabulary=vocabulary,
        term_in_bucket=np.stack([np.isin(vocabulary, text_terms) for text_terms in terms], axis=1).astype(np.float32),
        life_topics=calibration_for(embedder.name).described_topics(vectors),
    )


def describe_bucket(name: str, description: str) -> str:
    """Return a bucket's name and the words of its description that say what belongs there.

    >>> describe_bucket("work", "Facts about the user's job, and what the user does at work")
    'work: job, work'
    """
    phrases = (
        " ".join(word for word in re.findall(r"[\w-]+", phrase.replace("'s", "")) if word.lower() not in _FRAME_WORDS)
        for phrase in _PHRASES.split(description)
    )
    words = ", ".join(filter(None, phrases))
    title = name.replace("-", " ").replace("_", " ")
    return f"{title}: {words}" if words else title


def _mixed(descriptions: NDArray[np.float32], examples: NDArray[np.float32]) -> NDArray[np.float32]:
    mixed = DESCRIPTION_WEIGHT * descriptions + (1 - DESCRIPTION_WEIGHT) * examples
    return center_vectors(mixed, np.zeros(mixed.shape[1], np.float32))
