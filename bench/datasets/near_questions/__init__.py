"""Facts of twelve people in eight languages, questions that they answer in other words, and some that they do not.

The unanswered ones are about somebody or something that the facts are about: "What is the plumber's name?" The texts
of `several_*.txt`, of sixteen people in fourteen languages, each say several things. The questions of `brief_*.txt`
(sixteen people, fourteen languages) have a word or two ("phone?", "wo arbeite ich"). Those of `repeated_*.txt` (eight
people, seven languages) have words that are said of others, too ("where do I live?" and "live music at the Crown"). In
`strangers_*.txt` (eight people, seven languages) most unanswered questions name somebody or something that no fact
names. Those of `kin_*.txt` (25 people, twelve languages) name a relative by two others ("my brother's wife").
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
PARTS = ("", "several", "brief", "repeated", "strangers")
"""Those whose open halves are learned from, which `kin` is not."""


@dataclass(frozen=True, slots=True)
class NearQuestions:
    """Facts, questions with the place of the fact that answers, and questions that no fact answers."""

    facts: list[str]
    answered: list[tuple[str, int]]
    unanswered: list[str]


def near_questions(*, locked: bool, part: str = "") -> list[NearQuestions]:
    """Return one half of the people; `part`: one of `PARTS`."""
    name = "_".join(filter(None, (part, "locked" if locked else "open")))
    blocks = (_FOLDER / f"{name}.txt").read_text("utf-8").strip().split("\n\n")
    return [_parse(block.split("\n")) for block in blocks]


def _parse(lines: list[str]) -> NearQuestions:
    facts = [line[2:] for line in lines if line.startswith("+")]
    asked = [line[2:].rpartition(" = ") for line in lines if line.startswith("?")]
    return NearQuestions(
        facts,
        [(question, next(at for at, fact in enumerate(facts) if part in fact)) for question, _, part in asked],
        [line[2:] for line in lines if line.startswith("!")],
    )
