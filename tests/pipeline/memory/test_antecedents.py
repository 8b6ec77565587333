"""He and she are named where there is no doubt who is meant, and nobody is guessed."""

import pytest

from pipeline.memory.antecedents import named
from pipeline.memory.drafts import drafts


def texts(document: str) -> list[str]:
    return [draft.text for draft in drafts(document)]


def test_whoever_the_sentence_before_is_about_stays_the_subject_while_nobody_else_is_named() -> None:
    assert texts("My sister Ana works in Rome. She's a nurse. Her dog is called Rex. He barks.") == [
        "User's sister Ana works in Rome",
        "User's sister Ana is a nurse",
        "User's sister Ana's dog is called Rex",
    ]
    assert texts("Alice works at Google. She lives in Rome.") == [
        "Alice works at Google",
        "Alice lives in Rome",
    ]
    assert texts("Maria works at the LKH Hospital and has two cats, Mimi and Tom. She eats no meat.")[2:] == [
        "Maria eats no meat"
    ]
    assert texts("Ana works at Acme. In 2020 she moved to Rome.")[1:] == ["Ana moved to Rome in 2020"]
    assert texts("Ann: My dog Max turned five. He loves the beach.") == [
        "Ann's dog Max turned five",
        "Ann's dog Max loves the beach",
    ]


@pytest.mark.parametrize(
    "before",
    [
        "Alice met Barbara.",
        "My sister called my mother.",
        "The weather is nice.",
        "Alice works with a woman from Rome.",
        "Alice has a son, Ben.",
        "Alice met Barbara and Carla.",
        "Alice?",
    ],
)
def test_where_it_could_be_somebody_else_nothing_is_said(before: str) -> None:
    assert not any("Oslo" in text for text in texts(f"{before} She lives in Oslo."))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("She's been to Rome.", "Ana has been to Rome."),
        ("She'll move.", "Ana will move."),
        ("His car broke.", "Ana's car broke."),
        ("Last year she moved.", "Last year Ana moved."),
        ("They moved.", "They moved."),
    ],
)
def test_a_pronoun_becomes_a_name(said: str, text: str) -> None:
    assert named(said, "Ana") == text
