"""Log-odds, by the meanings of an older and a newer statement, that the newer one answers; learned from examples. Pure.

"The Clio needs new tyres" and "sold the Clio" are as near to "I drive a Clio"; only the second one ends it. Two
directions in the embedder's space tell: one for the older statement, one for the newer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector


@dataclass(frozen=True, slots=True, eq=False)
class StatementMeanings:
    """Weights of vectors without their common part, learned by `python -m bench.statement_meanings`."""

    older: Vector
    newer: Vector

    def log_odds(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the meanings of each pair of statements add: a row for the older, a column for the newer."""
        added: NDArray[np.float32] = np.add.outer(directions @ self.older, directions @ self.newer)
        return added
