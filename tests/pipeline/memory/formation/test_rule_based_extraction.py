"""Facts extracted by rules, each standing alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.memory.formation.rule_based_extraction import extract_facts


def texts(document: str) -> list[str]:
    return [draft.text for draft in extract_facts(document)]


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("I live in Berlin.", ["User lives in Berlin"]),
        ("My favourite colour is green.", ["User's favourite colour is green"]),
        ("I'm a nurse and I love my dog.", ["User is a nurse", "User loves their dog"]),
        ("I live in Berlin and work at Acme.", ["User lives in Berlin", "User works at Acme"]),
        ("I don't eat meat.", ["User doesn't eat meat"]),
        ("I haven't been to Rome.", ["User hasn't been to Rome"]),
        ("I have two kids.", ["User has two kids"]),
        ("I always go swimming on Mondays.", ["User always goes swimming on Mondays"]),
        ("I like to read and write.", ["User likes to read and write"]),
        ("I went home and bought milk.", ["User bought milk"]),
        ("My sister lives with me.", ["User's sister lives with User"]),
        ("Alice works at Google.", ["Alice works at Google"]),
        ("The price of the basic plan is 5 EUR.", ["The price of the basic plan is 5 EUR"]),
        ("We decided to use Postgres.", ["User decided to use Postgres"]),
        ("Hey Mel! I study French.", ["User studies French"]),
        ("I'm vegetarian.", ["User is vegetarian"]),
        ("I've moved, I live in Vienna now.", ["User lives in Vienna now"]),
        ("I have moved: I live in Vienna now.", ["User lives in Vienna now"]),
        ("I've moved and live in Vienna now.", ["User lives in Vienna now"]),
        ("I moved to Berlin and work at Acme.", ["User moved to Berlin", "User works at Acme"]),
        ("Update: I live in Vienna.", ["User lives in Vienna"]),
        ("Correction: my birthday is on May 3.", ["User's birthday is on May 3"]),
        ("FYI, the office has two rooms.", ["The office has two rooms"]),
    ],
)
def test_the_first_person_becomes_the_user_and_verbs_agree(sentence: str, stated: list[str]) -> None:
    assert texts(sentence) == stated


@pytest.mark.parametrize(
    "sentence",
    [
        "How are you?",
        "Hello there!",
        "I think it may rain.",
        "Maybe I should move to Paris.",
        "Show me the picture.",
        "Install the package with pip.",
        "# I live in Berlin",
        "```\nI live in Berlin.\n```",
        "    I live in Berlin.",
        "See https://example.org for more.",
        "It is green.",
        "I'm tired.",
        "I've moved.",
        "He said: I live in Rome.",
        "Great weather today",
        "Rained all morning",
        "I'm glad to hear that.",
        "If I win, I buy a boat.",
        "I really love it.",
    ],
)
def test_questions_greetings_hedges_orders_fragments_and_code_state_nothing(sentence: str) -> None:
    assert texts(sentence) == []


def test_a_transcript_names_its_speakers() -> None:
    chat = "Ann: Hi Bob! I live in Rome.\nBob: I prefer my bike.\nAnn: We moved in May."
    assert texts(chat) == ["Ann lives in Rome", "Bob prefers their bike", "Ann moved in May"]


def test_only_the_users_turns_of_a_chat_state_facts() -> None:
    plain = "User: I live in Rome.\nAssistant: I am a language model.\nUser: I like tea."
    messages = json.dumps(
        [
            {"role": "user", "content": "I live in Rome."},
            {"role": "assistant", "content": "I am a language model."},
            {"role": "user", "content": [{"type": "text", "text": "I like tea."}]},
        ]
    )
    assert texts(plain) == texts(messages) == ["User lives in Rome", "User likes tea"]


def test_form_fields_are_not_speakers() -> None:
    assert {fact.said_by for fact in extract_facts("Status: I am open\nPrice: 5 EUR\nNote: I like tea")} <= {None}


def test_a_fact_has_the_span_of_its_sentence() -> None:
    document = "# About\n\n- **I** like tea.\n- My dog is\n  called Rex."
    facts = extract_facts(document)
    assert [draft.text for draft in facts] == ["User likes tea", "User's dog is called Rex"]
    assert [document[draft.start : draft.end] for draft in facts] == [
        "**I** like tea.",
        "My dog is\n  called Rex.",
    ]


def test_repeated_facts_are_extracted_once() -> None:
    assert texts("I like tea. i like tea. I like tea!") == ["User likes tea"]


@pytest.mark.parametrize(
    ("sentence", "static"),
    [
        ("I live in Berlin.", True),
        ("I'm allergic to nuts.", True),
        ("I prefer tea.", True),
        ("My wife is called Ana.", True),
        ("I'm Ada, 34, a nurse from Graz.", True),
        ("I'm the older sister of Eva.", True),
        ("I'm looking for a flat.", False),
        ("My deadline is 12 December.", False),
        ("I moved to Paris last month.", False),
        ("I will visit Rome.", False),
        ("I'm working on a book.", False),
        ("The build failed on Monday.", False),
    ],
)
def test_identity_is_static_and_events_are_not(sentence: str, static: bool) -> None:
    assert {draft.is_static for draft in extract_facts(sentence)} == {static}


@given(
    st.text(
        alphabet=st.sampled_from("I live in Ann: Berlin.\n#`*_[]()\"{}?!'我是。 ﬁ\u2028\u00e9\ud800"),
        max_size=120,
    )
)
def test_any_text_is_accepted_and_spans_lie_within_it(document: str) -> None:
    for draft in extract_facts(document):
        assert draft.text
        if draft.start is not None and draft.end is not None:
            assert 0 <= draft.start < draft.end <= len(document)


@pytest.mark.parametrize("unit", ["*", "\n", " ", "\t", "_", "> ", "- ", ".", "\u6211\u4f4f\u5728\u4e0a\u6d77"])
@pytest.mark.timeout(60)
def test_a_long_run_of_one_thing_is_fast(unit: str) -> None:
    assert extract_facts(unit * 60_000) == []


def test_a_long_line_without_stops_is_fast() -> None:
    assert extract_facts("I " * 200_000) == []
    assert extract_facts("[" * 50_000 + "*" * 50_000) == []
    assert extract_facts("Ann: " * 20_000) == []
    assert extract_facts("Ann: I am happy" + " and a" * 24 + "; x") == []
    assert extract_facts("Ann: I" + " always be" * 20 + " x it") == []
    assert extract_facts("From: a\nTo: b\n\n" * 5_000 + "> a\n" * 5_000) == []
