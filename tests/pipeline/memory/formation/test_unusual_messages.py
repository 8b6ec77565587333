"""Messages with what a program printed, requests that tell of people, fuller answers, times and names."""

import pytest

from pipeline.memory.formation.pasted_material import blank_pasted
from pipeline.memory.formation.rule_based_extraction import iter_facts

TRACEBACK = """Traceback (most recent call last):
  File "app.py", line 3, in <module>
    run()
ValueError: my value is wrong
"""
TYPE_ERROR = """got this on my pi:
TypeError: Cannot read properties of undefined (reading 'map')
    at render (App.js:12:5)
"""


def _memories(text: str) -> list[str]:
    return [fact.text for fact in iter_facts(text)]


@pytest.mark.parametrize(
    ("printed", "memory"),
    [
        (TRACEBACK + "why? I'm using python 3.12 on a macbook", "User is using python 3.12 on a macbook"),
        (TYPE_ERROR + "I deploy with docker compose", "User deploys with docker compose"),
        (
            "$ git push\nfatal: I am not allowed to\nremote: my branch is protected\nour repo is on GitLab",
            "User's repo is on GitLab",
        ),
    ],
)
def test_what_a_program_printed_is_nobodys_word(printed: str, memory: str) -> None:
    assert _memories(printed) == [memory]


def test_a_poem_for_a_relative_tells_of_them_and_one_about_autumn_of_nobody() -> None:
    assert _memories("Write a poem for my grandma Edith. She used to be a seamstress in Leeds.") == [
        "User's grandma is called Edith",
        "User's grandma used to be a seamstress in Leeds",
    ]
    assert _memories("Write a poem about autumn. I am the wind and I live in the trees.") == []


@pytest.mark.parametrize(
    ("asked", "answer", "memories"),
    [
        ("Do you have kids?", "two, Leo and Ana", ["User has two kids, Leo and Ana"]),
        ("What's your name?", "Tomás, and i'm 41", ["User's name is Tomás", "User is 41"]),
        (
            "Where do you work?",
            "used to be at Seat, now i drive a taxi",
            ["User used to be at Seat", "User drives a taxi now"],
        ),
    ],
)
def test_an_answer_may_say_more_than_was_asked(asked: str, answer: str, memories: list[str]) -> None:
    assert _memories(f"Assistant: {asked}\nUser: {answer}") == memories


@pytest.mark.parametrize(
    ("message", "memories"),
    [
        ("Max is diabetic, gets insulin at 7am and 7pm", ["Max is diabetic", "Max gets insulin at 7am and 7pm"]),
        ("call me Sam not Samantha", ["User wants to be called Sam"]),
        ("my flight is BA 283, vegetarian meal booked", ["User's flight is BA 283"]),
        ("my blood sugar was 142 this morning. on metformin", ["User's blood sugar was 142 this morning"]),
    ],
)
def test_times_names_and_meals_are_read_as_meant(message: str, memories: list[str]) -> None:
    assert _memories(message)[: len(memories)] == memories


@pytest.mark.parametrize(
    ("notes", "memory"),
    [
        ("Discharge summary: Mr. Reid, 71\nAllergic to penicillin. Lives alone.", "Mr. Reid is allergic to penicillin"),
        ("Parent-teacher meeting, Mila (4b)\n- allergic to kiwi\n- reading is strong", "Mila is allergic to kiwi"),
        ("Interview notes: Jane Doe\nKnows Go and Rust. Based in Leeds.", "Jane Doe knows Go and Rust"),
        ("Trip notes, Lisbon\n- allergic to shellfish so no marisqueira", "User is allergic to shellfish"),
        ("Intake - Mrs. Roy\nDischarged on doxycycline 100 mg.", "Mrs. Roy was discharged on doxycycline 100 mg"),
    ],
)
def test_a_title_of_notes_names_whom_they_are_about(notes: str, memory: str) -> None:
    assert memory in _memories(notes)


def test_a_price_is_no_command_and_a_question_in_notes_no_statement() -> None:
    assert blank_pasted("$ 40 an hour at Ford") == "$ 40 an hour at Ford"
    assert _memories("Interview notes: Jane Doe\nKnows Go and Rust?") == []


def test_minutes_keep_decisions_tasks_and_who_is_away() -> None:
    minutes = (
        "Standup notes\n- Decision: release moves to 2 Dec\n- Action: Raj to mail vendor by Mon\n- Olu: away Thursday\n"
    )
    assert _memories(minutes) == [
        "The team decided that the release moves to 2 Dec",
        "Raj is to mail vendor by Mon",
        "Olu is away Thursday",
    ]
