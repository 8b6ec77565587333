"""The parts of a question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.search.query_decomposition import MAX_PARTS, decompose_query


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What did Ann cook? And where does Bob live?", ["What did Ann cook", "where does Bob live"]),
        ("What did Ann cook, and where does Bob live?", ["What did Ann cook", "where does Bob live"]),
        ("Where did Ann move, and when?", []),
        ("What is Bob's job, and does he like it there?", ["What is Bob's job", "does he like it there Bob"]),
        ("What do Ann and Bob both like?", []),
        ("Where did Ann move?", []),
        ("Is it? And so what?", []),
        ("", []),
    ],
)
def test_what_is_asked_besides_is_a_part_that_stands_alone(query: str, found: list[str]) -> None:
    assert decompose_query(query) == found


@given(st.lists(st.sampled_from(["what did Ann cook", "?", " and ", "when", ", ", "he"]), max_size=12).map("".join))
@settings(max_examples=60)
def test_there_are_none_or_a_few_parts(query: str) -> None:
    found = decompose_query(query)
    assert len(found) != 1
    assert len(found) <= MAX_PARTS
    assert all(part.strip() for part in found)
