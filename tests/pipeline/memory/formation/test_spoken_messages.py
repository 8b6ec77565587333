"""What people dictate or type in a hurry: glued clauses, spoken marks, left-out words, what a doctor said."""

from datetime import date

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts

FRIDAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            "so um i went to the doctor and she said my cholesterol is too high so anyway call me when you get this",
            ["User went to the doctor", "User's cholesterol is too high"],
        ),
        (
            "i talked to my doctor and she wants me off lisinopril so from monday it's losartan fifty mg at night",
            [
                "User is no longer on lisinopril",
                "User takes losartan fifty mg at night from Monday",
            ],
        ),
        (
            "so i started at the bakery on monday it's four am starts but they pay sixteen an hour and i love it there",
            ["User started at the bakery on 23 November 2026", "User gets paid sixteen an hour"],
        ),
        (
            "my name is Margaret comma I am eighty one full stop I live in Truro and I take a water tablet full stop",
            [
                "User's name is Margaret",
                "User is eighty one years old",
                "User lives in Truro",
                "User takes a water tablet",
            ],
        ),
        ("um i think my blood type is o negative yes o negative", ["User's blood type is o negative"]),
        ("day 12 without alcohol", ["User has been without alcohol for 12 days"]),
        ("weigh 84.2", ["User weighs 84.2"]),
        ("the surgery got moved its now on december third", ["The surgery is now on December third"]),
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
