"""Facts of twelve people in eight languages, questions that they answer in other words, and some that they do not.

The unanswered ones are about somebody or something that the facts are about: "What is the plumber's name?" The texts of
`several_*.txt`, of sixteen people in fourteen languages, each say several things.
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class NearQuestions:
    """Facts, questions with the place of the fact that answers, and questions that no fact answers."""

    facts: list[str]
    answered: list[tuple[str, int]]
    unanswered: list[str]


def near_questions(*, locked: bool, several: bool = False) -> list[NearQuestions]:
    """Return one half of the people; `several`: those whose texts each say several things."""
    name = f"{'several_' if several else ''}{'locked' if locked else 'open'}.txt"
    blocks = (_FOLDER / name).read_text("utf-8").strip().split("\n\n")
    return [_parse(block.split("\n")) for block in blocks]


def _parse(lines: list[str]) -> NearQuestions:
    facts = [line[2:] for line in lines if line.startswith("+")]
    asked = [line[2:].rpartition(" = ") for line in lines if line.startswith("?")]
    return NearQuestions(
        facts,
        [(question, next(at for at, fact in enumerate(facts) if part in fact)) for question, _, part in asked],
        [line[2:] for line in lines if line.startswith("!")],
    )
