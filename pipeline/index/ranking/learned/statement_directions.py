"""Single directions in the embedder's space, which its languages share, and their meaning for texts.

Learned from examples, for vectors without their common part: no list has all the words that tell the same. Pure.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

_LEAST_LOG_ODDS = -4.0
_MOST_LOG_ODDS = 1.0
"""Bounds: that a statement surely tells of a change is no more reason to think that it is about the same thing."""


@dataclass(frozen=True, eq=False)
class AnswerBias:
    """The bias of questions and statements before they are compared, learned by `python -m bench.answer_bias`.

    Questions of some kinds ("Which blood group do I have?") are near to many statements that do not answer them, others
    ("What is the matter with the hut's door?") are not near even to their answer; and some statements ("I wear size
    43.") are near to many questions.
    """

    question_weights: Vector
    """The product with a question's direction is added to its floor."""
    near_all: Vector
    """The direction of statements that are near to many questions; taken away from a question's direction."""


@dataclass(frozen=True, slots=True, eq=False)
class StatementMeanings:
    """Log-odds that a newer statement answers instead of an older one; `python -m bench.statement_meanings`.

    "The Clio needs new tyres" and "sold the Clio" are as near to "I drive a Clio"; only the second one ends it. One
    direction is for the older statement, one for the newer.
    """

    older: Vector
    newer: Vector

    def log_odds(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the meanings of each pair of statements add: a row for the older, a column for the newer."""
        added: NDArray[np.float32] = np.add.outer(directions @ self.older, directions @ self.newer)
        return added


@dataclass(frozen=True, slots=True, eq=False)
class ToldChanges:
    """Log-odds that a statement tells of a change ("Iván y yo lo dejamos"); `python -m bench.newer_statement`."""

    weights: Vector
    constant: float

    def log_odds(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the log-odds that each statement tells of a change, within bounds."""
        log_odds: NDArray[np.float32] = directions @ self.weights + np.float32(self.constant)
        return np.clip(log_odds, _LEAST_LOG_ODDS, _MOST_LOG_ODDS)
