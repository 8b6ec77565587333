"""The bias of questions and statements before they are compared, learned from answers and from what is none.

Questions of some kinds ("Which blood group do I have?") are near to many statements that do not answer them, others
("What is the matter with the hut's door?") are not near even to their answer; and some statements ("I wear size 43.")
are near to many questions. Each kind is a direction in the embedder's space, which its languages share.
"""

from dataclasses import dataclass

from pipeline.rows import Vector


@dataclass(frozen=True, eq=False)
class AnswerBias:
    """Learned for vectors without their common part, by `python -m bench.answer_bias`."""

    question_weights: Vector
    """The product with a question's direction is added to its floor."""
    near_all: Vector
    """The direction of statements that are near to many questions; taken away from a question's direction."""
