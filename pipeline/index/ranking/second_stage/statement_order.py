"""Order of statements that were compared: the asker's own, telling and newer ones first."""

import numpy as np

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import Candidates
from pipeline.index.ranking.learned.newer_statement import StatementPair, tells_another_home
from pipeline.index.ranking.ranking_parameters import (
    ALIKE_MIN_COSINE,
    MIN_ANSWER_SIMILARITY,
    NEWEST_MAX_DIFFERENCE,
    NOT_TELLING_LOG_ODDS,
    SAME_QUESTION_COSINE,
    TELLING_LOG_ODDS,
    TELLING_MAX_LEAD,
)
from pipeline.index.ranking.second_stage.statement_comparison import StatementComparison
from pipeline.text.statement_words import is_general_question, relative_in_subject
from pipeline.text.succession import tells_of_plan

_RAISE = 0.01
"""How far a newer statement is put above an older one."""


def put_asker_first(query: AnalyzedQuery, candidates: Candidates, comparison: StatementComparison) -> Candidates:
    """Lower a statement about a relative below one about the asker that is alike and an answer itself."""
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    lowered: dict[int, float] = {}
    for own, asker in enumerate(comparison.statements):
        if asker.score < answering_score or relative_in_subject(asker.text):
            continue
        for other, relative in enumerate(comparison.statements):
            alike = comparison.cosine(own, other) - (comparison.usual[other] or 0.0) >= ALIKE_MIN_COSINE
            if alike and relative.score >= asker.score and relative_in_subject(relative.text):
                lowered[relative.position] = min(lowered.get(relative.position, relative.score), asker.score - _RAISE)
    return candidates.with_scores("relative", lowered)


def put_telling_first(query: AnalyzedQuery, candidates: Candidates, comparison: StatementComparison) -> Candidates:
    """Lower what does not tell the kind of answer asked for below an answer that does, if it leads little; and a plan.

    "I'm a dental hygienist in Auckland" before "We moved to Wellington last week": the one is a job, the other a home.
    "We may move to Napier" is no answer while a home is known.
    """
    answering_score = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    told = list(zip(comparison.statements, comparison.kind_log_odds, strict=True))
    telling = [
        each
        for each, log_odds in told
        if log_odds is not None
        and log_odds > TELLING_LOG_ODDS
        and each.score >= answering_score
        and not tells_of_plan(each.text)
    ]
    lowered: dict[int, float] = {}
    for other, log_odds in told if telling else ():
        is_plan = not query.intent.asks_for_plan and tells_of_plan(other.text)
        passed = [
            each.score
            for each in telling
            if 0.0 <= other.score - each.score < (np.inf if is_plan else TELLING_MAX_LEAD)
            and relative_in_subject(each.text) == relative_in_subject(other.text)
        ]
        if log_odds is not None and (is_plan or log_odds < NOT_TELLING_LOG_ODDS) and passed:
            lowered[other.position] = min(passed) - _RAISE
    return candidates.with_scores("otherKind", lowered)


def put_statements_first(query: AnalyzedQuery, candidates: Candidates, comparison: StatementComparison) -> Candidates:
    """Lower a general question below the best answer that is none: "Is a car better than a bicycle?" tells nothing.

    One that means about what is asked now may be what is looked for.
    """
    best = max((each.score for each in comparison.statements if not is_general_question(each.text)), default=-np.inf)
    if best < query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY):
        return candidates
    lowered = {
        each.position: best - _RAISE
        for each in comparison.statements
        if each.score >= best and each.cosine < SAME_QUESTION_COSINE and is_general_question(each.text)
    }
    return candidates.with_scores("otherKind", lowered)


def put_newer_first(query: AnalyzedQuery, candidates: Candidates, comparison: StatementComparison) -> Candidates:
    """Raise a statement above an older one about the same thing: nothing else knows that it holds no more.

    Of several that may have replaced it, the newest of those that are about as much like it and like the question.
    """
    statements = comparison.statements
    raised: dict[int, float] = {}
    for old, older in enumerate(statements):
        merits = {
            new: merit
            for new, newer in enumerate(statements)
            if newer.score <= older.score
            and newer.time > older.time
            and (merit := _merit_instead(query, comparison, old, new)) is not None
        }
        if merits:
            least = max(merits.values()) - NEWEST_MAX_DIFFERENCE
            newest = max((statements[new] for new, merit in merits.items() if merit >= least), key=lambda new: new.time)
            raised[newest.position] = max(raised.get(newest.position, newest.score), older.score + _RAISE)
    return candidates.with_scores("newer", raised)


def _merit_instead(query: AnalyzedQuery, comparison: StatementComparison, old: int, new: int) -> float | None:
    """Return how well one of the statements answers instead of another of the same speaker; None where it does not."""
    older, newer = comparison.statements[old], comparison.statements[new]
    if newer.speaker != older.speaker:
        return None
    pair = StatementPair(
        older.text,
        newer.text,
        likeness=comparison.cosine(old, new),
        usual_likeness=comparison.usual[new],
        older_cosine=older.cosine,
        newer_cosine=newer.cosine,
        newer_similarity=query.calibration.similarity(newer.score),
        kind_log_odds=comparison.kind_log_odds[new],
        older_kind_log_odds=comparison.kind_log_odds[old],
        older_change=comparison.change_log_odds[old],
        newer_change=comparison.change_log_odds[new],
        about_asker=query.intent.asks_about_asker,
        is_newer_of_another_kind=comparison.are_of_another_kind[new],
        asks_for_home=query.asked_kind is not None and query.asked_kind.is_home,
        meaning_log_odds=float(comparison.meanings[old, new]),
        older_lead=older.score - newer.score,
        is_newer_passage=newer.is_passage,
        row_count=query.row_count,
    )
    if not query.answers_instead(pair):
        return None
    return np.inf if tells_another_home(pair) else pair.likeness + newer.cosine
