"""Text that a query quotes, or is copied from: what has it word for word comes first."""

import re

import numpy as np

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import Candidates
from pipeline.index.ranking.ranking_parameters import MIN_ANSWER_SIMILARITY
from pipeline.index.ranking.search_request_and_hits import ALL_KINDS
from pipeline.text.analyzer import words

_MIN_WORDS = 4
"""Words from which a query without a question mark may be copied from a text. With three, headings of one section
that others mention come later (39.3 instead of 40.2 % first); five words of a text find it as often (decision 0043)."""
_MIN_PAIRS = 6
"""The same in pairs of characters, for scripts that do not separate words."""
_COMPARED = 16
_RAISE = 0.01
_QUOTED = re.compile('["\u201c\u201d\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]+)["\u201c\u201d\u00bb]')
_WORD = re.compile(r"\w+")
_QUESTION_MARKS = "?\uff1f\u061f\u037e"


def verbatim_parts(query: str, term_count: int) -> tuple[str, ...]:
    """Return what a text should have word for word: quoted parts of a query, or all of one that is copied.

    >>> verbatim_parts('who said "the boiler hums"?', 2), verbatim_parts("Whoever leaves last, locks up", 4)
    (('the boiler hums',), ('whoever leaves last, locks up',))
    >>> verbatim_parts("Where is the key of the boat?", 3), verbatim_parts("key of boat", 2)
    ((), ())
    """
    parts = _QUOTED.findall(query)
    if not parts and not any(mark in query for mark in _QUESTION_MARKS):
        is_long = len(words(query)) >= _MIN_WORDS or term_count >= _MIN_PAIRS
        parts = [query] if is_long else []
    return tuple(part.casefold() for part in parts if words(part))


def put_verbatim_first(query: AnalyzedQuery, candidates: Candidates) -> Candidates:
    """Raise those of the best candidates that have all the parts above the others, and to an answer at least.

    They keep their order.
    """
    if not query.verbatim_parts:
        return candidates
    best = candidates.top_positions(-np.inf, ALL_KINDS, _COMPARED)
    has_all = np.array([_has_all(candidates.text(at), query.verbatim_parts) for at in best.tolist()], np.bool_)
    having, others = best[has_all], best[~has_all]
    if not len(having):
        return candidates
    least = candidates.scores[others].max(initial=query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)) + _RAISE
    lead = max(least - candidates.scores[having].min(), 0.0)
    return candidates.with_contribution("verbatim", np.full(len(having), lead), having)


def _has_all(text: str, parts: tuple[str, ...]) -> bool:
    """Return whether a text has all the parts; folding takes long, so their words are looked for as they are first."""
    lowered = text.casefold()
    if not all(word in lowered for part in parts for word in _WORD.findall(part)):
        return False
    folded = _folded(text)
    return all(_folded(part) in folded for part in parts)


def _folded(text: str) -> str:
    return " ".join(words(text))
