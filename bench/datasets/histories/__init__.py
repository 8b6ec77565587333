"""Histories of one person each: a year of conversations with an assistant, and what has to be remembered of them."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_FOLDER = Path(__file__).parent
HistorySet = Literal[
    "open", "locked", "lives_open", "lives_locked", "notes_open", "notes_locked", "requests_open", "requests_locked",
    "homes_open", "homes_locked", "half_years_open", "half_years_locked",
]  # fmt: skip
"""*lives*: ten people, each a year of notes, voice notes, messages of two friends or chats, in eight languages;
*notes*: eight people, each a year of answers to an assistant, notes in lists, voice notes, proofreading and games;
*requests*: six people, each half a year of requests to an assistant, in four languages; *homes*: six people, each
three quarters of a year of requests that tell of a family and its home in passing, in five languages; *half_years*: ten
people, each half a year of forty messages to an assistant, in six languages."""
_HEADING = re.compile(r"# (?P<person>\S+) (?P<language>\S+) (?P<now>\S+)")
_QUESTION = re.compile(r"q (?P<text>.+?) \| (?P<wanted>.+?)(?: ! (?P<former>.+))?")
_RULE = re.compile(r"(?P<mark>[-+=xpn]) (?P<parts>.+?)(?: ! (?P<unless>.+))?")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a text has to say (`parts`, patterns) and what it may not say beside it (`unless`)."""

    parts: tuple[str, ...]
    unless: str | None = None

    def is_met_by(self, text: str) -> bool:
        """Return whether the text says it."""
        if self.unless is not None and re.search(self.unless, text, re.IGNORECASE):
            return False
        return all(re.search(part, text, re.IGNORECASE) for part in self.parts)

    def is_met_by_any(self, texts: list[str]) -> bool:
        """Return whether one of the texts says it."""
        return any(map(self.is_met_by, texts))


@dataclass(frozen=True, slots=True)
class Question:
    """A question on the last day, and patterns of its answer and of what was the answer earlier."""

    text: str
    wanted: Rule
    former: Rule | None


@dataclass(slots=True)
class History:
    """Conversations with their days, rules by mark, and questions.

    `+` a memory says it, `-` no memory does, `=` a latest memory says it at the end, `x` none does any more, `p` a
    line of the profile does, `n` none does.
    """

    person: str
    language: str
    now: str
    conversations: list[tuple[str, str]] = field(default_factory=list)
    rules: dict[str, list[Rule]] = field(default_factory=lambda: {mark: [] for mark in "+-=xpn"})
    questions: list[Question] = field(default_factory=list)


def histories(name: HistorySet) -> list[History]:
    """Return the histories of a half, written before the rules saw them."""
    found: list[History] = []
    for line in (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if heading := _HEADING.fullmatch(line):
            found.append(History(heading["person"], heading["language"], heading["now"]))
        elif line.startswith("@ "):
            found[-1].conversations.append((line[2:], ""))
        elif asked := _QUESTION.fullmatch(line):
            former = None if asked["former"] is None else Rule((asked["former"],))
            found[-1].questions.append(Question(asked["text"], Rule(tuple(asked["wanted"].split(" & "))), former))
        elif rule := _RULE.fullmatch(line):
            found[-1].rules[rule["mark"]].append(Rule(tuple(rule["parts"].split(" & ")), rule["unless"]))
        elif line:
            day, said = found[-1].conversations.pop()
            found[-1].conversations.append((day, f"{said}\n{line}".lstrip("\n")))
    return found
