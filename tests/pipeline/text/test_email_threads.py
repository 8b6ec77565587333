"""Mails and comments: who wrote what, and when."""

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.text.calendar_day import parse_calendar_day
from pipeline.text.speaker_attribution import parse_utterances

MAIL = """From: Ann Lee <ann@example.org>
To: Bob <bob@example.org>
Date: Mon, 8 May 2023 10:00:00 +0000
Subject: Moving

Hi Bob,

I moved to Rome yesterday.

Best regards,
Ann
I am the head of Nothing.

On Sun, 7 May 2023 at 12:01, Bob Ray <bob@example.org> wrote:
> I bought a boat last week.
> Will you visit?
"""
THREAD = """# Boats

I keep boats.

## Ann Lee <ann@example.org>, 2023-05-08 12:00 UTC

To: Bob Ray

I sold my boat yesterday.

## octocat, 2023-05-09

I live in Oslo.
"""


def texts(document: str, today: date | None = None) -> list[str]:
    return [draft.text for draft in extract_facts(document, today)]


def test_a_mail_is_said_by_its_sender_on_its_day_and_what_it_quotes_by_whom_it_quotes() -> None:
    assert texts(MAIL) == [
        "Ann Lee moved to Rome on 7 May 2023",
        "Bob Ray bought a boat in the week of 24 April 2023",
    ]
    first, quoted = extract_facts(MAIL)
    assert MAIL[first.start : first.end] == "I moved to Rome yesterday."
    assert quoted.start is None, "the document has it with marks of quotation"


def test_a_sender_without_a_name_has_that_of_the_signature() -> None:
    mail = (
        "From: hr@example.org\nTo: all@example.org\n\nI work from Leeds.\n\nKind regards\n\nTom Reilly\nHR Operations\n"
    )
    assert texts(mail) == ["Tom Reilly works from Leeds"]
    assert texts(mail.replace("Tom Reilly\nHR Operations", "phone: 030 12")) == ["Hr@example.org works from Leeds"]


@pytest.mark.parametrize("signature", ["Sängergruß\nTom, Obmann", "Best,\nTom, secretary", "Kind regards, Tom", "Tom"])
def test_a_letter_is_by_the_name_below_it_and_not_by_what_its_writer_is(signature: str) -> None:
    assert texts(f"Dear Ada,\n\nI work from Leeds.\n\n{signature}") == ["Tom works from Leeds"]


def test_a_mail_may_begin_with_its_subject_as_what_is_extracted_from_a_file_does() -> None:
    sender, *fields, subject = MAIL[: MAIL.index("\n\n")].split("\n")
    extracted = MAIL.replace("\n".join([sender, *fields, subject]), "\n".join([subject, sender, *fields]))
    assert extracted != MAIL
    assert texts(extracted) == texts(MAIL)


@pytest.mark.parametrize(
    "wrote",
    [
        "On Sun, 7 May 2023 at 12:01, Bob Ray wrote:",
        "On Sun, 7 May 2023 Bob Ray wrote:",
        "On 7 May 2023 at 12:01 Bob Ray <bob1@example.org> wrote:",
        "Am 7.5.2023 um 12:01 schrieb Bob Ray:",
    ],
)
def test_who_is_quoted_is_told_from_the_day(wrote: str) -> None:
    assert texts(f"{MAIL[: MAIL.index('On Sun')]}{wrote}\n> I like tea.\n")[-1] == "Bob Ray likes tea"


def test_each_part_of_a_thread_has_its_writer_and_its_day() -> None:
    assert texts(THREAD, date(2024, 1, 1)) == [
        "User keeps boats",
        "Ann Lee sold their boat on 7 May 2023",
        "Octocat lives in Oslo",
    ]


def test_mails_below_each_other_are_each_said_by_their_sender() -> None:
    document = "From: Ann\nTo: Bob\n\nI like tea.\n\n----\nFrom: Bob\nSent: 8 May 2023\nTo: Ann\n\nI like milk.\n"
    assert texts(document) == ["Ann likes tea", "Bob likes milk"]


def test_what_is_answered_between_quotations_is_the_writers_own() -> None:
    document = "From: Ann\nTo: Bob\n\n> Where?\nI live in Rome.\n> Do you like it?\nI like my street.\n"
    assert texts(document) == ["Ann lives in Rome", "Ann likes their street"]


@pytest.mark.parametrize(
    "stamped",
    [
        "[2023-05-08 13:56] Ann: I saw a whale yesterday.\n",
        "08.05.2023, 13:56 - Ann: I saw a whale yesterday.\n",
        "[8 May 2023, 13:56] Ann: I saw a whale yesterday.\n",
    ],
)
def test_a_stamped_turn_is_said_on_its_day(stamped: str) -> None:
    assert texts(stamped, date(2024, 1, 1)) == ["Ann saw a whale on 7 May 2023"]


def test_a_message_of_a_json_chat_is_said_when_it_was_stamped() -> None:
    said = '[{"role": "user", "content": "I saw a whale yesterday.", "timestamp": "2023-05-08T10:00:00Z"}]'
    assert texts(said, date(2024, 1, 1)) == ["User saw a whale on 7 May 2023"]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("8.5.2023", date(2023, 5, 8)),
        ("31/12/23", date(2023, 12, 31)),
        ("12/31/2023", date(2023, 12, 31)),
        ("5/8/2023", None),
        ("May 8, 2023", date(2023, 5, 8)),
        ("2023-02-31", None),
        ("Monday", None),
    ],
)
def test_a_day_is_read_only_where_it_is_clear(written: str, day: date | None) -> None:
    assert parse_calendar_day(written) == day


@pytest.mark.parametrize("date_field", ["1 Jan 99999999999 10:00:00", "1 Jan 2024 10:00 +99999999999999999999"])
def test_a_mail_whose_day_no_calendar_has_is_read(date_field: str) -> None:
    assert texts(MAIL.replace("Mon, 8 May 2023 10:00:00 +0000", date_field), date(2023, 5, 9))


LINES = st.sampled_from(
    ["From: Ann", "To: Bob", "Date: x", "", "> I like tea.", "I like milk.", "On 8 May 2023, Bob wrote:",
     "-- ", "## Ann, 2023-05-08", "## Ann, 2023-99-99", "Thanks,", "From: "]
)  # fmt: skip


@settings(max_examples=60)
@example(["Date: x", "On 8 May 2023, Bob wrote:", "From: Ann"])
@given(st.lists(LINES, max_size=12))
def test_any_thread_is_read_and_its_spans_are_what_was_said(lines: list[str]) -> None:
    document = "\n".join(lines)
    for draft in extract_facts(document):
        if draft.start is not None:
            assert "I like" in document[draft.start : draft.end]


def test_fields_that_mail_programs_invent_say_nothing() -> None:
    text = (
        "X-Foo: Bar lives in Rome\nReceived: from a.example\n\tby b.example; Mon\nFrom: Ann <a@b.c>\n"
        "X-Spam-Status: No, Bob lives in Paris\nSubject: x\n\nI moved.\n"
    )
    assert [(said.speaker, said.text.strip()) for said in parse_utterances(text)] == [("Ann", "I moved.")]


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        ("I live in Rome. I tried to unsubscribe from the paper.", True),
        ("I live in Rome.\n_______________________\nTo unsubscribe send a mail to <x@example.org>", True),
        ("I live in Rome.\n\nUnsubscribe | View in browser", False),
        ("I live in Rome.\n\nNo more mail? Click here to unsubscribe.", False),
    ],
)
def test_bulk_mail_is_told_from_its_footer(body: str, is_read: bool) -> None:
    assert bool(texts(f"From: Ann <marketing@example.org>\nTo: Bob\n\n{body}\n")) is is_read


def test_what_a_part_of_a_thread_forwards_is_not_its_writers() -> None:
    document = (
        "## Ann, 2026-11-16\n\nI like tea.\n\n---------- Forwarded message ---------\nFrom: X\n\nI live in Ulm.\n"
    )
    assert texts(document) == ["Ann likes tea"]


def test_fields_without_a_sender_are_read_in_linear_time() -> None:
    assert [said.speaker for said in parse_utterances("X-Key: v\n" * 20_000)] == [None]
