"""The names of what a score is made of: an explanation shows the sum that the ranking itself adds up."""

from collections.abc import Mapping
from typing import Literal

ScorePart = Literal[
    "words",
    "document",
    "meaning",
    "speaker",
    "time",
    "number",
    "date",
    "updates",
    "remembered",
    "repeated",
    "outdated",
    "nearness",
    "likeness",
    "common",
    "usual",
    "endpoint",
    "parts",
]
"""What gives to a score, or takes: the first look, the second (`refining`), reranking, and rewriting."""
Parts = Mapping[ScorePart, float]
"""What each gave. Together they are the raw score."""
