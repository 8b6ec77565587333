"""Context-expanded terms of a chunk: its own terms, and at half their weight those of adjacent text.

Queries often use words of the turn before or the sentence after; decision record 0014 has the effect. Weights
are repetitions, so that rows and searches need no support for them: BM25 of a chunk saturates at twice the
count (`pipeline/index/ranking/ranking_parameters.py`).
"""

import math
from collections.abc import Sequence

import numpy as np

from pipeline.rows import Terms

OWN_TERM_WEIGHT = 2
"""Repetitions of a chunk's own terms; context terms count once."""
CONTEXT_CHARS = 300
"""Characters before and after that count as around: a few turns, or sentences."""


def context_expanded_terms(texts: Sequence[str], terms: Sequence[Terms]) -> list[Terms]:
    """The terms of each passage of one document, from the terms of all its passages in their order."""
    nothing = np.zeros(0, np.uint32)
    counts = [_terms_in_context(text, own) for text, own in zip(texts, terms, strict=True)]
    ends = [nothing, *(own[len(own) - count :] for own, count in zip(terms, counts, strict=True))]
    starts = [*(own[:count] for own, count in zip(terms, counts, strict=True)), nothing]
    return [
        np.concatenate([*[own] * OWN_TERM_WEIGHT, before, after])
        for own, before, after in zip(terms, ends[:-1], starts[1:], strict=True)
    ]


def _terms_in_context(text: str, terms: Terms) -> int:
    """Estimated number of a passage's terms that its neighbour counts as around."""
    return math.ceil(len(terms) * min(CONTEXT_CHARS / max(len(text), 1), 1.0))
