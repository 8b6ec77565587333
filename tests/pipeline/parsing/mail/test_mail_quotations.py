"""Quotations of earlier messages are left out, and nothing else is."""

import pytest

from pipeline.parsing.mail.mail_quotations import KnownText, strip_quotations

ASKED = "Shall we paint the lighthouse this spring? And who buys the white paint?"


def _known(*texts: str) -> KnownText:
    known = KnownText()
    for text in texts:
        known.add(text)
    return known


@pytest.mark.parametrize(
    "quotation",
    [
        f"On Sun, 1 Mar 2026 at 12:01, Ada <ada@example.test> wrote:\n> {ASKED}",
        f"On Sun, 1 Mar 2026 at 12:01, Ada <ada@example.test>\nwrote:\n\n> {ASKED[:40]}\n> {ASKED[40:]}",
        f"2026年3月1日(日) 12:01 Ada <ada@example.test>:\n\n> {ASKED}",
        f"-----Original Message-----\nFrom: Ada\nSent: Sunday\nTo: Grace\nSubject: a\n\n{ASKED}",
        f"________________________________\nVon: Ada\nGesendet: Sonntag\nAn: Grace\nBetreff: a\n\n{ASKED}",
        f"**From:** Ada <ada@example.test>  \n**Sent:** Sunday  \n**To:** Grace  \n**Subject:** a\n\n{ASKED}",
    ],
)
def test_what_was_said_before_is_left_out_with_its_introduction(quotation: str) -> None:
    assert strip_quotations(f"Yes, in April.\n\n{quotation}", _known(ASKED)) == "Yes, in April."


def test_answers_between_quoted_lines_are_kept_in_order() -> None:
    text = "> Shall we paint the lighthouse this spring?\nYes.\n> And who buys the white paint?\nGrace does.\n\nAda"
    assert strip_quotations(text, _known(ASKED)) == "Yes.\nGrace does.\n\nAda"


def test_answers_inside_the_quoted_message_of_outlook_are_kept() -> None:
    header = "From: Ada\nSent: Sunday\nTo: Grace\nSubject: a"
    text = f"See below.\n\n{header}\n\n{ASKED}\n[Grace] Hank buys it at the harbour.\n{ASKED}"
    stripped = strip_quotations(text, _known(ASKED))
    assert stripped.split() == ["See", "below.", "[Grace]", "Hank", "buys", "it", "at", "the", "harbour."]


@pytest.mark.parametrize("kept", ["> An offer of 300 euros that nobody in this thread has seen.", "> 300 euros"])
def test_a_quotation_of_a_message_outside_the_thread_is_kept(kept: str) -> None:
    assert strip_quotations(f"Look:\n\n{kept}", _known(ASKED)) == f"Look:\n\n{kept}"


def test_a_mail_that_outlook_forwards_is_kept_with_its_header() -> None:
    text = (
        "FYI\n\n________________________________\nFrom: Bob <bob@example.test>\nSent: Monday, 2 March 2026 09:00\n"
        "To: Ada\nSubject: The offer\n\nThe paint costs 300 euros if you order before Friday."
    )
    assert strip_quotations(text, _known(ASKED)) == text


def test_the_first_message_of_a_thread_is_kept_whole() -> None:
    text = f"On Sunday Ada <a@b.c> wrote:\n> {ASKED}"
    assert strip_quotations(text, _known()) == text


def test_a_header_that_is_all_there_is_of_a_message_is_kept() -> None:
    text = "Undelivered:\n\nFrom: Ada\nDate: Sunday\nTo: Grace\nSubject: Paint"
    assert strip_quotations(text, _known()) == text
