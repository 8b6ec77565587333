"""What is highlighted of a text: what full-text search matches, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.query_highlights import matching_spans


def _marked(query: str, text: str) -> list[str]:
    return [text[start:end] for start, end in matching_spans(query, text)]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("Where do the dogs run?", "The dog was running in the park.", ["dog", "running"]),
        ("the of and", "The end of the road and the sea.", []),
        ("MÜNCHEN", "Ich wohne in Mu\u0308nchen, nicht in Munchen.", ["Mu\u0308nchen", "Munchen"]),
        ("Wo wohnt meine Schwester?", "Die Schwester wohnte in Köln.", ["Schwester", "wohnte"]),
        ("我喜欢北京烤鸭", "他在北京吃了烤鸭。", ["北京", "烤鸭"]),
        ("猫", "猫在睡觉", ["猫"]),
        ("東京タワー", "昨日、東京タワーに行きました。", ["東京タワー"]),
        ("أين تعيش نورا", "تعيش نورا في الرباط", ["تعيش", "نورا"]),
        ("💥 boom", "💥💥 boom 💥", ["boom"]),
    ],
)
def test_what_the_search_matches_is_marked(query: str, text: str, marked: list[str]) -> None:
    assert _marked(query, text) == marked


@given(query=st.text(max_size=40), text=st.text(max_size=200))
def test_spans_are_apart_in_order_and_inside_the_text(query: str, text: str) -> None:
    spans = matching_spans(query, text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(set(edges))
    assert all(0 <= edge <= len(text) for edge in edges)
