"""Everyday worlds in fourteen languages: what somebody said, oldest first, and questions of four kinds.

`?` one statement answers; `>` the newer of two statements answers, the older one did before; `~` names somebody or
something that the statements are about, and asks what they do not say ("When is Sami's birthday?" after "Sami left in
May."); `!` is about something else. `long_*.txt` has eight more people, who say sixteen things each, in six languages;
`further_*.txt` eight who say fifteen things each, in seven languages, two of whom are asked about in English; both of
`typed_*.txt` have the same six people, in as many languages, who type in a hurry, and are asked so; `trades_*.txt` has
fourteen people and clubs, in eleven languages, of whom much is asked that they do not say; `kept_*.txt` has sixteen
people, clubs and firms, in fourteen languages, of whom newer statements tell much that is near to an older one and
replaces nothing.
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
PARTS = ("", "long", "further", "typed")
UNLEARNED_PARTS = ("trades", "kept")
"""Parts of which no half is learned from."""


@dataclass(frozen=True, slots=True)
class World:
    """Statements, and questions by kind, with the places of the statements that matter to them."""

    statements: list[str]
    answered: list[tuple[str, int]]
    replaced: list[tuple[str, int, int]]
    near: list[str]
    foreign: list[str]


def worlds(*, locked: bool, part: str = "") -> list[World]:
    """Return one half of the worlds; `part`: one of `PARTS`."""
    name = "_".join(filter(None, (part, "locked" if locked else "open")))
    blocks = (_FOLDER / f"{name}.txt").read_text("utf-8").strip().split("\n\n")
    return [_parse(block.split("\n")) for block in blocks]


def _parse(lines: list[str]) -> World:
    said = _marked(lines, "+")
    answered = [question.rpartition(" = ") for question in _marked(lines, "?")]
    replaced = [question.rpartition(" = ") for question in _marked(lines, ">")]
    return World(
        said,
        [(question, _place(said, part)) for question, _, part in answered],
        [_replaced(said, question, *parts.split(" / ")) for question, _, parts in replaced],
        _marked(lines, "~"),
        _marked(lines, "!"),
    )


def _replaced(statements: list[str], question: str, newer: str, older: str) -> tuple[str, int, int]:
    return question, _place(statements, newer), _place(statements, older)


def _marked(lines: list[str], mark: str) -> list[str]:
    return [line[2:] for line in lines if line.startswith(mark)]


def _place(statements: list[str], part: str) -> int:
    """Return where the only statement that contains a part is."""
    (place,) = (at for at, statement in enumerate(statements) if part in statement)
    return place
