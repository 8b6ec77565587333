"""Topics of somebody's life: a question may name one ("user's family", "mes loisirs") and mean all that is said of it.

"User's sister Ana lives in Porto" shares neither words nor much meaning with "family". Each topic is a direction in the
embedder's space for questions and one for statements, which its languages share.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

TOPICS = (
    "family",
    "friends",
    "health",
    "food",
    "hobbies",
    "sport",
    "media",
    "work",
    "education",
    "travel",
    "pets",
    "home",
    "money",
    "vehicle",
    "plans",
    "preferences",
    "personal",
    "possessions",
    "beliefs",
)
_MIN_NAMED_LOG_ODDS = 2.5
"""Log-odds from which a question is held to name a topic: 2 of 148 questions for one thing are mistaken for one that
does, with a bound of 2 there are 5 (both halves of `bench.datasets.broad_questions`)."""
OWN_SHARE = 0.5
"""Share of its cosines that a question which names a topic keeps."""
_TELLING_BONUS = -0.25
"""Added to the log-odds that a statement tells the topic: with -0.5, 0 and 0.5 more and more of what belongs is found,
and less of what is shown belongs (decision 0043)."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedTopic:
    """A topic that a question names: weights and constant of the raw score that its statements gain."""

    number: int
    """Its place in `TOPICS`."""
    weights: Vector
    constant: float


@dataclass(frozen=True, eq=False)
class LifeTopics:
    """Classifiers for vectors without their common part: of each topic a row of weights, its constant last.

    Learned by `python -m bench.life_topics`.
    """

    questions: NDArray[np.float32]
    statements: NDArray[np.float32]

    def named_by(self, direction: Vector) -> AskedTopic | None:
        """The topic that a question names; None where it asks for one thing, or for nothing of somebody's life."""
        log_odds = self._log_odds_named(direction)
        best = int(log_odds.argmax())
        if log_odds[best] < _MIN_NAMED_LOG_ODDS:
            return None
        return AskedTopic(best, self.statements[best, :-1], float(self.statements[best, -1]) + _TELLING_BONUS)

    def divide(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Divide the topics among descriptions that name them, as directions of questions: (descriptions, topics)."""
        named = 1.0 / (1.0 + np.exp(-np.stack([*map(self._log_odds_named, directions)])))
        shares: NDArray[np.float32] = named * named / named.sum(axis=0)
        return shares

    def told_by(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probability that a statement tells a topic rather than another or none: (statements, topics)."""
        odds = np.exp(directions @ self.statements[:, :-1].T + self.statements[:, -1])
        probabilities: NDArray[np.float32] = odds / (1.0 + odds.sum(axis=1, keepdims=True))
        return probabilities

    def _log_odds_named(self, direction: Vector) -> NDArray[np.float32]:
        log_odds: NDArray[np.float32] = self.questions[:, :-1] @ direction + self.questions[:, -1]
        return log_odds
