"""Replacement of an older statement by a newer one as the answer to a question, by a learned weighing of both. Pure.

"I set the alarm to seven" after "I get up at six": no rule understands both, and they share no word. A logistic
regression weighs how near they are to each other and to the question, and what is known of their words. A second one
weighs what both mean (`statement_meanings`) as well: it may object, or decide where it is sure. Among many rows, where
most of the best are about something else, a third one weighs the same as the second.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.learned.answer_kinds import DOUBTFUL_LOG_ODDS
from pipeline.text.statement_words import adds_to_others, relative_in_subject
from pipeline.text.succession import ADDED, PASSING, PAST, is_readable, may_succeed, tells_of_change, tells_of_plan

LEAST_LOG_ODDS = 1.0
"""Log-odds from which the newer one answers: three of four pairs learned from that replace the older one reach it, and
four of a hundred that do not."""
_LEAST_READ_LOG_ODDS = 2.2
"""The same where rules read both: what they let follow is shown by `_is_said_to_change` too."""
_CHANGE_LOG_ODDS = -1.0
_CHANGE_LIKENESS = 0.12
_CHANGE_SIMILARITY = 0.3
_CHANGE_DIFFERENCE = 0.32
_CHANGE_SHARE = 0.33
"""What suffices of an English statement that says that something changed: its least log-odds, cosine to the older one
and similarity, how much lower its cosine with the question may be, and at least what share of the older one's it is."""
_MIN_COMPARED = 3
"""Number of other documents from which a statement has a usual likeness."""
_MEAN_USUAL_LIKENESS = 0.06
"""Stands for the usual likeness where too few documents tell it: the mean of the pairs that were learned from."""
_ENOUGH_LIKENESS = 0.4
_ENOUGH_COSINE = 0.35
"""Beyond these, being nearer to the older one or to the question tells no more: it is a matter of shared words."""
_MIN_COSINE = 0.02
"""Cosines with the question count as at least this: only their ratio is weighed."""
_HOME_LOG_ODDS = 1.0
"""Log-odds from which a statement tells of a home."""
_MOVED_THINGS = re.compile(r"\bmov(?:ed|ing) (?:the|my|our|an?|some|all|it|them|everything)\b", re.IGNORECASE)
"""Who moves the sofa lives where they lived."""
_MAX_LEAD = 1.5
"""Raw score beyond which a greater lead of the older one tells no more."""
_LENGTH_UNIT = 100.0
"""Characters in which lengths are weighed."""
_BIAS = -5.66
_MEASURE_WEIGHTS = (12.35, -9.22, 8.84, 0.10, 1.86, -0.33, 0.43)
_KIND_WEIGHTS = (-1.04, 3.36, -0.94)
_MARK_WEIGHTS = (0.62, -3.20, -1.74, -0.73)
"""Learned by `python -m bench.newer_statement`, which prints them; in the order of `measures`, `kind_marks` and
`word_marks`."""


@dataclass(frozen=True, slots=True)
class MeaningWeights:
    """Weights of what both statements mean, in the order of `plain_marks` and `objections`.

    Of the sum: below `least` the newer one never answers instead, from `sure` on it does.
    """

    bias: float
    meaning: float
    plain_marks: Sequence[float]
    objections: Sequence[float]
    least: float
    sure: float


AMONG_FEW = MeaningWeights(
    bias=-0.53,
    meaning=1.0,
    plain_marks=(4.77, -3.80, 4.62, 0.89, 0.16, -0.30, 0.59, -0.70, -1.22, 1.40, 1.54),
    objections=(-2.25, -2.85, -0.65, -2.33, -2.20, -1.92, -0.90, -1.11),
    least=-0.25,
    sure=1.0,
)
"""Learned by `python -m bench.statement_meanings`, which prints them."""
AMONG_MANY = MeaningWeights(
    bias=-1.63,
    meaning=0.52,
    plain_marks=(6.86, -7.99, 4.80, 1.28, 2.11, -0.25, 0.34, -1.12, -0.85, 0.42, 0.27),
    objections=(-1.71, -5.44, 0.0, -1.75, -1.60, -1.54, -1.46, -1.15),
    least=0.5,
    sure=2.5,
)
"""Learned by `python -m bench.newer_among_many`, which prints them."""
_FEW_ROWS = 20
"""Rows up to which most of the best are about the same thing; of more, most are about something else."""


@dataclass(frozen=True, slots=True)
class StatementPair:
    """An older and a newer statement that may both answer a question.

    `likeness`: the cosine of the two; `usual_likeness`: the one that the newer has with others anyway, if known. The
    other cosines are those with the question, the similarity is that of the newer one as a result. `older_change` and
    `newer_change`: the log-odds that they tell of a change.
    """

    older: str
    newer: str
    likeness: float
    usual_likeness: float | None
    older_cosine: float
    newer_cosine: float
    newer_similarity: float
    older_change: float
    newer_change: float
    kind_log_odds: float | None = None
    """Those that the newer one tells the kind of answer that is asked for; None where no known kind is."""
    older_kind_log_odds: float | None = None
    about_asker: bool = False
    """Whether the question is about who asks it."""
    is_newer_of_another_kind: bool = False
    """Whether the newer one tells another kind of answer instead: a home where the job is asked for."""
    asks_for_home: bool = False
    """Whether it asks where somebody lives: they have one home at a time."""
    meaning_log_odds: float = 0.0
    """What the meanings of both add to the log-odds that the newer one answers instead."""
    older_lead: float = 0.0
    """The raw score by which the older one leads."""
    is_newer_passage: bool = True
    """Whether the newer one is a passage, and not a memory."""
    row_count: int = 0
    """Number of the namespace's passages or memories, whichever are more."""


def measures(pair: StatementPair) -> tuple[float, ...]:
    """Return what the vectors tell, in the order of the weights."""
    likeness, cosine = min(pair.likeness, _ENOUGH_LIKENESS), min(pair.newer_cosine, _ENOUGH_COSINE)
    usual = _MEAN_USUAL_LIKENESS if pair.usual_likeness is None else pair.usual_likeness
    ratio = math.log(max(pair.newer_cosine, _MIN_COSINE) / max(pair.older_cosine, _MIN_COSINE))
    return likeness, usual, cosine, ratio, pair.newer_similarity, pair.older_change, pair.newer_change


def word_marks(pair: StatementPair) -> tuple[float, ...]:
    """Return what the words tell, each 0 or 1, in the order of the weights.

    Change; another relative in a language that no rule reads; refused by rules that read both; read by rules.
    """
    readable = is_readable(pair.newer, pair.older)
    other_relative = not readable and relative_in_subject(pair.newer) != relative_in_subject(pair.older)
    refused = readable and not may_succeed(pair.newer, pair.older)
    return float(tells_of_change(pair.newer)), float(other_relative), float(refused), float(readable)


def kind_marks(pair: StatementPair) -> tuple[float, ...]:
    """Return what the kind of answer tells that is asked for, each 0 or 1, in the order of the weights.

    The newer one tells it, of the same person and in a language that no rule reads, where the asker asks about
    themselves; it does, the older one does too, and the newer one says that something changed; the newer one does not
    tell it, or hardly, where the older one does.
    """
    log_odds = pair.kind_log_odds
    if log_odds is None:
        return 0.0, 0.0, 0.0
    same_person = pair.about_asker and relative_in_subject(pair.newer) == relative_in_subject(pair.older)
    tells = log_odds > 0.0 and same_person and not is_readable(pair.newer, pair.older)
    older_tells = pair.older_kind_log_odds is not None and pair.older_kind_log_odds > 0.0
    changes = tells and older_tells and tells_of_change(pair.newer)
    return float(tells), float(changes), float(log_odds < (0.0 if older_tells else DOUBTFUL_LOG_ODDS))


def plain_marks(pair: StatementPair) -> tuple[float, ...]:
    """Return what is weighed beside the meanings of both without reading a word, in the order of the weights."""
    lengths = (len(pair.newer) / _LENGTH_UNIT, len(pair.older) / _LENGTH_UNIT)
    return (*measures(pair), min(pair.older_lead, _MAX_LEAD), float(pair.is_newer_passage), *lengths)


def objections(pair: StatementPair) -> tuple[float, ...]:
    """Return which words speak against the newer one, each 0 or 1, in the order of the weights.

    It is about another relative, adds, is refused by rules that read both, tells of a plan, of the past or of what
    passes, or hardly tells the kind of answer asked for; or the older one tells of a change itself.
    """
    newer, older = pair.newer, pair.older
    relative = relative_in_subject(newer)
    found = (
        relative != "" and relative != relative_in_subject(older),
        ADDED.search(newer) is not None or adds_to_others(newer),
        is_readable(newer, older) and not may_succeed(newer, older),
        tells_of_plan(newer),
        PAST.search(newer) is not None,
        PASSING.search(newer) is not None,
        tells_of_change(older),
    )
    return (*map(float, found), kind_marks(pair)[-1])


def answers_instead(pair: StatementPair) -> bool:
    """Return whether the newer statement answers instead of the older; reads their words only where they may matter."""
    if pair.is_newer_of_another_kind:
        return False
    if tells_another_home(pair):
        return not _is_beside(pair)
    weights = AMONG_FEW if pair.row_count <= _FEW_ROWS else AMONG_MANY
    meant = weights.bias + weights.meaning * pair.meaning_log_odds + _weighed(weights.plain_marks, plain_marks(pair))
    if meant < weights.least:  # objections only lower it
        return False
    meant += _weighed(weights.objections, objections(pair))
    if meant < weights.least or _is_beside(pair):
        return False
    is_sure = meant >= weights.sure and pair.likeness >= _CHANGE_LIKENESS
    return is_sure or is_near_enough(pair)


def _is_beside(pair: StatementPair) -> bool:
    """Return whether only the newer one tells of a plan, or of what holds beside something else."""
    return any(tells(pair.newer) and not tells(pair.older) for tells in (adds_to_others, tells_of_plan))


def is_near_enough(pair: StatementPair) -> bool:
    """Return whether it answers instead by how near both are to each other and to the question."""
    odds = _BIAS + _weighed(_MEASURE_WEIGHTS, measures(pair)) + _weighed(_KIND_WEIGHTS, kind_marks(pair))
    if odds + _weighed(_MARK_WEIGHTS, (1.0, 0.0, 0.0, 0.0)) >= LEAST_LOG_ODDS:
        odds += _weighed(_MARK_WEIGHTS, word_marks(pair))
    if odds < _CHANGE_LOG_ODDS:
        return False
    least = _LEAST_READ_LOG_ODDS if is_readable(pair.newer, pair.older) else LEAST_LOG_ODDS
    return odds >= least or _is_said_to_change(pair)


def tells_another_home(pair: StatementPair) -> bool:
    """Return whether the newer one says that the asker, who asks where they live, has moved; and tells more of a home.

    "We moved to Wellington last week" is not near to "I'm Tess, hygienist in Auckland".
    """
    return (
        pair.asks_for_home
        and pair.about_asker
        and pair.kind_log_odds is not None
        and pair.older_kind_log_odds is not None
        and pair.kind_log_odds >= max(_HOME_LOG_ODDS, pair.older_kind_log_odds)
        and tells_of_change(pair.newer)
        and relative_in_subject(pair.newer) == relative_in_subject(pair.older)
        and not any(pattern.search(pair.newer) for pattern in (PAST, PASSING, ADDED, _MOVED_THINGS))
    )


def _is_said_to_change(pair: StatementPair) -> bool:
    """Return whether the newer of two English statements says that something changed, and rules let it follow.

    "Moved back to Omaha in the end, closer to my folks" is not near to "We live in Denver with the kids".
    """
    return (
        pair.likeness >= _CHANGE_LIKENESS
        and pair.newer_similarity >= _CHANGE_SIMILARITY
        and pair.older_cosine <= pair.newer_cosine + _CHANGE_DIFFERENCE
        and pair.older_cosine * _CHANGE_SHARE <= pair.newer_cosine
        and tells_of_change(pair.newer)
        and is_readable(pair.newer, pair.older)
        and may_succeed(pair.newer, pair.older)
    )


def _weighed(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def usual_likeness(likeness: NDArray[np.float32], documents: Sequence[int]) -> list[float | None]:
    """The cosine that a quarter of the other documents stay below for each statement; at least 0, None for few.

    Statements in a language whose direction is not known are like each other for that alone.
    """
    return [
        max(others[(len(others) - 1) // 4], 0.0) if len(others) >= _MIN_COMPARED else None
        for others in (
            sorted(
                max(row[place] for place, other in enumerate(documents) if other == document)
                for document in set(documents) - {own}
            )
            for row, own in zip(likeness.tolist(), documents, strict=True)
        )
    ]
