"""Courtesies are removed from a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.search.courtesy_removal import remove_courtesies


@pytest.mark.parametrize(
    ("query", "stripped"),
    [
        ("Hey, can you please tell me where Anna lives now, please?", "where Anna lives now"),
        ("What do you know about my dog?", "my dog"),
        ("do you remember if I like tea?", "I like tea"),
        ("I'd like to know about the budget", "the budget"),
        ("green tea", "green tea"),
        ("Hello! I was wondering: where is the key? Thank you so much!", "where is the key"),
        ("Sorry to bother you, but who has the key? I appreciate your help.", "who has the key"),
        ("Do you happen to remember when she left, please?", "when she left"),
        ("Why did John run for office again?", "Why did John run for office again"),
        ("Where did Ann move, and when?", "Where did Ann move, and when"),
        ("Hello, Dolly!", "Dolly"),
        ("Can you help?", "help"),
        ("please", "please"),
        ("?!", "?!"),
    ],
)
def test_wrappings_go_and_the_question_stays(query: str, stripped: str) -> None:
    assert remove_courtesies(query) == stripped


@given(st.text(max_size=200))
def test_something_is_always_left(query: str) -> None:
    assert remove_courtesies(query) == query or remove_courtesies(query).strip()
