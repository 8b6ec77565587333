"""The kind of a question, and statements that are near to all of them, count before the two are compared."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.index.ranking.calibration import (
    E5_NAME,
    E5_WITH_ENCODER_NAME,
    SENTENCE_MODEL_CALIBRATION,
    calibration_for,
)
from pipeline.index.ranking.learned.statement_directions import AnswerBias
from pipeline.index.segments.common_part import CommonPart

ZERO = np.zeros(4, np.float32)
FIRST, SECOND = np.eye(4, dtype=np.float32)[:2]
PLAIN = replace(SENTENCE_MODEL_CALIBRATION, common_part=CommonPart(ZERO, ZERO, ZERO, np.eye(4, dtype=np.float32)[3:]))


def test_the_floor_is_higher_for_questions_of_an_unanswered_kind() -> None:
    biased = replace(PLAIN, answer_bias=AnswerBias(0.2 * FIRST, ZERO))
    assert biased.query_floor(FIRST, 10) == pytest.approx(PLAIN.query_floor(FIRST, 10) + 0.2)
    assert biased.query_floor(SECOND, 10) == pytest.approx(PLAIN.query_floor(SECOND, 10))


def test_a_statement_that_is_near_to_all_questions_counts_less() -> None:
    biased = replace(PLAIN, answer_bias=AnswerBias(ZERO, 0.2 * SECOND))
    question = np.array([1.0, 1.0, 0.0, 0.0], np.float32)
    assert PLAIN.query_direction(question) @ FIRST == pytest.approx(PLAIN.query_direction(question) @ SECOND)
    assert biased.query_direction(question) @ FIRST > biased.query_direction(question) @ SECOND


@pytest.mark.parametrize("embedder", [E5_NAME, E5_WITH_ENCODER_NAME])
def test_the_shipped_bias_does_not_depend_on_the_language(embedder: str) -> None:
    calibration = calibration_for(embedder)
    assert calibration.answer_bias is not None
    assert calibration.common_part is not None
    learned = np.stack([calibration.answer_bias.question_weights, calibration.answer_bias.near_all])
    assert np.abs(learned @ calibration.common_part.directions.T).max() < 0.005
