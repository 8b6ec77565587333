"""A second look at the best results: in which order, and which of them say the same."""

from collections.abc import Sequence

from pipeline.index.hits import Hit
from pipeline.index.scoring import Question


def reordered(question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """Best first by a stronger score."""
    return list(hits)


def aggregated(hits: Sequence[Hit]) -> list[Hit]:
    """One result where several overlap."""
    return list(hits)
