"""Selection of the memories that a description means, strict enough to delete them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from api.search.described_people import MeantPeople
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import Hit
from pipeline.memory.languages.english import fact_kinds
from pipeline.memory.languages.profiles import words_of_all
from pipeline.memory.outlines.readings import outline
from pipeline.ports import WordVectors
from pipeline.text.analyzer import content_words, detect_language, is_unspaced_script, term_hash, terms, words
from pipeline.text.english_verbs import word_set
from pipeline.text.statement_words import names_asker

MIN_COMBINED_SCORE = 1.05
"""The share of the description that a memory has, and their cosine, together: chosen, as the others, on the
open half of `tests/data/forgetting` (docs/benchmarks.md)."""
MIN_TERM_SHARE = 0.55
"""Minimum term share at any cosine: half is too little, because one name of two words has it."""
MIN_TERM_SHARE_WITHOUT_VECTORS = 0.75
"""The share by itself, without vectors, and in scripts without spaces, where all cosines are high."""
MIN_SIMILARITY, MIN_SIMILARITY_UNSPACED = 0.9, 0.95
"""Similarity from which a memory is meant whatever its words."""
MIN_TOPIC_PROBABILITY = 0.5
"""Where the description names a topic of life, the probability from which a memory is held to tell it."""
MAX_SCORE_GAP, MAX_COSINE_GAP = 2.0, 0.06
"""Greatest distance from the best memory: of raw scores, and of cosines where a topic is named."""
MIN_COSINE = 0.35
MIN_COSINE_LEAD = 0.2
MIN_COMPARED = 8
"""With vectors of sentences a memory is meant as well from this cosine without the common part, if it is so much
higher than that of every other memory, among at least so many: "Clara's birthday" is like all that is known of her."""
MIN_WORD_SIMILARITY = 0.3
"""Cosine from which a word stands for another: favorite and favourite have 0.71, car and Volvo 0.26."""
_FIRST_PERSON = frozenset({"i", "my", "me", "mine"})
_FRAME_WORDS = _FIRST_PERSON | word_set(
    "user user's i'm am is are was the a an all any every everything about what which where when who how much many do "
    "does have has had take takes taking taken on of to in at for with that current currently former own fact facts "
    "memory memories details information"
)
"""Words of a description that name no fact."""
_PAST = re.compile(r"\b(?:used to|before|former\w*|previous\w*|old|last)\b", re.IGNORECASE)
_HIRAGANA_RUN = re.compile("[\u3040-\u309f]+")
"""Hiragana, which most Japanese sentences have in common."""


class _Bounds(NamedTuple):
    similarity: float
    topic_probability: float


NARROWED = _Bounds(0.27, 0.2)
"""Bounds where only the memories of somebody who is named, or of the past, are left."""


@dataclass(frozen=True, slots=True)
class _DescriptionTerm:
    """A term of the description, its weight in the namespace, and the word it is, where it is a whole one."""

    term: str
    weight: float
    word: str | None


def matching_memories(
    query: AnalyzedQuery, description: str, people: MeantPeople, hits: Sequence[Hit], vectors: WordVectors | None
) -> list[Hit]:
    """Keep the hits that the description means, in their order."""
    if query.calibration.common_part is not None:
        # Chosen without vectors of words, whose cosines with these thresholds were not measured.
        vectors = None
    if people.rest and _names_past(description):
        past = [hit for hit in hits if _tells_of_past(hit.text) and people.are_in(hit.text)]
        if meant := _meant_of(query, people, past, vectors, is_narrowed=True):
            return meant
    kind = _kind_of_fact(words(description))
    of_kind = {hit.id for hit in hits if kind is not None and kind.match(hit.text)}
    if of_kind and not people.is_somebody:
        return [hit for hit in hits if hit.id in of_kind]
    if not people.rest:
        return [hit for hit in hits if hit.id in of_kind or people.are_in(hit.text)]
    theirs = [hit for hit in hits if people.are_in(hit.text)]
    return _meant_of(query, people, theirs, vectors, is_narrowed=people.is_somebody)


def _meant_of(
    query: AnalyzedQuery,
    people: MeantPeople,
    hits: Sequence[Hit],
    vectors: WordVectors | None,
    *,
    is_narrowed: bool,
) -> list[Hit]:
    """Keep the hits that what a description says beside whom it names means; `is_narrowed`: few are left to mean."""
    said = words(people.rest)
    language = detect_language(said, people.rest)
    asked = list(_description_terms(query, said, language))
    is_spaced = all(term.word is not None for term in asked)
    usual = _Bounds(MIN_SIMILARITY if is_spaced else MIN_SIMILARITY_UNSPACED, MIN_TOPIC_PROBABILITY)
    clear = _clear_answers(query, hits, NARROWED if is_narrowed else usual)

    def is_meant(hit: Hit) -> bool:
        share = _matched_weight_share(asked, hit.text, language, vectors)
        if vectors is None or not is_spaced:
            return share >= MIN_TERM_SHARE_WITHOUT_VECTORS or hit.id in clear
        cosine = float(np.vecdot(hit.vector, query.vector))
        return share >= MIN_TERM_SHARE and share + cosine >= MIN_COMBINED_SCORE

    return [hit for hit in hits if is_meant(hit)]


def _names_past(description: str) -> bool:
    """Return whether a description names what is no longer so.

    >>> _names_past("my former job"), _names_past("wo ich früher gewohnt habe"), _names_past("my job")
    (True, True, False)
    """
    return _PAST.search(description) is not None or words_of_all("past").search(description) is not None


def _tells_of_past(text: str) -> bool:
    return outline(text).says("past") and not outline(text).says("unreal")


def _kind_of_fact(description_words: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the user's facts of the kind that a description names; None if it names anything else."""
    named = [word for word in description_words if word not in _FRAME_WORDS and len(word) > 1]
    kinds = {fact_kinds().get(word) for word in named}
    return kinds.pop() if len(kinds) == 1 else None


def _clear_answers(query: AnalyzedQuery, hits: Sequence[Hit], least: _Bounds) -> set[str]:
    """The ids of hits that are clearly meant whatever their words; none without vectors of sentences."""
    common_part, life_topics = query.calibration.common_part, query.calibration.life_topics
    if common_part is None or not hits:
        return set()
    bound = max(query.calibration.raw_score_at(least.similarity), max(hit.raw_score for hit in hits) - MAX_SCORE_GAP)
    cosines = [query.row_cosine(hit.vector) for hit in hits]
    topic = query.calibration.asked_topic(query.vector)
    if topic is None or life_topics is None:
        return {hit.id for hit in hits if hit.raw_score >= bound} | _leading(hits, cosines)
    told = life_topics.told_by(common_part.directions_of(np.stack([hit.vector for hit in hits])))[:, topic.number]
    return {
        hit.id
        for hit, cosine, probability in zip(hits, cosines, told.tolist(), strict=True)
        if probability >= least.topic_probability and max(cosines) - cosine <= MAX_COSINE_GAP
    }


def _leading(hits: Sequence[Hit], cosines: Sequence[float]) -> set[str]:
    """The id of the hit that is clearly nearer to the description than all others."""
    if len(hits) < MIN_COMPARED:
        return set()
    second, best = sorted(range(len(hits)), key=cosines.__getitem__)[-2:]
    is_clear = cosines[best] >= MIN_COSINE and cosines[best] - cosines[second] >= MIN_COSINE_LEAD
    return {hits[best].id} if is_clear else set()


def _description_terms(query: AnalyzedQuery, folded_words: Iterable[str], language: str) -> Iterable[_DescriptionTerm]:
    for word in dict.fromkeys(word for word in folded_words if is_unspaced_script(word) or not names_asker(word)):
        for term in terms(word, language):
            if not _HIRAGANA_RUN.fullmatch(term):
                weight = query.term_weights.weights.get(term_hash(term), 0.0)
                yield _DescriptionTerm(term, weight, None if is_unspaced_script(word) else word)


def _matched_weight_share(
    description_terms: Sequence[_DescriptionTerm], text: str, language: str, vectors: WordVectors | None
) -> float:
    """The share of the description's weight that the text has in the same or similar words."""
    text_terms = set(terms(text, language))
    total = sum(term.weight for term in description_terms)
    had = sum(term.weight for term in description_terms if term.term in text_terms)
    others = [term for term in description_terms if term.term not in text_terms and term.word is not None]
    text_words = content_words(words(text))
    if vectors is not None and others and text_words:
        term_vectors = vectors.word_vectors([term.word for term in others if term.word is not None])
        likest = np.vecdot(term_vectors[:, None], vectors.word_vectors(text_words)[None]).max(axis=1)
        had += sum(
            term.weight * like
            for term, like in zip(others, likest.tolist(), strict=True)
            if like >= MIN_WORD_SIMILARITY
        )
    return had / total if total else 0.0
