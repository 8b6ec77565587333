"""What documents state, as facts that stand on their own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.memory.drafts import drafts


def texts(document: str) -> list[str]:
    return [draft.text for draft in drafts(document)]


@pytest.mark.parametrize(
    ("said", "stated"),
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
        ("I went home and bought milk.", ["User went home", "User bought milk"]),
        ("My sister lives with me.", ["User's sister lives with User"]),
        ("Alice works at Google.", ["Alice works at Google"]),
        ("The price of the basic plan is 5 EUR.", ["The price of the basic plan is 5 EUR"]),
        ("We decided to use Postgres.", ["We decided to use Postgres"]),
        ("Hey Mel! I study French.", ["User studies French"]),
        ("I'm vegetarian.", ["User is vegetarian"]),
        ("I've moved, I live in Vienna now.", ["User lives in Vienna now"]),
        ("I have moved: I live in Vienna now.", ["User has moved", "User lives in Vienna now"]),
        ("I've moved and live in Vienna now.", ["User lives in Vienna now"]),
        ("I moved to Berlin and work at Acme.", ["User moved to Berlin", "User works at Acme"]),
        ("Update: I live in Vienna.", ["User lives in Vienna"]),
        ("Correction: my birthday is on May 3.", ["User's birthday is on May 3"]),
        ("FYI, the office has two rooms.", ["The office has two rooms"]),
    ],
)
def test_the_first_person_becomes_the_user_and_verbs_agree(said: str, stated: list[str]) -> None:
    assert texts(said) == stated


@pytest.mark.parametrize(
    "said",
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
        "I'm glad to hear that.",
        "If I win, I buy a boat.",
        "I really love it.",
    ],
)
def test_questions_greetings_hedges_orders_fragments_and_code_state_nothing(said: str) -> None:
    assert texts(said) == []


def test_a_transcript_says_who_speaks() -> None:
    chat = "Ann: Hi Bob! I live in Rome.\nBob: I prefer my bike.\nAnn: We moved in May."
    assert texts(chat) == ["Ann lives in Rome", "Bob prefers their bike", "Ann and others moved in May"]


def test_in_a_chat_the_user_is_heard_and_the_assistant_is_not() -> None:
    plain = "User: I live in Rome.\nAssistant: I am a language model.\nUser: I like tea."
    messages = json.dumps(
        [
            {"role": "user", "content": "I live in Rome."},
            {"role": "assistant", "content": "I am a language model."},
            {"role": "user", "content": [{"type": "text", "text": "I like tea."}]},
        ]
    )
    assert texts(plain) == texts(messages) == ["User lives in Rome", "User likes tea"]


def test_fields_of_a_form_are_no_speakers() -> None:
    assert texts("Status: I am open\nPrice: 5 EUR\nNote: I like tea") == []


def test_a_fact_knows_its_sentence() -> None:
    document = "# About\n\n- **I** like tea.\n- My dog is\n  called Rex."
    found = drafts(document)
    assert [draft.text for draft in found] == ["User likes tea", "User's dog is called Rex"]
    assert [document[draft.start : draft.end] for draft in found] == [
        "**I** like tea.",
        "My dog is\n  called Rex.",
    ]


def test_each_fact_is_stated_once() -> None:
    assert texts("I like tea. i like tea. I like tea!") == ["User likes tea"]


@pytest.mark.parametrize(
    ("said", "static"),
    [
        ("I live in Berlin.", True),
        ("I'm allergic to nuts.", True),
        ("I prefer tea.", True),
        ("My wife is called Ana.", True),
        ("I'm Ada, a nurse from Graz.", True),
        ("I'm the older sister of Eva.", True),
        ("I'm looking for a flat.", False),
        ("My deadline is 12 December.", False),
        ("I'm under a lot of pressure.", False),
        ("I moved to Paris last month.", False),
        ("I will visit Rome.", False),
        ("I'm working on a book.", False),
        ("The build failed on Monday.", False),
    ],
)
def test_who_somebody_is_lasts_and_what_happens_does_not(said: str, static: bool) -> None:
    assert [draft.is_static for draft in drafts(said)] == [static]


@given(
    st.text(
        alphabet=st.sampled_from("I live in Ann: Berlin.\n#`*_[]()\"{}?!'我是。 ﬁ\u2028\u00e9\ud800"),
        max_size=120,
    )
)
def test_any_text_is_read_and_spans_lie_within_it(document: str) -> None:
    for draft in drafts(document):
        assert draft.text
        if draft.start is not None and draft.end is not None:
            assert 0 <= draft.start < draft.end <= len(document)


def test_a_long_line_without_stops_is_read_in_no_time() -> None:
    assert drafts("I " * 200_000) == []
    assert drafts("[" * 50_000 + "*" * 50_000) == []
    assert drafts("Ann: " * 20_000) == []
    assert drafts("Ann: I am happy" + " and a" * 24 + "; x") == []
    assert drafts("Ann: I" + " always be" * 20 + " x it") == []
    assert drafts("From: a\nTo: b\n\n" * 5_000 + "> a\n" * 5_000) == []
