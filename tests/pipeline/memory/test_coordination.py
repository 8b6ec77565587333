"""Second verbs: whose they are, and where that is in doubt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.coordination import shared_subject
from pipeline.memory.drafts import drafts


def texts(document: str) -> list[str]:
    return [draft.text for draft in drafts(document)]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Maria works at Siemens and has two cats.", ["Maria works at Siemens", "Maria has two cats"]),
        ("Ann lives in Rome, works at Acme and has a dog.",
         ["Ann lives in Rome", "Ann works at Acme", "Ann has a dog"]),
        ("The project starts on 1 December and costs 12,000 euros.",
         ["The project starts on 1 December", "The project costs 12,000 euros"]),
        ("My sister works at Bosch and has two cats.",
         ["User's sister works at Bosch", "User's sister has two cats"]),
        ("Tom is a nurse and is from Graz.", ["Tom is a nurse", "Tom is from Graz"]),
        ("Rex is a collie and he is three years old.", ["Rex is a collie", "Rex is three years old"]),
        ("I'm a nurse and have two kids.", ["User is a nurse", "User has two kids"]),
        ("I just moved to Berlin and started at Acme.",
         ["User just moved to Berlin", "User started at Acme"]),
        ("We held a party and met some people.", ["We held a party", "We met some people"]),
    ],
)  # fmt: skip
def test_each_verb_of_one_subject_is_a_fact(sentence: str, said: list[str]) -> None:
    assert texts(sentence) == said


@pytest.mark.parametrize(
    "sentence",
    [
        "Bob says Ann lives in Rome and works at Acme.",
        "Ann said she was tired and left the office.",
        "The man who lives in Rome and works at Acme is tall.",
        "The house was built in 1900 and renovated in 1990.",
        "Bob bought used and renewed laptops.",
        "Ann likes tea and drinks with friends.",
        "Ann loves hikes and walks in the park.",
        "I want to live in Rome and work at Acme.",
        "I'm a mix of excited and scared to get into fashion.",
    ],
)
def test_where_it_may_be_anothers_or_no_verb_the_sentence_stays_whole(sentence: str) -> None:
    assert len(texts(sentence)) == 1


WORDS = st.sampled_from(
    [
        "Ann",
        "I",
        "We",
        "My",
        "The",
        "and",
        "lives",
        "works",
        "has",
        "was",
        "in",
        "Rome",
        "a",
        "dog",
        ",",
        "who",
    ]
)


@settings(max_examples=100)
@given(st.lists(WORDS, min_size=1, max_size=10).map(" ".join))
def test_a_shared_subject_is_how_its_clause_begins(sentence: str) -> None:
    head, _, rest = sentence.partition(" and ")
    subject = shared_subject(head, rest) if head else None
    assert subject is None or head.startswith(subject)
