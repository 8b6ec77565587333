"""Everyday facts with questions in other words, in 22 languages; line for line the same in each.

A file has four parts: facts with a question each; statements with what replaces them and a question; questions
about something else; and statements of the speaker with a later one about a relative and a question. A line is
locked or open by a hash of its English original: rankings are tuned on open lines only.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ja", "zh", "ar", "hi")
MORE_LANGUAGES = ("cs", "el", "he", "ko", "ru", "sv", "th", "tr", "uk", "vi")
"""Languages that have the first lines of each part only."""
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Paraphrases:
    """Facts with their questions; statements, what replaces them, and a question; questions about something else.

    `others`: statements about the speaker, later ones about a relative, and a question about the speaker.
    """

    facts: list[tuple[str, str]]
    updates: list[tuple[str, str, str]]
    foreign: list[str]
    others: list[tuple[str, str, str]]


def paraphrases(language: str, *, locked: bool) -> Paraphrases:
    """The locked or the open half of a language."""
    parts = [
        [line for line, original in zip(own, english[: len(own)], strict=True) if _is_locked(original[0]) == locked]
        for own, english in zip(_parts(language), _parts("en"), strict=True)
    ]
    facts = [(fact, question) for fact, question in parts[0]]
    updates = [(before, after, question) for before, after, question in parts[1]]
    others = [(own, relative, question) for own, relative, question in parts[3]]
    return Paraphrases(facts, updates, [question for (question,) in parts[2]], others)


def _parts(language: str) -> list[list[list[str]]]:
    text = (_FOLDER / f"{language}.txt").read_text("utf-8").strip()
    return [[line.split(" | ") for line in part.split("\n")] for part in text.split("\n\n")]


def _is_locked(original: str) -> bool:
    return bool(hashlib.md5(original.encode(), usedforsecurity=False).digest()[0] & 1)
