"""What is told from words is what the patterns would have said."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.memory import chatter, dates, openings

_PIECES = [
    "you", "u", "y'all", "your", "young", "ur", "U.S.", "i", "I", "i'm", "-i", "'i'", "in", "online", "maybe",
    "may", "Sept", "mar", "on", "monday", "past",
    "pasta", "3", "\u0663", "\u0131n", "\u017feptember", "caf\u00e9",
    "x", ",", "!", "_", "this_", "gonna", "GOTTA", "\u017fo", "i", "till",
]  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=6).flatmap(
    lambda pieces: st.sampled_from([" ", "", "'"]).map(lambda between: between.join(pieces))
)


@given(_TEXTS)
@settings(max_examples=200, deadline=None)
@example("meet ya'll in may")
def test_words_say_what_patterns_say(text: str) -> None:
    assert dates._may_speak_of_time(text) == (dates._HINT.search(text) is not None)
    assert chatter.is_addressed(text) == (chatter._YOU.search(text) is not None)


@given(_TEXTS)
@settings(max_examples=100, deadline=None)
def test_the_letter_is_looked_for_first_and_found_at_the_same_places(text: str) -> None:
    around_first = re.compile(r"(?<![\w.'-])i(?=$|[ ,!?]|'(?:m|ve|ll|d)\b)")
    assert openings._SMALL_I.sub("I", text) == around_first.sub("I", text)


@given(_TEXTS)
@settings(max_examples=100, deadline=None)
def test_a_pattern_is_only_left_out_where_it_would_change_nothing(text: str) -> None:
    for hints, pattern, written in openings._SPOKEN:
        if text.isascii() and not any(hint in text.lower() for hint in hints):
            assert pattern.sub(written, text) == text
