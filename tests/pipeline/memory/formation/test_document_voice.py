"""Facts about the user come from what the user says, not from what a message shows or a file holds."""

import pytest

from pipeline.memory.formation.document_voice import find_passages
from pipeline.memory.formation.rule_based_extraction import extract_facts

LICENCE = (
    "The Licensee shall not sublicense the Software. My Company Ltd hereby disclaims all warranties. "
    "I accept the liability of Acme Corp pursuant to the governing law. "
) * 40


def texts(document: str, document_type: str = "text") -> list[str]:
    return [fact.text for fact in extract_facts(document, document_type=document_type)]


@pytest.mark.parametrize(
    "message",
    [
        "Please proofread this: I am live in Oslo since 3 year and I has a dog.",
        "Can you translate this to German:\nI work at Siemens and my wife is Anna.",
        'He texted me: "I moved to Berlin and I have a new job"',
        "Let's role play: you are my boss. I am a pirate named Jack. I live on a ship.",
        "The song goes 'I'm from Georgia, I'm a peach'",
        "```\nI live in Rome.\n```",
        "> I live in Rome.",
    ],
)
def test_what_a_message_quotes_or_pastes_says_nothing_of_its_writer(message: str) -> None:
    assert texts(message) == []


@pytest.mark.parametrize(
    ("document", "facts"),
    [
        ("Protocol buffers are what I use at work. I live in Rome.", ["User lives in Rome"]),
        ("Present: my new bike. I live in Rome.", ["User lives in Rome"]),
        ("Present: Ann, Bob\nWe ship on Friday.", ["The team ships on Friday"]),
        ("Minutes of the board\n\nWe ship on Friday.", ["The team ships on Friday"]),
    ],
)
def test_minutes_are_told_from_their_heading(document: str, facts: list[str]) -> None:
    assert texts(document) == facts


@pytest.mark.parametrize(
    ("document", "speakers"),
    [
        ("Monday 9:00\nI have a dentist appointment\nTuesday 10:00\nI fly to Rome", [None]),
        ("Breakfast 8:00\nI eat eggs.", [None]),
        ("Gym 8:00\nI lift weights.", [None]),
        ("Ann 9:00\nI like tea.\nBob 9:01\nI like milk.\nAnn 9:02\nI see.", ["Ann", "Bob", "Ann"]),
        ("Ann  9:00 AM\nI like tea.", ["Ann"]),
    ],
)
def test_a_diary_is_no_copied_chat(document: str, speakers: list[str | None]) -> None:
    assert [passage.utterance.speaker for passage in find_passages(document)] == speakers


def test_what_stands_before_the_pasted_part_counts() -> None:
    assert texts("I live in Rome. Please translate this: I live in Oslo.") == ["User lives in Rome"]


def test_a_file_is_about_what_it_names() -> None:
    assert texts("Acme's CEO is Jane Smith. I live in Rome.", "pdf") == ["Acme's CEO is Jane Smith"]


@pytest.mark.parametrize("document_type", ["text", "pdf"])
def test_a_licence_forms_no_memories(document_type: str) -> None:
    assert texts(LICENCE, document_type) == []
