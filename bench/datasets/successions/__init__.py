"""Statements that follow one another, with a question, in 22 languages: whether the newer answers it, or the older.

`hurried_pairs.txt` has such pairs of people who type in a hurry. Only weights are learned on both.
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Succession:
    """Two statements and a question; `replaces`: the newer one answers it, else the older still does."""

    replaces: bool
    older: str
    newer: str
    question: str


def successions(*, hurried: bool = False) -> list[list[Succession]]:
    """Return the pairs, a list for each language; `hurried`: those of people who type in a hurry."""
    file = _FOLDER / f"{'hurried_' if hurried else ''}pairs.txt"
    _, *sections = file.read_text("utf-8").strip().split("\n\n")
    return [[succession_of(line) for line in section.split("\n")] for section in sections]


def succession_of(line: str) -> Succession:
    """Return the pair that a line of a file tells."""
    older, newer, question = line[2:].split(" | ")
    return Succession(line.startswith("+"), older, newer, question)
