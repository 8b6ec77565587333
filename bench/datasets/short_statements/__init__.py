"""Short statements as people type them: answers to an assistant's questions, notes, fragments, in many languages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_FOLDER = Path(__file__).parent
StatementSet = Literal[
    "open",
    "locked",
    "voices_open",
    "voices_locked",
    "mixed_open",
    "mixed_locked",
    "hurried_open",
    "hurried_locked",
    "texts_open",
    "texts_locked",
    "everyday_open",
    "everyday_locked",
    "documents_open",
    "documents_locked",
    "notices_open",
    "notices_locked",
    "daily_open",
    "daily_locked",
    "terse_open",
    "terse_locked",
    "talks_open",
    "talks_locked",
    "chatter_open",
    "chatter_locked",
    "strangers_open",
    "strangers_locked",
    "gathered_open",
    "gathered_locked",
    "requests_open",
    "requests_locked",
    "asides_open",
    "asides_locked",
    "exports_open",
    "exports_locked",
    "offices_open",
    "offices_locked",
    "plain_open",
    "plain_locked",
    "twelve_open",
    "twelve_locked",
]
"""Every second one of each kind is locked; *voices* are in ten languages, divided by hash; *mixed* also holds mails,
minutes, chats and journals with several facts each; *hurried* are messages in nine languages, divided by hash; *texts*
are chats, notes, mails, minutes and lists of two to six lines in eleven languages; *everyday* are voice notes without
stops, tickets, family chats, journals, comments, plans of travels and reviews of code in sixteen languages; *documents*
are pages of firms, clubs and schools in nine languages; *notices* are notices, protocols, handovers, orders, minutes
and letters in eight languages; *daily* are what nurses, players, coaches, brides, shopkeepers, apprentices, teenagers,
people who dictate and learners of English say, in nine languages; *terse* are single short lines in ten languages;
*talks* are friends' dialogues of ten to twenty turns, group chats, voice notes, mails, minutes, notes of cases,
tickets, journals, posts and applications in eleven languages; *chatter* are the same kinds as messy as they come:
copied group chats, voice notes, letters, standups, role plays that end, and a third that says nothing to keep, in
fourteen languages; *gathered* are voice notes, notes in lists,
chats with an assistant, group chats, mails, minutes, games and fiction, in eleven languages; *strangers* are exports,
transcripts, journals, letters, forms, posts, tickets, a curriculum, a recipe and chats with an assistant, in fifteen
languages; *requests* are requests and questions that carry facts in passing, and tasks about what is made up or pasted,
in twenty-four languages; *asides* are such requests again, in thirteen; *exports* are exports of chats, voice notes
without stops, journals and mails of friends, in eleven; *offices* are mails at work, minutes, standups, handovers,
tickets and notes of talks, in thirteen; *plain* are chats of friends, questions with asides, mails, minutes, journals,
voice notes and lists of 126 people, half of them English, in nineteen; *twelve* are 240 texts of all these kinds by
twelve people, divided by person, in seven languages and three mixtures with English."""
SYNCED: Final = frozenset({"documents_open", "documents_locked", "notices_open", "notices_locked"})
"""What a connector brings: its writer is not the user."""
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ShortStatement:
    """A document, the words of each fact that one of its memories has to state, and words that none holds together.

    `a|b`: either word.

    Where there are no facts and no forbidden words, it should form no memory at all.
    """

    document: str
    facts: tuple[tuple[str, ...], ...]
    forbidden: tuple[tuple[str, ...], ...]

    def facts_met_by(self, memories: list[str]) -> int:
        """Return how many of the facts are stated."""
        return sum(any(_holds(memory, words) for memory in memories) for words in self.facts)

    def is_wronged_by(self, memories: list[str]) -> bool:
        """Return whether a memory states what nobody said, or what is no fact of them."""
        if not self.facts and not self.forbidden:
            return bool(memories)
        return any(_holds(memory, words) for memory in memories for words in self.forbidden)

    def is_met_by(self, memories: list[str]) -> bool:
        """Return whether the memories are what the document should form."""
        return self.facts_met_by(memories) == len(self.facts) and not self.is_wronged_by(memories)


def short_statements(name: StatementSet) -> list[ShortStatement]:
    """Return the statements of a half, written before the rules saw them."""
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [_parsed(line) for line in lines if line and not line.startswith("# ")]


def _parsed(line: str) -> ShortStatement:
    document, _, words = line.rpartition(" | ")
    parts = [] if words == _NOTHING else words.split("; ")
    facts = tuple(tuple(part.split(", ")) for part in parts if not part.startswith("!"))
    forbidden = tuple(tuple(part[1:].split(", ")) for part in parts if part.startswith("!"))
    return ShortStatement(document.replace(" / / ", "\n\n").replace(" / ", "\n"), facts, forbidden)


def _holds(memory: str, words: tuple[str, ...]) -> bool:
    """Return whether a memory has all the words, written with or without a hyphen."""
    said = memory.casefold()
    either = [word.casefold().split("|") for word in words]
    return all(any(word in said or word in said.replace("-", " ") for word in alternatives) for alternatives in either)
