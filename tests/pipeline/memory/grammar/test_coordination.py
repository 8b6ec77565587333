"""Second verbs: whose they are, and where that is in doubt."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts


def texts(document: str) -> list[str]:
    return [draft.text for draft in extract_facts(document)]


@pytest.mark.parametrize(
    ("sentence", "facts"),
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
        ("We held a party and met two painters.", ["User held a party", "User met two painters"]),
    ],
)  # fmt: skip
def test_each_verb_of_one_subject_is_a_fact(sentence: str, facts: list[str]) -> None:
    assert texts(sentence) == facts


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("My mother is vegan and my brother won't eat cheese.",
         ["User's mother is vegan", "User's brother won't eat cheese"]),
        ("Dana got the job and Phil will start in May.", ["Dana got the job", "Phil will start in May"]),
        ("Susan is a pharmacist and her husband Imran is an engineer at Airbus.",
         ["Susan is a pharmacist", "Susan's husband Imran is an engineer at Airbus"]),
        ("Tom is a doctor and his sister Ann works at Shell.", ["Tom is a doctor", "Tom's sister Ann works at Shell"]),
    ],
)  # fmt: skip
def test_a_second_verb_keeps_the_subject_before_it(sentence: str, facts: list[str]) -> None:
    assert texts(sentence) == facts


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("I sold my Warhammer army so I can buy a printer.", ["User sold their Warhammer army"]),
        ("I have celiac so I can't eat bread.", ["User has celiac", "User can't eat bread"]),
    ],
)
def test_a_purpose_is_no_fact_but_a_consequence_is(sentence: str, facts: list[str]) -> None:
    assert texts(sentence) == facts


def test_a_question_that_the_parser_crosses_ends_nothing() -> None:
    assert texts("What does Gina's tattoo symbolize?\nGina has a tattoo of a swallow.") == [
        "Gina has a tattoo of a swallow"
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "The man who lives in Rome and works at Acme is tall.",
        "Bob bought used and renewed laptops.",
        "Ann likes tea and drinks with friends.",
        "Ann loves hikes and walks in the park.",
        "I want to live in Rome and work at Acme.",
        "I'm a mix of excited and scared to get into fashion.",
    ],
)
def test_ambiguous_coordinations_are_not_split(sentence: str) -> None:
    assert len(texts(sentence)) == 1


@pytest.mark.parametrize(
    "sentence", ["Bob says Ann lives in Rome and works at Acme.", "Ann said she was tired and left the office."]
)
def test_what_somebody_says_of_others_is_no_fact(sentence: str) -> None:
    assert texts(sentence) == []


def test_a_passive_is_not_split() -> None:
    assert texts("The old mill in Graz was built in 1900 and renovated in 1990.") == [
        "The old mill in Graz was built in 1900 and renovated in 1990"
    ]
