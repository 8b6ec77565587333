"""A statement that does not tell what is asked for is no sure answer."""

import numpy as np
import pytest

from pipeline.index.ranking.calibration import E5_NAME, E5_WITH_ENCODER_NAME, calibration_for
from pipeline.index.ranking.learned.answer_kinds import AnswerKinds

FIRST, SECOND = np.eye(2, dtype=np.float32)
KINDS = AnswerKinds(8 * np.eye(2, dtype=np.float32), np.full(2, -4, np.float32), 8 * np.eye(2, dtype=np.float32),
                    np.full(2, -4, np.float32))  # fmt: skip


def test_a_statement_that_tells_what_is_asked_for_may_be_as_similar_as_any() -> None:
    asked = KINDS.asked_for(FIRST)
    assert asked is not None
    assert asked.max_similarity(np.array([FIRST, SECOND]) @ asked.weights).tolist() == [
        1.0,
        pytest.approx(0.095, abs=0.01),
    ]


def test_a_question_for_no_known_kind_limits_nothing() -> None:
    assert KINDS.asked_for(-FIRST) is None


def test_a_question_that_hardly_asks_for_a_kind_limits_less() -> None:
    sure, unsure = KINDS.asked_for(FIRST), KINDS.asked_for(0.7 * FIRST)
    assert sure is not None
    assert unsure is not None
    other = np.zeros(1, np.float32)
    assert sure.max_similarity(other) < unsure.max_similarity(other)


def test_a_statement_of_the_kind_about_something_else_is_limited() -> None:
    asked = KINDS.asked_for(np.array([0.8, 0.6], np.float32))
    assert asked is not None
    about_same, about_other = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
    directions = np.stack([about_same, about_other])
    same, other = asked.max_similarity_by_subject(directions @ asked.subject, directions @ asked.weights)
    assert same == 1.0
    assert other < 0.3


@pytest.mark.parametrize("embedder", [E5_NAME, E5_WITH_ENCODER_NAME])
def test_the_shipped_kinds_do_not_depend_on_the_language(embedder: str) -> None:
    calibration = calibration_for(embedder)
    assert calibration.answer_kinds is not None
    assert calibration.common_part is not None
    for learned in (calibration.answer_kinds.questions, calibration.answer_kinds.statements):
        lengths = np.linalg.norm(learned, axis=1)
        assert (np.abs(learned @ calibration.common_part.directions.T).max(axis=1) < 0.005 * lengths).all()
