"""What people say of themselves, over many topics, and questions that name one of these; with questions that do not.

`open.txt` and `locked.txt`: `family (plans) | text` said by somebody, with its topics, those in brackets arguable;
`? family | question` asks for everything of a topic. `specific_*.txt`: questions for one thing, in words of topics.
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Statement:
    """A text, the topics that it belongs to, and those that it may be counted to or not."""

    text: str
    topics: frozenset[str]
    arguable: frozenset[str]


@dataclass(frozen=True, slots=True)
class Person:
    """What somebody says, oldest first, and questions, each with its topic."""

    language: str
    statements: list[Statement]
    questions: list[tuple[str, str]]


def people(*, locked: bool) -> list[Person]:
    """Return one half of the people."""
    blocks = _lines_of("people", locked=locked).split("\n\n")
    return [_parse(block.split("\n")) for block in blocks]


def specific_questions(*, locked: bool) -> list[str]:
    """Return one half of the questions that ask for one thing."""
    return _lines_of("specific", locked=locked).split("\n")


def _lines_of(name: str, *, locked: bool) -> str:
    return (_FOLDER / f"{name}_{'locked' if locked else 'open'}.txt").read_text("utf-8").strip()


def _parse(lines: list[str]) -> Person:
    said, asked = [], []
    for line in lines[1:]:
        head, _, text = line.partition(" | ")
        if head.startswith("? "):
            asked.append((text, head[2:]))
        else:
            said.append(_statement(head.split(), text))
    return Person(lines[0].removeprefix("# "), said, asked)


def _statement(topics: list[str], text: str) -> Statement:
    arguable = frozenset(topic.strip("()") for topic in topics if topic.startswith("("))
    return Statement(text, frozenset(topic for topic in topics if not topic.startswith("(")), arguable)
