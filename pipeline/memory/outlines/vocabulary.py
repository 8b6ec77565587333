"""English words by their stems, by which outlines name things and people. Pure."""

from functools import cache

from pipeline.memory.languages.english import english_words
from pipeline.text.analyzer import terms

CACHED_TEXTS = 4096
USER = "user"
BE, HAVE = "be", "have"
_STEM_CHARS = 7
"""Letters of a stem, so that `therapy` is what a `therapist` gives."""


def stem(word: str) -> str:
    """Return the stem of an English word or name; empty for one that says nothing."""
    found = terms(word.lower().removesuffix("'s"), "english")
    return found[0][:_STEM_CHARS] if found else ""


@cache
def stems(kind: str) -> frozenset[str]:
    """Return the stems of a list of English words.

    >>> stem("landlord") in stems("roles")
    True
    """
    return frozenset(map(stem, english_words(kind)))


def is_content(word: str) -> bool:
    """Return whether a word says something about what a statement is about.

    >>> is_content("guitar"), is_content("really")
    (True, False)
    """
    plain = word.lower().removesuffix("'s").strip(".'")
    return len(plain) > 1 and plain not in english_words("empty_in_outlines") and plain[0].isalpha()
