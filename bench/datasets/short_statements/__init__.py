"""Short statements as people type them: answers to an assistant's questions, notes, fragments, in four languages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent
StatementSet = Literal["open", "locked", "voices_open", "voices_locked"]
"""Every second one of each kind is locked; *voices* are in ten languages, divided by hash."""
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ShortStatement:
    """A document, and the words that one of its memories has to hold; `expected` is empty if it should form none."""

    document: str
    expected: tuple[str, ...]

    def is_met_by(self, memories: list[str]) -> bool:
        """Return whether the memories are what the document should form."""
        if not self.expected:
            return not memories
        return any(all(word.casefold() in memory.casefold() for word in self.expected) for memory in memories)


def short_statements(name: StatementSet) -> list[ShortStatement]:
    """Return the statements of a half, written before the rules saw them."""
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [_parsed(line) for line in lines if line and not line.startswith("#")]


def _parsed(line: str) -> ShortStatement:
    document, _, words = line.rpartition(" | ")
    expected = () if words == _NOTHING else tuple(words.split(", "))
    return ShortStatement(document.replace(" / ", "\n"), expected)
