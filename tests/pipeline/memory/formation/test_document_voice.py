"""Facts about the user come from what the user says, not from what a message shows or a file holds."""

import pytest

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


def test_what_stands_before_the_pasted_part_counts() -> None:
    assert texts("I live in Rome. Please translate this: I live in Oslo.") == ["User lives in Rome"]


def test_a_file_is_about_what_it_names() -> None:
    assert texts("Acme's CEO is Jane Smith. I live in Rome.", "pdf") == ["Acme's CEO is Jane Smith"]


@pytest.mark.parametrize("document_type", ["text", "pdf"])
def test_a_licence_forms_no_memories(document_type: str) -> None:
    assert texts(LICENCE, document_type) == []
