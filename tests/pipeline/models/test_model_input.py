"""What a model reads of a text: what is said, and nothing of how it is wrapped."""

import json

import pytest

from pipeline.models.model_input import lowered_if_shouted, said_in

FACT = "The washing machine leaks whenever it spins."
MAIL = f"""From: Jo Field <jo@example.org>
To: Sam <sam@example.org>
Subject: Kitchen
Date: Mon, 2 Mar 2026 10:00:00 +0100

{FACT}

Best regards,
Jo Field
+49 30 1234567
"""


@pytest.mark.parametrize("label", ["user: ", "User: ", "assistant: ", "HUMAN : ", "  ai: "])
def test_labels_of_turns_are_not_read(label: str) -> None:
    assert said_in(f"{label}{FACT}\n{label}Noted.") == f"{FACT}\nNoted."


def test_names_of_speakers_are_read() -> None:
    assert said_in(f"Jo: {FACT}") == f"Jo: {FACT}"


def test_the_syntax_of_a_chat_in_json_is_not_read() -> None:
    chat = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    for indent in (None, 2):
        assert said_in(json.dumps(chat, indent=indent)).split() == f"{FACT} Noted.".split()


def test_of_a_mail_its_subject_and_its_text_are_read() -> None:
    assert said_in(MAIL) == f"Kitchen\n\n{FACT}"


@pytest.mark.parametrize(
    "closing", ["Cheers,\nJo", "Viele Grüße\nJo", "Un saludo,\nJo", "-- \nJo\nField Ltd", "Sent from my phone"]
)
def test_a_signature_is_not_read(closing: str) -> None:
    assert said_in(f"{FACT}\n\n{closing}\n") == FACT


@pytest.mark.parametrize(
    "text",
    [
        FACT,
        "Thanks,",
        "From: Jo\nTo: Sam\n",
        "user:",
        "Thanks\n" + "One more thing.\n" * 9,
        "Note: the key is under the mat",
    ],
)
def test_other_texts_are_read_as_they_are(text: str) -> None:
    assert said_in(text) == text.strip() or said_in(text) == text


def test_a_text_in_capitals_is_read_in_small_letters() -> None:
    assert said_in("user: I LIVE IN LEEDS") == "i live in leeds"
    assert lowered_if_shouted("Is HSR in Bengaluru?") == "Is HSR in Bengaluru?"
