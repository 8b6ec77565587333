"""Classifiers of texts by their vectors, learned from examples: no list has all the words of a kind of text.

Each is one direction in an embedder's space, which its languages share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector


@dataclass(frozen=True, slots=True, eq=False)
class VectorClassifier:
    """Tells one kind of text. `mean` is the vectors' common part; `weights` are of what is left, at unit length."""

    weights: Vector
    constant: float
    mean: Vector

    def log_odds(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the log-odds that each text is of the kind; 0 where it has no vector, or nothing was learned."""
        if not len(self.weights) or not len(vectors):
            return np.zeros(len(vectors), np.float32)
        log_odds = center_vectors(vectors, self.mean) @ self.weights + np.float32(self.constant)
        return np.where(vectors.any(axis=1), log_odds, 0).astype(np.float32)

    def log_odds_of(self, vectors: Sequence[Vector]) -> list[float]:
        """Return the same of single vectors."""
        found: list[float] = self.log_odds(np.stack(vectors)).tolist() if vectors else []
        return found

    def save(self, path: Path) -> None:
        """Write a file in half precision."""
        rows = [np.append(self.weights, self.constant), np.append(self.mean, 0)]
        np.save(path, np.stack(rows).astype(np.float16))


NOTHING_LEARNED = VectorClassifier(np.zeros(0, np.float32), 0.0, np.zeros(0, np.float32))


def read_classifier(path: Path) -> VectorClassifier:
    """Read what was learned for an embedder; `NOTHING_LEARNED` if there is no file."""
    if not path.is_file():
        return NOTHING_LEARNED
    learned = np.load(path).astype(np.float32)
    return VectorClassifier(learned[0, :-1], float(learned[0, -1]), learned[1, :-1])


def center_vectors(vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors without a common part, at unit length; zero stays zero."""
    if not vectors.any():
        return vectors
    # A text of no known word has no vector: without the common part it would be its opposite.
    centered = np.where(vectors.any(axis=1, keepdims=True), vectors - mean, 0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (centered / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled
