"""Kinds of answers: what a question asks for ("When is Sami's birthday?"), and whether a statement tells it.

"Sami left in May." has Sami's name and a time, and is near to the question; but it tells of no birthday. Each kind is a
direction in the embedder's space for questions and one for statements, which its languages share.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

_MIN_ASKED_LOG_ODDS = 1.0
"""Log-odds from which a question is held to ask for a kind."""
_SURE_LOG_ODDS = 3.0
"""Log-odds from which a statement surely tells a kind."""
DOUBTFUL_LOG_ODDS = -1.5
"""Log-odds up to which a statement is held not to tell a kind; there, telling it is as likely as not."""
_LEAST_SUBJECT_COSINES = (0.17, -1.0, 0.17, -1.0, 0.17, 0.16, 0.14)
"""Cosine of question and statement without their kind, for each kind, down to which both may be about the same: of the
questions of open sets that name somebody or something 2 % have a lower one with their answer, and half of the others'
statements of the kind have. Weddings and deadlines are told of persons and things that the question does not name."""
_SUBJECT_WIDTH = 0.01
_BIRTHDAY, _NAME, _HOME = 0, 4, 5


@dataclass(frozen=True, slots=True, eq=False)
class AskedKind:
    """A kind of answer, the probability that it is asked for, and the classifier of statements that tell it."""

    probability: float
    weights: Vector
    constant: float
    subject: Vector
    """The question's direction without that of the kind: whom or what it is about, of unit length."""
    least_subject_cosine: float
    number: int
    """The place of the kind in `bench.datasets.answer_kinds`."""

    @property
    def is_name(self) -> bool:
        """Return whether a name is asked for."""
        return self.number == _NAME

    @property
    def is_home(self) -> bool:
        """Return whether it is asked where somebody lives."""
        return self.number == _HOME

    @property
    def is_of_anything(self) -> bool:
        """Return whether its questions need not name a person to be about something else than the asker."""
        return self.number in (_BIRTHDAY, _NAME)

    def max_similarity(self, products: NDArray[np.float32]) -> NDArray[np.float32]:
        """The highest similarity of statements, by the products of their directions with the weights.

        The probability that the kind is not asked for, or that the statement tells it; 1 for one that may well tell it.
        """
        log_odds = products + np.float32(self.constant - DOUBTFUL_LOG_ODDS)
        untold = 1.0 / (1.0 + np.exp(np.minimum(log_odds, 0.0)))
        return np.where(log_odds < 0.0, 1.0 - self.probability * untold, 1.0).astype(np.float32)

    def max_similarity_by_subject(
        self, subject_products: NDArray[np.float32], products: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The highest similarity of statements of this kind by whom or what they are about.

        `subject_products`, `products`: of their directions with the subject and with the weights.
        """
        shares = np.minimum(products * products / np.float32(self.weights @ self.weights), np.float32(0.99))
        distances = (subject_products / np.sqrt(1.0 - shares) - self.least_subject_cosine) / _SUBJECT_WIDTH
        others = 1.0 / (1.0 + np.exp(np.clip(distances, -50.0, 0.0)))
        return np.where(distances < 0.0, 1.0 - self.probability * others, 1.0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class AnswerKinds:
    """Classifiers for vectors without their common part, a row for each kind, with its constant.

    Learned by `python -m bench.answer_kinds`.
    """

    questions: NDArray[np.float32]
    question_constants: NDArray[np.float32]
    statements: NDArray[np.float32]
    statement_constants: NDArray[np.float32]

    @classmethod
    def from_rows(cls, learned: NDArray[np.float32]) -> "AnswerKinds":
        """Take for each kind the weights of questions and those of statements, each with its constant last."""
        questions, statements = np.ascontiguousarray(learned[:, :, :-1].swapaxes(0, 1))
        return cls(questions, learned[:, 0, -1], statements, learned[:, 1, -1])

    def asked_for(self, direction: Vector) -> AskedKind | None:
        """The kind that a question asks for; None where it asks for no known one."""
        log_odds = self.questions @ direction + self.question_constants
        best = int(log_odds.argmax())
        if log_odds[best] < _MIN_ASKED_LOG_ODDS:
            return None
        probability = float(1.0 / (1.0 + np.exp(-log_odds[best])))
        weights = self.statements[best]
        subject = direction - (direction @ weights) / (weights @ weights) * weights
        return AskedKind(
            probability,
            weights,
            float(self.statement_constants[best]),
            subject / max(float(np.sqrt(subject @ subject)), 1e-6),
            _LEAST_SUBJECT_COSINES[best],
            best,
        )

    def told_by(self, directions: NDArray[np.float32], kind: AskedKind | None) -> tuple[list[float | None], list[bool]]:
        """Return the log-odds that each statement tells the kind, and whether it surely tells another one instead."""
        if kind is None:
            return [None] * len(directions), [False] * len(directions)
        log_odds = directions @ self.statements.T + self.statement_constants
        told, others = log_odds[:, kind.number], np.delete(log_odds, kind.number, axis=1)
        return told.tolist(), ((told < DOUBTFUL_LOG_ODDS) & (others.max(axis=1) > _SURE_LOG_ODDS)).tolist()
