"""What people dictate or type in a hurry: glued clauses, spoken marks, left-out words, what a doctor said."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

FRIDAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("weigh 84.2", ["User weighs 84.2"]),
        ("Sis: mum's new number is 0770 900 812", ["User's mum's new number is 0770 900 812"]),
        (
            "Back on the 12th, I have the 11th off anyway.",
            ["User is back on the 12th", "User has the 11th off"],
        ),
        ("bruh mom took my phone", ["User's mom took User's phone"]),
    ],
)
def test_what_is_said_without_stops_forms_a_memory_each(message: str, facts: list[str]) -> None:
    assert [fact.text for fact in extract_facts(message, FRIDAY)] == facts


@pytest.mark.parametrize(
    "message",
    [
        "I think my boss is an idiot",
        "They pay too much attention to detail",
        "the nurse was rude and she said I should lose weight",
        "Back on the 3rd floor they have a cafe",
        "year 2 without rent increases",
    ],
)
def test_what_only_looks_like_it_forms_none(message: str) -> None:
    assert extract_facts(message, FRIDAY) == []


@pytest.mark.parametrize(
    ("message", "unsaid"),
    [
        ("We live at altitude, so add ten minutes.", "adds"),
        ("my mom saw the doctor and she said my room is a mess", "mess"),
        ("the doctor wants me off work until Monday", "no longer"),
        ("Homework: I shouted at Leo over the shoes", "Homework shouted"),
    ],
)
def test_an_instruction_and_what_somebody_else_said_are_no_facts(message: str, unsaid: str) -> None:
    assert not any(unsaid in fact.text for fact in extract_facts(message, FRIDAY))


def test_names_and_pronouns_begin_clauses_of_what_is_talked_without_stops() -> None:
    said = "so i talked to her and Greta got the flat in Leith she moves on the first and Tom has left the band in may"
    assert [fact.text for fact in extract_facts(said, FRIDAY)] == [
        "Greta got the flat in Leith",
        "Greta moves on the first",
        "Tom has left the band in May",
    ]
