"""LoCoMo's conversations as a memory service meets them: each session a transcript with its date."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_ADVERSARIAL = 5
_SESSIONS = 100
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Session:
    """Session: the transcript, its date (ISO 8601) and where each turn lies in it."""

    date: str
    text: str
    turns: dict[str, tuple[int, int]]

    def text_of_turn(self, turn: str) -> str:
        """A turn's line."""
        start, end = self.turns[turn]
        return self.text[start:end].strip()

    def turns_in_span(self, start: int, end: int) -> list[str]:
        """The turns that a span touches."""
        return [turn for turn, (begin, stop) in self.turns.items() if begin < end and start < stop]


@dataclass(frozen=True)
class Observation:
    """A fact that an annotator's model wrote down: whose, and the turns that prove it."""

    speaker: str
    text: str
    turns: frozenset[str]


@dataclass(frozen=True)
class AnnotatedQuestion:
    """A question and the turns that answer it."""

    text: str
    turns: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    """Two people over many sessions."""

    name: str
    speakers: tuple[str, str]
    sessions: list[Session]
    observations: list[Observation]
    questions: list[AnnotatedQuestion]
    adversarial: list[AnnotatedQuestion]
    """About the wrong person: there is no answer, and the turns are those that it seems to be about."""

    @property
    def turns(self) -> int:
        """Number of turns."""
        return sum(len(session.turns) for session in self.sessions)


def conversations(path: Path) -> list[Conversation]:
    """Read the conversations of a file."""
    return [_conversation(record) for record in json.loads(path.read_text("utf-8"))]


def _conversation(record: dict[str, Any]) -> Conversation:
    spoken = record["conversation"]
    sessions = [_session(spoken, number) for number in range(1, _SESSIONS) if spoken.get(f"session_{number}")]
    turns = {turn for session in sessions for turn in session.turns}
    return Conversation(
        name=record["sample_id"],
        speakers=(spoken["speaker_a"], spoken["speaker_b"]),
        sessions=sessions,
        observations=list(_observations(record)),
        questions=[asked for asked in _questions(record, turns) if asked.category != _ADVERSARIAL],
        adversarial=[asked for asked in _questions(record, turns) if asked.category == _ADVERSARIAL],
    )


def _session(spoken: dict[str, Any], number: int) -> Session:
    lines: list[str] = []
    turns: dict[str, tuple[int, int]] = {}
    position = 0
    for turn in spoken[f"session_{number}"]:
        caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
        line = f"{turn['speaker']}: {turn['text']}{caption}\n"
        turns[turn["dia_id"]] = (position, position + len(line))
        position += len(line)
        lines.append(line)
    spoken_at = datetime.strptime(spoken[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")  # noqa: DTZ007 - the data names no zone
    return Session(f"{spoken_at.isoformat()}Z", "".join(lines), turns)


def _observations(record: dict[str, Any]) -> Iterator[Observation]:
    for session in record["observation"].values():
        for speaker, stated in session.items():
            for text, proof in stated:
                yield Observation(speaker, text, frozenset(_TURN.findall(str(proof))))


def _questions(record: dict[str, Any], known_turns: set[str]) -> Iterator[AnnotatedQuestion]:
    for question in record["qa"]:
        turns = frozenset(_TURN.findall(" ".join(question["evidence"]))) & known_turns
        if turns:
            yield AnnotatedQuestion(question["question"], turns, question["category"])
