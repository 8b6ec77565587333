"""Decomposition of a query into the questions that it combines."""

import re
from collections.abc import Sequence

from pipeline.text.analyzer import term_hashes, words

_QUESTION_VERBS = (
    "when|where|why|how|who|whom|whose|what|which|did|does|do|is|are|was|were|has|have|had|can|could|will|would"
)
_PART_SEPARATOR = re.compile(
    rf"\?+\s+(?:(?:and|also|or)\b,?\s*)*|[,;]?\s+(?:and|also)(?:\s+also)?,?\s+(?=(?:{_QUESTION_VERBS})\b)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|she|they|him|her|them|his|hers|their|theirs)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
_MIN_CONTENT_WORDS = 2
MAX_PARTS = 4


def decompose_query(query: str) -> list[str]:
    """Return the parts of a query if at least two are meaningful; else none.

    >>> decompose_query("Where did Ann move, and what does she do there now?")
    ['Where did Ann move', 'what does she do there now Ann']
    """
    found: list[str] = []
    for part in _PART_SEPARATOR.split(query.rstrip(" ?.!")):
        bare = part.strip(" ,;?.!")
        found.append(_resolve_pronouns(bare, found[:1]))
    telling = [part for part in found if _has_enough_content(part)]
    return telling[:MAX_PARTS] if len(telling) > 1 else []


def _resolve_pronouns(part: str, earlier_parts: Sequence[str]) -> str:
    """Append the names of the first part to a part that has only pronouns."""
    if not earlier_parts or not _PRONOUN.search(part) or _NAME.search(part):
        return part
    return " ".join([part, *dict.fromkeys(_NAME.findall(earlier_parts[0]))])


def _has_enough_content(part: str) -> bool:
    return sum(bool(term_hashes(word)) for word in words(part)) >= _MIN_CONTENT_WORDS
