"""The parts of a question that asks for several things: each can be answered somewhere else."""

import re
from collections.abc import Sequence

from pipeline.text.terms import term_hashes, words

_ASKS = (
    "when|where|why|how|who|whom|whose|what|which|did|does|do|"
    "is|are|was|were|has|have|had|can|could|will|would"
)
_BETWEEN = re.compile(
    rf"\?+\s+(?:(?:and|also|or)\b,?\s*)*|[,;]?\s+(?:and|also)(?:\s+also)?,?\s+(?=(?:{_ASKS})\b)",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:he|she|they|him|her|them|his|hers|their|theirs)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
_TELLING = 2
MOST = 4


def parts(query: str) -> list[str]:
    """The parts, where there are at least two that say something by themselves; else none.

    >>> parts("Where did Ann move, and what does she do there now?")
    ['Where did Ann move', 'what does she do there now Ann']
    """
    found: list[str] = []
    for part in _BETWEEN.split(query.rstrip(" ?.!")):
        bare = part.strip(" ,;?.!")
        found.append(_named(bare, found[:1]))
    telling = [part for part in found if _says(part)]
    return telling[:MOST] if len(telling) > 1 else []


def _named(part: str, before: Sequence[str]) -> str:
    """With the names that stand before it, where it only points at them."""
    if not before or not _POINTING.search(part) or _NAME.search(part):
        return part
    return " ".join([part, *dict.fromkeys(_NAME.findall(before[0]))])


def _says(part: str) -> bool:
    return sum(bool(term_hashes(word)) for word in words(part)) >= _TELLING
