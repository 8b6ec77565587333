"""Lowering of short statements that answer another question: of others, without a number, of another kind."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import Candidates
from pipeline.index.ranking.learned.answer_kinds import AskedKind
from pipeline.index.ranking.ranking_parameters import (
    MIN_ANSWER_SIMILARITY,
    NEWER_MAX_CHARS,
    NO_NUMBER_MAX_SIMILARITY,
    OTHER_RELATIVE_MAX_SIMILARITY,
    RELATIVE_MAX_SIMILARITY,
    UNKNOWN_NAME_PENALTY,
)
from pipeline.index.ranking.search_request_and_hits import ScoreFactor
from pipeline.text.analyzer import fold, is_in_latin_script
from pipeline.text.statement_words import (
    named_beings,
    names_directly,
    relative_in_subject,
    says_contact,
    says_number,
    told_relations,
)

_NAME_STEM_CHARS = 3
"""Least length of what the forms of a name have in common, and most letters that they differ in at their end."""


def lower_other_answers(query: AnalyzedQuery, candidates: Candidates, spared: NDArray[np.bool_]) -> Candidates:
    """Lower short statements that do not tell what the question asks for: of whom, a number, a kind of answer.

    Passages of any length are lowered that have no phone number where one is asked for.
    `spared`: rows that replaced an answer, and so are one, though they may tell no number or job.
    """
    for factor, max_similarity, is_other in _other_answers(query):
        highest = query.calibration.raw_score_at(max_similarity)
        above = np.flatnonzero((candidates.scores > highest) & ~spared).tolist()
        longest = np.inf if factor == "noNumber" else NEWER_MAX_CHARS
        texts = {at: text for at in above if len(text := candidates.text(at)) <= longest}
        lowered = {at: highest for at, text in texts.items() if is_other(text)}
        candidates = candidates.with_scores(factor, lowered)
    return _lower_other_kinds(query, candidates, spared)


def lower_without_names(query: AnalyzedQuery, candidates: Candidates) -> Candidates:
    """Lower what answers a question about somebody or something that nothing here names.

    A name in another form (*Pawłowi* for "Paweł") or in another script may be there all the same.
    """
    names = query.unknown_names
    if not names:
        return candidates
    answering = np.flatnonzero(candidates.scores > query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)).tolist()
    texts = {at: fold(candidates.text(at)) for at in answering}
    missing = sum(not any(_name_stem(name) in text for text in texts.values()) for name in names)
    spared = [
        at for at, text in texts.items() if any(is_in_latin_script(text) != is_in_latin_script(name) for name in names)
    ]
    lowered = np.delete(np.arange(len(candidates)), spared)  # also what is no answer: the order stays
    amounts = np.full(len(lowered), -UNKNOWN_NAME_PENALTY * missing)
    return candidates.with_contribution("unknownName", amounts, lowered) if missing else candidates


def _name_stem(name: str) -> str:
    """Return the beginning of a name that its forms have in common."""
    return name[: max(_NAME_STEM_CHARS, len(name) - _NAME_STEM_CHARS)]


def _other_answers(query: AnalyzedQuery) -> Iterator[tuple[ScoreFactor, float, Callable[[str], object]]]:
    """Yield the highest similarity of a short statement that a function tells to be no answer to the question."""
    intent, kind = query.intent, query.asked_kind
    if intent.asks_about_asker_alone:
        yield "relative", RELATIVE_MAX_SIMILARITY, relative_in_subject
    if asked := intent.asked_relations:
        yield "relative", OTHER_RELATIVE_MAX_SIMILARITY, lambda text: _is_about_other_relative(text, asked)
    if (named := intent.named_beings) and kind is not None and kind.is_name:
        yield "otherKind", OTHER_RELATIVE_MAX_SIMILARITY, lambda text: _names_others(text, named)
    if contact := intent.asks_for_contact:
        yield "noNumber", NO_NUMBER_MAX_SIMILARITY, lambda text: not says_contact(text, contact)
    elif intent.asks_for_number:
        yield "noNumber", NO_NUMBER_MAX_SIMILARITY, lambda text: not says_number(text)


def _names_others(text: str, named: frozenset[str]) -> bool:
    told = named_beings(text)
    return bool(told) and named.isdisjoint(told)


def _lower_other_kinds(query: AnalyzedQuery, candidates: Candidates, spared: NDArray[np.bool_]) -> Candidates:
    """Lower short statements that do not tell the kind of answer that the question asks for."""
    kind = query.asked_kind
    if kind is None:
        return candidates
    lowered: dict[int, float] = {}
    first = 0
    within_reach = (candidates.scores > query.calibration.raw_score_at(1.0 - kind.probability)) & ~spared
    for group in candidates.scored_rows:
        segment, end = group.view.segment, first + len(group.rows)
        if query.vectors_comparable(segment.columns.vectors):
            own = np.flatnonzero(within_reach[first:end])
            highest = query.max_similarity_by_kind(kind, segment, group.rows[own])
            for at, similarity in zip((first + own).tolist(), highest.tolist(), strict=True):
                score = query.calibration.raw_score_at(similarity)
                if candidates.scores[at] > score and _is_untold(query, kind, candidates.text(at)):
                    lowered[at] = score
        first = end
    return candidates.with_scores("otherKind", lowered)


def _is_untold(query: AnalyzedQuery, kind: AskedKind, text: str) -> bool:
    """Return whether a text is short, and does not say the name asked for along with something else.

    "My nephew Otto turns six" tells his name, too.
    """
    named = query.intent.named_beings
    return len(text) <= NEWER_MAX_CHARS and not (kind.is_name and named and names_directly(text, named))


def _is_about_other_relative(text: str, asked: frozenset[int]) -> bool:
    told = told_relations(text)
    return bool(told) and asked.isdisjoint(told) and relative_in_subject(text) != ""
