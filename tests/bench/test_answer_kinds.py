"""What is learned tells each kind from all others, and gives none to what is of no kind."""

import numpy as np

from bench.answer_kinds import learn


def test_each_kind_is_told_from_the_others() -> None:
    rng = np.random.default_rng(3)
    kinds = [(center + 0.1 * rng.normal(size=(20, 6))).astype(np.float32) for center in np.eye(6)[:4]]
    weights = learn(kinds)
    assert weights.shape == (3, 7)
    log_odds = np.stack([rows.mean(axis=0) for rows in kinds]) @ weights[:, :-1].T + weights[:, -1]
    assert (log_odds[:3] > 0.0).tolist() == np.eye(3, dtype=bool).tolist()
    assert (log_odds[3] < 0.0).all()
