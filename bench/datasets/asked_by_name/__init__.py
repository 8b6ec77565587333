"""Statements of people who say their name, and questions that name them or others, with a part of the right answer."""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """What somebody says, oldest first, and each question with what the first result is to contain."""

    statements: list[str]
    questions: list[tuple[str, str]]


def named_people(*, locked: bool) -> list[NamedPerson]:
    """Return one half of the people."""
    blocks = (_FOLDER / f"{'locked' if locked else 'open'}.txt").read_text("utf-8").strip().split("\n\n")
    return [_parse(block.split("\n")) for block in blocks]


def _parse(lines: list[str]) -> NamedPerson:
    asked = [line[2:].rpartition(" = ") for line in lines if line.startswith("?")]
    said = [line[2:] for line in lines if line.startswith("+")]
    return NamedPerson(said, [(question, right) for question, _, right in asked])
