"""Selection of the memories that a description means, strict enough to delete them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import Hit
from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER
from pipeline.memory.languages.english import fact_kinds
from pipeline.ports import WordVectors
from pipeline.text.analyzer import content_words, detect_language, is_unspaced_script, term_hash, terms, words
from pipeline.text.english_verbs import word_set

MIN_COMBINED_SCORE = 1.05
"""The share of the description that a memory has, and their cosine, together: chosen, as the others, on the
open half of `tests/data/forgetting` (docs/benchmarks.md)."""
MIN_TERM_SHARE = 0.55
"""Minimum term share at any cosine: half is too little, because one name of two words has it."""
MIN_TERM_SHARE_WITHOUT_VECTORS = 0.75
"""The share by itself, without vectors, and in scripts without spaces, where all cosines are high."""
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
_HIRAGANA_RUN = re.compile("[\u3040-\u309f]+")
"""Hiragana, which most Japanese sentences have in common."""
_POSSESSIVE_SUBJECT = re.compile(rf"{DEFAULT_SPEAKER}'s (?P<who>.+?) (?:is|was|has|had|\w+s|\w+ed) ")


@dataclass(frozen=True, slots=True)
class _DescriptionTerm:
    """A term of the description, its weight in the namespace, and the word it is, where it is a whole one."""

    term: str
    weight: float
    word: str | None


def matching_memories(
    query: AnalyzedQuery, description: str, hits: Sequence[Hit], vectors: WordVectors | None
) -> list[Hit]:
    """Keep the hits that the description means, in their order."""
    if query.calibration.common_part is not None:
        # Chosen without vectors of words, whose cosines with these thresholds were not measured.
        vectors = None
    description_words = words(description)
    language = detect_language(description_words, description)
    asked = list(_description_terms(query, description_words, language))
    by_words = vectors is None or any(term.word is None for term in asked)
    leading = _leading_hit(query, hits)
    kind = _kind_of_fact(description_words)
    if kind is not None and any(kind.match(hit.text) for hit in hits):
        return [hit for hit in hits if kind.match(hit.text)]
    found = []
    for hit in hits:
        share = _matched_weight_share(asked, hit.text, language, vectors)
        cosine = 0.0 if by_words else float(np.vecdot(hit.vector, query.vector))
        enough = (
            share >= MIN_TERM_SHARE_WITHOUT_VECTORS or hit is leading
            if by_words
            else share >= MIN_TERM_SHARE and share + cosine >= MIN_COMBINED_SCORE
        )
        if enough and not (
            _FIRST_PERSON.intersection(description_words) and _is_about_someone_else(hit.text, asked, language, vectors)
        ):
            found.append(hit)
    return found


def _kind_of_fact(description_words: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the user's facts of the kind that a description names; None if it names anything else."""
    named = [word for word in description_words if word not in _FRAME_WORDS]
    kinds = {fact_kinds().get(word) for word in named}
    return kinds.pop() if len(kinds) == 1 else None


def _leading_hit(query: AnalyzedQuery, hits: Sequence[Hit]) -> Hit | None:
    """The hit that is clearly nearer to the description than all others; None without vectors of sentences."""
    if query.calibration.common_part is None or len(hits) < MIN_COMPARED:
        return None
    cosines = sorted(((query.row_cosine(hit.vector), at) for at, hit in enumerate(hits)), reverse=True)
    (best, at), (second, _) = cosines[:2]
    return hits[at] if best >= MIN_COSINE and best - second >= MIN_COSINE_LEAD else None


def _description_terms(query: AnalyzedQuery, folded_words: Iterable[str], language: str) -> Iterable[_DescriptionTerm]:
    for word in dict.fromkeys(folded_words):
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


def _is_about_someone_else(
    text: str, description_terms: Sequence[_DescriptionTerm], language: str, vectors: WordVectors | None
) -> bool:
    """`User's sister lives in Rome` is not where "I" live: whoever it is about is not in the description."""
    owned = _POSSESSIVE_SUBJECT.match(text)
    return owned is not None and not _matched_weight_share(description_terms, owned["who"], language, vectors)
