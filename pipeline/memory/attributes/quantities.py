"""Quantities: counts, amounts and frequencies in otherwise equal sentences."""

import re
from collections.abc import Iterable

from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_patterns import CALLED, NOW, WHO, AttributePattern, attribute_pattern
from pipeline.memory.attributes.value_normalization import normalize_phrase, parse_subject, strip_present_adverbs
from pipeline.memory.languages.english import english_forms, english_pattern

_ONE = english_forms("plurals")


def _counts(match: re.Match[str]) -> Iterable[Attribute | None]:
    subject, counted_words = parse_subject(match["s"]), normalize_phrase(f"{match['n']} {match['x']}").split()
    if subject is not None and counted_words[0].isdigit():
        yield Attribute(subject, f"number of {_ONE.get(counted_words[1], counted_words[1])}", counted_words[0])
        if counted_words[0] == "1":
            yield Attribute(subject, "have", counted_words[1], is_single_valued=False)


_AMOUNT = r"(?P<n>[$€£]?\d[\d.,:]*)"
_MEASURED = english_pattern("measuring_verbs")


def _measures(match: re.Match[str]) -> Iterable[Attribute | None]:
    """Match the same sentence with another amount."""
    subject, rest = parse_subject(match["s"]), normalize_phrase(strip_present_adverbs(f" {match['r'] or ''}"))
    if subject is not None and len(rest.split()) <= 6:
        before = f" {normalize_phrase(match['p'])}" if match["p"] else ""
        yield Attribute(subject, f"{match['b']}{before} # {rest}".strip(), match["n"].rstrip(".,"))


PATTERNS: tuple[AttributePattern, ...] = (
    attribute_pattern(
        rf"{WHO} {NOW}(?:has|have) {NOW}(?P<n>no|an?|\w+) (?P<x>{english_pattern('counted')}){CALLED}",
        _counts,
        "has have",
    ),
    attribute_pattern(
        rf"{WHO} {NOW}(?P<b>{_MEASURED})(?: (?P<p>at|for|about))? {_AMOUNT}(?: ?(?P<r>.+?))?",
        _measures,
        _MEASURED.replace("|", " "),
        allow_circumstances=False,
    ),
)
