"""`newer_statement`: when a newer statement answers instead of an older one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.datasets.successions import Succession, successions
from pipeline.index.ranking.learned.newer_statement import (
    AMONG_FEW,
    AMONG_MANY,
    MeaningWeights,
    StatementPair,
    answers_instead,
    is_near_enough,
    measures,
    objections,
    plain_marks,
    usual_likeness,
)

_UNREAD = StatementPair(
    "Jag går upp klockan sex.",
    "Väckarklockan ringer kvart över sju.",
    likeness=0.45,
    usual_likeness=0.05,
    older_cosine=0.5,
    newer_cosine=0.4,
    newer_similarity=0.7,
    older_change=-2.0,
    newer_change=-2.0,
)
_COSINES = st.floats(-0.2, 1.0)


def test_a_statement_near_to_the_older_one_and_to_the_question_is_near_enough() -> None:
    assert is_near_enough(_UNREAD)


@pytest.mark.parametrize(
    "pair", [replace(_UNREAD, likeness=0.05), replace(_UNREAD, newer_cosine=0.02, newer_similarity=0.1)]
)
def test_a_statement_about_something_else_does_not(pair: StatementPair) -> None:
    assert not is_near_enough(pair)


def test_a_statement_that_is_as_near_to_all_others_does_not() -> None:
    assert not is_near_enough(replace(_UNREAD, usual_likeness=0.45))


def test_what_a_relative_does_does_not_answer_instead() -> None:
    assert is_near_enough(replace(_UNREAD, older="Ich wohne in Wien.", newer="Graz ist mein Zuhause."))
    assert not is_near_enough(replace(_UNREAD, older="Ich wohne in Wien.", newer="Meine Schwester wohnt in Graz."))


def test_words_of_change_need_less_likeness() -> None:
    pair = replace(_UNREAD, likeness=0.2, older="Ich wohne in Wien.", newer="Graz ist mein Zuhause.")
    assert not is_near_enough(pair)
    assert is_near_enough(replace(pair, newer="Ich bin nach Graz umgezogen."))


def test_what_holds_beside_the_older_statement_does_not_answer_instead() -> None:
    pair = replace(
        _UNREAD, older="Ich arbeite dienstags.", newer="Ab jetzt arbeite ich mittwochs.", meaning_log_odds=6.0
    )
    assert answers_instead(pair)
    assert not answers_instead(replace(pair, newer="Ab jetzt arbeite ich auch mittwochs."))


def test_two_statements_that_rules_read_have_to_be_nearer() -> None:
    pair = replace(_UNREAD, older="I take the bus to work.", newer="I cycle to the office.")
    assert is_near_enough(pair)
    assert not is_near_enough(replace(pair, likeness=0.35))


def test_a_change_of_something_else_does_not_answer_instead() -> None:
    pair = replace(
        _UNREAD,
        older="can't eat dairy btw, gives me hives",
        newer="ok quit the bakery today",
        likeness=0.14,
        usual_likeness=0.12,
        older_cosine=0.32,
        newer_cosine=0.24,
        newer_similarity=0.69,
        older_change=-2.5,
        newer_change=-1.1,
    )
    assert not is_near_enough(pair)
    assert is_near_enough(replace(pair, likeness=0.34, usual_likeness=0.1))


def test_a_statement_that_does_not_tell_what_is_asked_for_needs_more_likeness() -> None:
    pair = replace(_UNREAD, likeness=0.2, older="Я живу в Самаре.", newer="Потом я устроился сварщиком.")
    assert is_near_enough(pair)
    assert not is_near_enough(replace(pair, kind_log_odds=-3.0))


def test_a_change_of_what_is_asked_of_the_asker_needs_less() -> None:
    pair = replace(_UNREAD, likeness=0.15, newer_cosine=0.2, older="Ik woon in Breda.", newer="Ik ben verhuisd.")
    told = replace(pair, kind_log_odds=2.0, older_kind_log_odds=2.0)
    assert not is_near_enough(pair)
    assert not is_near_enough(told)
    assert not is_near_enough(replace(told, newer="Zwolle is mijn thuis.", about_asker=True))
    assert is_near_enough(replace(told, about_asker=True))


@given(_COSINES, _COSINES, _COSINES)
def test_being_nearer_never_counts_against_a_statement(likeness: float, cosine: float, more: float) -> None:
    near = replace(_UNREAD, likeness=likeness, newer_cosine=cosine)
    for nearer in (
        replace(near, likeness=max(likeness, more)),
        replace(near, newer_cosine=max(cosine, more)),
    ):
        assert answers_instead(nearer) >= answers_instead(near)
        assert all(after >= before for before, after in zip(measures(near), measures(nearer), strict=True))


def test_what_both_mean_may_object_or_decide_about_statements_that_are_alike() -> None:
    assert not answers_instead(replace(_UNREAD, meaning_log_odds=-6.0))
    far = replace(_UNREAD, likeness=0.2, newer_cosine=0.2)
    assert not answers_instead(far)
    assert answers_instead(replace(far, meaning_log_odds=6.0))
    assert not answers_instead(replace(far, meaning_log_odds=6.0, likeness=0.05))


def test_among_many_rows_what_both_mean_has_to_be_surer() -> None:
    far = replace(_UNREAD, likeness=0.2, newer_cosine=0.2, meaning_log_odds=2.0)
    assert answers_instead(replace(far, row_count=20))
    assert not answers_instead(replace(far, row_count=21))
    assert answers_instead(replace(far, row_count=21, likeness=0.4, newer_cosine=0.35, meaning_log_odds=6.0))
    assert not answers_instead(replace(_UNREAD, row_count=21, meaning_log_odds=-6.0))


def test_no_meaning_makes_an_answer_of_a_plan() -> None:
    pair = replace(_UNREAD, older="I drive a Clio.", newer="I sold the Clio.", meaning_log_odds=6.0)
    assert answers_instead(pair)
    assert not answers_instead(replace(pair, newer="I might sell the Clio one day."))


@given(
    _COSINES,
    st.sampled_from([pair for section in successions(hurried=True) for pair in section]),
    st.sampled_from([AMONG_FEW, AMONG_MANY]),
)
def test_words_only_object(likeness: float, pair: Succession, weights: MeaningWeights) -> None:
    compared = replace(_UNREAD, older=pair.older, newer=pair.newer, likeness=likeness)
    assert len(objections(compared)) == len(weights.objections)
    assert len(plain_marks(compared)) == len(weights.plain_marks)
    assert max(weights.objections) <= 0.0
    assert min(objections(compared)) >= 0.0


def test_usual_likeness_is_unknown_among_few_documents_and_low_among_different_ones() -> None:
    assert usual_likeness(np.eye(3, dtype=np.float32), [1, 2, 3]) == [None, None, None]
    assert usual_likeness(np.eye(5, dtype=np.float32), [1, 2, 3, 4, 5]) == [0.0] * 5
    assert usual_likeness(np.full((5, 5), 0.5, np.float32), [1, 2, 3, 4, 5]) == [0.5] * 5


@pytest.mark.parametrize("hurried", [False, True])
def test_the_pairs_that_are_learned_from_differ(hurried: bool) -> None:
    pairs = [pair for section in successions(hurried=hurried) for pair in section]
    assert len({(pair.older, pair.newer) for pair in pairs}) == len(pairs)
    assert all(pair.older != pair.newer and pair.question for pair in pairs)
