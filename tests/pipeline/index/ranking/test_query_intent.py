"""Intent of a question beside its words, and the texts that gain by it."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.ranking.query_intent import QueryIntent
from pipeline.index.ranking.ranking_parameters import DATE_BOOST, NUMBER_BOOST, SPEAKER_BOOST, TIME_BOOST


def gain(cues: QueryIntent, text: str) -> float:
    return sum(amount for _, amount in cues.feature_scores(text))


@pytest.mark.parametrize(
    "query", ["When did Ann move?", "Since when is he here?", "In which year was it?", "how long did it take"]
)
def test_who_asks_when_is_answered_by_a_time(query: str) -> None:
    cues = QueryIntent.parse(query)
    assert gain(cues, "it was last week") == TIME_BOOST
    assert gain(cues, "it was nice") == 0


def test_who_asks_how_long_something_should_be_asks_for_no_time() -> None:
    assert gain(QueryIntent.parse("How long should your answers be?"), "her birthday is in March") == 0


def test_who_asks_how_many_is_answered_by_a_number() -> None:
    assert gain(QueryIntent.parse("How many cats are there?"), "there are three") == NUMBER_BOOST
    assert gain(QueryIntent.parse("How many cats are there?"), "there are cats") == 0


@pytest.mark.parametrize(
    "query",
    [
        "What pets does Ann have?",
        "In which cities has she lived?",
        "What are Ann's plans?",
        "What do they both like?",
        "How many cats are there?",
    ],
)
def test_who_asks_for_several_things_is_understood(query: str) -> None:
    assert QueryIntent.parse(query).asks_for_several


@pytest.mark.parametrize(
    "query",
    [
        "What does Ann's dog eat?",
        "What is his status?",
        "Which bus is it?",
        "What did Ann's sons say?",
        "pets",
    ],
)
def test_who_asks_for_one_thing_is_not_thought_to_ask_for_several(query: str) -> None:
    assert not QueryIntent.parse(query).asks_for_several


def test_words_that_only_look_like_a_cue_ask_for_nothing() -> None:
    assert gain(QueryIntent.parse("Whenever it rains, what do I wear?"), "last week") == 0


def test_what_somebody_named_in_the_question_said_gains_by_its_share() -> None:
    cues = QueryIntent.parse("What does Ann Lee like?")
    assert gain(cues, "Ann: I like tea.") == SPEAKER_BOOST
    assert gain(cues, "Bob: I like tea.") == 0
    assert gain(cues, "Bob: aaa\nAnn: bbb") == pytest.approx(SPEAKER_BOOST * 8 / 17)
    assert gain(cues, "Ann: I like tea,\nand cake.") == pytest.approx(SPEAKER_BOOST * 25 / 26)


def test_documents_of_the_time_that_is_asked_about_gain_most() -> None:
    cues = QueryIntent.parse("What did Ann find in March 2023?")
    near, later, far = (cues.date_boost(date(2023, *day)) for day in ((3, 31), (4, 4), (9, 1)))
    assert near == DATE_BOOST
    assert near > later > far
    assert QueryIntent.parse("What did Ann find?").date_boost(date(2023, 3, 31)) == 0


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=100)
def test_a_gain_is_bounded_for_any_text(query: str, text: str) -> None:
    assert 0 <= gain(QueryIntent.parse(query), text) <= SPEAKER_BOOST + TIME_BOOST + NUMBER_BOOST
