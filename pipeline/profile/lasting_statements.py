"""Statements that hold for months or years, learned from examples: no list has all the words for what lasts.

It is one direction in the embedder's space, which its languages share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.profile.topic_vectors import center_vectors
from pipeline.rows import Vector


@dataclass(frozen=True, slots=True, eq=False)
class LastingStatements:
    """Classifier of vectors. `mean` is their common part; `weights` are of what is left, at unit length."""

    weights: Vector
    constant: float
    mean: Vector

    def log_odds(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the log-odds that each statement lasts; 0 where it has no vector, or nothing was learned."""
        if not len(self.weights) or not len(vectors):
            return np.zeros(len(vectors), np.float32)
        log_odds = center_vectors(vectors, self.mean) @ self.weights + np.float32(self.constant)
        return np.where(vectors.any(axis=1), log_odds, 0).astype(np.float32)

    def log_odds_of(self, vectors: Sequence[Vector]) -> list[float]:
        """Return the same of single vectors."""
        found: list[float] = self.log_odds(np.stack(vectors)).tolist() if vectors else []
        return found


NOTHING_LEARNED = LastingStatements(np.zeros(0, np.float32), 0.0, np.zeros(0, np.float32))


def lasting_file(embedder_name: str) -> Path:
    """Return where an embedder's weights lie, if they do; `python -m bench.lasting_statements` writes them."""
    return Path(__file__).parent / f"lasting_{embedder_name.replace(' ', '_')}.npy"


def read_lasting_statements(embedder_name: str) -> LastingStatements:
    path = lasting_file(embedder_name)
    if not path.is_file():
        return NOTHING_LEARNED
    learned = np.load(path).astype(np.float32)
    return LastingStatements(learned[0, :-1], float(learned[0, -1]), learned[1, :-1])
