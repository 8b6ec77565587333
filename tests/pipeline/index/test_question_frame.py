"""Frames that say only that something is looked for are left out of a question's words."""

import pytest

from pipeline.index.question_frame import without_frame


@pytest.mark.parametrize(
    ("question", "looked_for"),
    [
        ("Tell me about the boiler", "the boiler"),
        ("please tell me everything about Skiraum?", "Skiraum?"),
        ("Was weißt du über Frau Vermeulen?", "Frau Vermeulen?"),
        ("Qu'est-ce que tu sais sur le chauffage ?", "le chauffage ?"),
        ("háblame de INV-20391", "INV-20391"),
        ("расскажи про Коломну", "Коломну"),
        ("温泉旅館について教えてください", "温泉旅館"),
        ("스키장에 대해 알려줘", "스키장"),
    ],
)
def test_a_frame_at_the_beginning_or_end_is_left_out(question: str, looked_for: str) -> None:
    assert without_frame(question) == looked_for


@pytest.mark.parametrize(
    "question", ["What did Anna find?", "Where did I tell her about the move?", "tell me about", "información", ""]
)
def test_other_questions_stay(question: str) -> None:
    assert without_frame(question) == question
