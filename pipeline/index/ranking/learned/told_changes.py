"""Statements that tell of a change ("Iván y yo lo dejamos"), learned from examples: no list has all the words for it.

It is one direction in the embedder's space, which its languages share.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

_LEAST_LOG_ODDS = -4.0
_MOST_LOG_ODDS = 1.0
"""Bounds: that a statement surely tells of a change is no more reason to think that it is about the same thing."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldChanges:
    """Classifier of vectors without their common part, learned by `python -m bench.newer_statement`."""

    weights: Vector
    constant: float

    def log_odds(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the log-odds that each statement tells of a change, within bounds."""
        log_odds: NDArray[np.float32] = directions @ self.weights + np.float32(self.constant)
        return np.clip(log_odds, _LEAST_LOG_ODDS, _MOST_LOG_ODDS)
