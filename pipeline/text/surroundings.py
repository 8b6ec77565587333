"""What full text counts for a passage: its own words, and at half their weight those just around it.

Who asks uses words of the question that came before, or of the sentence after: docs/benchmarks.md says what
it brings. Weights are repetitions, so that neither rows nor searches know of them: BM25 of a passage
saturates at twice the count (`pipeline/index/parameters.py`).
"""

import math
from collections.abc import Sequence

import numpy as np

from pipeline.rows import Terms

OWN = 2
"""How often a passage's own words count; those around it once."""
REACH = 300
"""Characters before and after that count as around: a few turns, or sentences."""


def counted(texts: Sequence[str], terms: Sequence[Terms], reach: int = REACH) -> list[Terms]:
    """The terms of each passage of one document, from the terms of all its passages in their order.

    `reach`: characters before and after that count as around.
    """
    none = np.zeros(0, np.uint32)
    ends = [
        none,
        *(own[len(own) - _near(text, own, reach) :] for text, own in zip(texts, terms, strict=True)),
    ]
    starts = [*(own[: _near(text, own, reach)] for text, own in zip(texts, terms, strict=True)), none]
    return [
        np.concatenate([*[own] * OWN, before, after])
        for own, before, after in zip(terms, ends[:-1], starts[1:], strict=True)
    ]


def _near(text: str, terms: Terms, reach: int) -> int:
    """How many terms about so many characters have."""
    return math.ceil(len(terms) * min(reach / max(len(text), 1), 1.0))
