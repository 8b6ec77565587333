"""Pairs of messages as people write them: whether the second replaces the first, and a question."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent
PairSet = Literal[
    "open",
    "locked",
    "lives_open",
    "lives_locked",
    "days_open",
    "days_locked",
    "hurried",
    "stranger",
    "voices_open",
    "voices_locked",
    "kinds_open",
    "kinds_locked",
    "typed_open",
    "typed_locked",
    "turns_open",
    "turns_locked",
    "daily_open",
    "daily_locked",
    "states_open",
    "states_locked",
    "months_open",
    "months_locked",
    "said_open",
    "said_locked",
    "weeks_open",
    "weeks_locked",
    "notes_open",
    "notes_locked",
    "passing_open",
    "passing_locked",
    "later_open",
    "later_locked",
    "mixed_seen",
    "mixed_locked",
]
"""Sixteen sets in two halves, all but one of many kinds and languages, and two written in minutes after the rules.

The newer messages of *notes* are of five sentences, of which at most one replaces the older; many of those of
*passing* ask an assistant for something else. In *mixed* half of the pairs say things that hold beside each other, as
notes do: of two rooms, two tariffs, two people. No weight was learned on either half of it; the first was looked at.
"""
_ENDING = {"= replaces", "= ends", "= corrects"}
_SECOND_ANSWERS = "= second answers"


@dataclass(frozen=True, slots=True)
class MessyPair:
    """Two messages; `is_update`: the second ends what the first says. `question`: what the one that holds answers.

    `second_answers`: the second does, which an update does, and a statement after an event around what it is about.
    """

    is_update: bool
    first: str
    second: str
    question: str | None
    second_answers: bool


def messy_pairs(name: PairSet) -> list[MessyPair]:
    """Return the pairs of a set, written before the rules saw them."""
    return list(_read((_FOLDER / f"{name}.txt").read_text("utf-8")))


def practice_pairs() -> list[MessyPair]:
    """Return pairs without questions, which only weights are learned on."""
    return list(_read((_FOLDER / "practice.txt").read_text("utf-8")))


def pairs_of_file(path: Path) -> list[MessyPair]:
    """Return the pairs of a JSON file with `first`, `second`, `expected` and `question`."""
    return [
        MessyPair(is_update, pair["first"], pair["second"], pair["question"], is_update)
        for pair in json.loads(path.read_text("utf-8"))
        for is_update in [pair["expected"] == "first is superseded"]
    ]


def _read(text: str) -> Iterator[MessyPair]:
    is_update = second_answers = False
    for line in text.splitlines():
        if line.startswith("= "):
            is_update = line in _ENDING
            second_answers = is_update or line == _SECOND_ANSWERS
        elif line and not line.startswith("#"):
            first, second, *question = line.split(" | ")
            yield MessyPair(is_update, first, second, question[0] if question else None, second_answers)
