"""A question may name a topic, and a statement tell of it."""

import numpy as np
import pytest

from pipeline.index.ranking.calibration import E5_NAME, E5_WITH_ENCODER_NAME, calibration_for
from pipeline.index.ranking.learned.life_topics import TOPICS, LifeTopics

FAMILY, FRIENDS = np.eye(len(TOPICS), dtype=np.float32)[:2]
CONSTANTS = np.full((len(TOPICS), 1), -4, np.float32)
LEARNED = LifeTopics(*[np.hstack((8 * np.eye(len(TOPICS), dtype=np.float32), CONSTANTS))] * 2)


def test_a_question_names_the_topic_that_it_is_likeliest_to_name() -> None:
    topics = [LEARNED.named_by(direction) for direction in (FAMILY, FRIENDS)]
    assert [TOPICS[topic.number] for topic in topics if topic is not None] == ["family", "friends"]


def test_a_question_that_may_ask_for_one_thing_names_no_topic() -> None:
    assert LEARNED.named_by(0.7 * FAMILY) is None


def test_a_statement_of_the_topic_gains_and_another_loses() -> None:
    topic = LEARNED.named_by(FAMILY)
    assert topic is not None
    assert FAMILY @ topic.weights + topic.constant > 0.0 > FRIENDS @ topic.weights + topic.constant


@pytest.mark.parametrize("embedder", [E5_NAME, E5_WITH_ENCODER_NAME])
def test_the_shipped_topics_do_not_depend_on_the_language(embedder: str) -> None:
    calibration = calibration_for(embedder)
    assert calibration.life_topics is not None
    assert calibration.common_part is not None
    for learned in (calibration.life_topics.questions, calibration.life_topics.statements):
        lengths = np.linalg.norm(learned[:, :-1], axis=1)
        assert (np.abs(learned[:, :-1] @ calibration.common_part.directions.T).max(axis=1) < 0.005 * lengths).all()
