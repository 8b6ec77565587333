"""Highlights: the spans of a text that a query's terms match, by the analysis that full-text search uses."""

import re
from collections.abc import Iterator

from pipeline.text.analyzer import (
    WORD_WITH_ACCENTS,
    detect_language,
    is_unspaced_script,
    query_term_forms,
    term_hashes,
    terms,
    words,
)

Span = tuple[int, int]
"""Start and end in characters."""


def matching_spans(query: str, text: str) -> list[Span]:
    """Return the words and, in scripts without spaces, the pairs of characters that a query has in common with a text.

    >>> matching_spans("Where do the dogs run?", "The dog was running.")
    [(4, 7), (12, 19)]
    """
    forms = frozenset(form for group in query_term_forms(query) for form in group)
    pairs = _character_terms(query)
    language = detect_language(words(text), text)
    return _merged(
        span for match in WORD_WITH_ACCENTS.finditer(text) for span in _spans_of_word(match, forms, pairs, language)
    )


def _spans_of_word(match: re.Match[str], forms: frozenset[int], pairs: frozenset[str], language: str) -> Iterator[Span]:
    word = match.group()
    if is_unspaced_script(word):
        for pair in pairs:
            yield from ((match.start() + at, match.start() + at + len(pair)) for at in _occurrences(pair, word))
    elif any(form in forms for part in words(word) for form in term_hashes(part, language)):
        yield match.span()


def _character_terms(query: str) -> frozenset[str]:
    """The pairs of characters in a query, and the single ones that are in none of them."""
    found = {term for term in terms(query) if is_unspaced_script(term)}
    pairs = {term for term in found if len(term) > 1}
    return frozenset(pairs | {term for term in found - pairs if not any(term in pair for pair in pairs)})


def _occurrences(part: str, word: str) -> Iterator[int]:
    at = word.find(part)
    while at >= 0:
        yield at
        at = word.find(part, at + 1)


def _merged(spans: Iterator[Span]) -> list[Span]:
    """Join spans that overlap or touch."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
