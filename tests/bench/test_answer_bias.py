"""What is learned tells questions and statements apart that are near to each other without an answer."""

import numpy as np

from bench.answer_bias import Examples, learn


def test_questions_without_an_answer_get_a_higher_floor_and_statements_near_to_all_count_less() -> None:
    rng = np.random.default_rng(3)
    topics = rng.normal(size=(40, 12)).astype(np.float32)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    unanswered, near_all = np.eye(14, dtype=np.float32)[12:]
    statements = np.concatenate([topics, np.zeros((40, 2), np.float32)], axis=1)
    statements[::2] += near_all
    answered = statements.copy() + 0.3 * near_all
    others = np.roll(statements, 1, axis=0) + unanswered
    questions = np.concatenate([answered, others]).astype(np.float32)
    answers = np.concatenate([np.arange(40), np.full(40, -1)])
    weights, near = learn(Examples(questions, np.full(80, 0.4, np.float32), statements, answers), 8.0)
    assert weights @ unanswered > 0.05
    assert near @ near_all > 0.0
