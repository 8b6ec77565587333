"""Texts without some of their sentences."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.erasure.redacted_text import Span, redact, whole_sentences


def _without(text: str, *said: str) -> str:
    spans = [Span(text.index(part), text.index(part) + len(part)) for part in said]
    return redact(text, whole_sentences(text, spans)).text


@pytest.mark.parametrize(
    ("text", "said", "left"),
    [
        ("I live in Porto. I'm allergic to nuts. I like tea.", "allergic to nuts", "I live in Porto. I like tea."),
        ("Ann: I'm allergic to nuts.\nBob: Sorry!", "I'm allergic to nuts.", "Bob: Sorry!"),
        ("Ann: Hello. I'm allergic to nuts.\nBob: Sorry!", "I'm allergic to nuts", "Ann: Hello. \nBob: Sorry!"),
        ("- tea\n- allergic to nuts\n- jam", "allergic to nuts", "- tea\n- jam"),
        ("1. tea\n2. allergic to nuts", "allergic to nuts", "1. tea\n"),
        (
            '[{"role": "user", "content": "Hi. I eat no nuts."}]',
            "I eat no nuts.",
            '[{"role": "user", "content": "Hi. "}]',
        ),
        ("I'm allergic to nuts.", "nuts", ""),
    ],
)
def test_a_sentence_goes_whole_with_nothing_left_of_its_line(text: str, said: str, left: str) -> None:
    assert _without(text, said) == left


def test_two_sentences_of_one_line_leave_no_empty_line() -> None:
    assert _without("- I eat no nuts. I drink no milk.\n- Hello.", "eat no nuts", "drink no milk") == "- Hello."


@given(st.text("ab.\n :-", max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 6)), max_size=4))
def test_what_is_kept_is_where_it_is_said_to_be(text: str, places: list[tuple[int, int]]) -> None:
    spans = [Span(start, min(start + length, len(text))) for start, length in places if start < len(text)]
    redacted = redact(text, whole_sentences(text, spans))
    for at, character in enumerate(text):
        if not any(cut.start <= at < cut.end for cut in redacted.cuts):
            assert redacted.text[redacted.moved(at)] == character
    assert not any(redacted.moved(span.end) - redacted.moved(span.start) for span in spans), (
        "a character of a span was kept"
    )


def test_a_line_whose_sentences_all_go_goes_too_however_many_they_are() -> None:
    text = "Tea is fine.\n- " + " ".join(f"I like number {number}." for number in range(500)) + "\nMilk is."
    spans = [Span(match.start(), match.end()) for match in re.finditer(r"I like[^.]*\.", text)]
    assert redact(text, whole_sentences(text, spans)).text == "Tea is fine.\nMilk is."
    assert redact(text, whole_sentences(text, spans[1:])).text == "Tea is fine.\n- I like number 0. \nMilk is."
