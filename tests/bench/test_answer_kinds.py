"""What is learned tells each kind from all others, and gives none to what is of no kind."""

import numpy as np

from bench.answer_kinds import compound_texts, learn


def test_each_kind_is_told_from_the_others() -> None:
    rng = np.random.default_rng(3)
    kinds = [(center + 0.1 * rng.normal(size=(20, 6))).astype(np.float32) for center in np.eye(6)[:4]]
    weights = learn(np.concatenate(kinds), [{kind} for kind in range(4) for _ in range(20)], count=3)
    assert weights.shape == (3, 7)
    log_odds = np.stack([rows.mean(axis=0) for rows in kinds]) @ weights[:, :-1].T + weights[:, -1]
    assert (log_odds[:3] > 0.0).tolist() == np.eye(3, dtype=bool).tolist()
    assert (log_odds[3] < 0.0).all()


def test_a_text_of_several_statements_tells_each_of_their_kinds() -> None:
    statements = [("I am a nurse.", {0}), ("My dog is six.", {1}), ("The bus is late.", {2}), ("Ich bin müde.", {2})]
    for text, kinds in compound_texts(statements):
        assert kinds == set().union(*(own for statement, own in statements if statement.rstrip(".") in text))
        assert len(kinds) > 1
        assert "müde" not in text
