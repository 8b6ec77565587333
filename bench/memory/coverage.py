"""Coverage of LoCoMo's observations by extracted memories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from bench.memory.conversations import Conversation
from pipeline.memory.formation.rule_based_extraction import CandidateFact, extract_facts

Vectors = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Extracted:
    """A memory: the turns that it comes from, and whom it is about (the first speaker it names).

    `start` and `end` are its offsets in the text of its session.
    """

    text: str
    turns: frozenset[str]
    speaker: str | None
    session: int
    start: int
    end: int


@dataclass
class Coverage:
    """Counts, to be added up over conversations.

    `covered_own`, `supported_own`: by a memory from the turns that prove the observation, not from elsewhere.
    """

    turns: int = 0
    memories: int = 0
    observations: int = 0
    covered: int = 0
    covered_own: int = 0
    supported: int = 0
    supported_own: int = 0

    def add(self, other: "Coverage") -> None:
        """Count the other's too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def extracted(conversation: Conversation) -> list[Extracted]:
    """Extract the memories of each session."""
    return [
        extracted_memory(conversation, number, draft)
        for number, session in enumerate(conversation.sessions)
        for draft in extract_facts(session.text, date.fromisoformat(session.date[:10]))
    ]


def extracted_memory(conversation: Conversation, number: int, draft: CandidateFact) -> Extracted:
    """A fact of the session of this number."""
    session = conversation.sessions[number]
    start, end = draft.start or 0, draft.end or len(session.text)
    turns, speaker = (
        session.turns_in_span(start, end),
        first_mentioned_speaker(draft.text, conversation.speakers),
    )
    return Extracted(draft.text, frozenset(turns), speaker, number, start, end)


def first_mentioned_speaker(text: str, speakers: Sequence[str]) -> str | None:
    """The speaker that a text names first."""
    places = [(place, name) for name in speakers if (place := text.find(name)) >= 0]
    return min(places)[1] if places else None


def coverage(conversation: Conversation, memories: Sequence[Extracted], vectors: Vectors, threshold: float) -> Coverage:
    """Observations that a memory says, and memories that an observation says, about the same speaker."""
    observations = conversation.observations
    same = similarity_matrix(conversation, memories, vectors) >= threshold
    own = np.array([[bool(observation.turns & memory.turns) for memory in memories] for observation in observations])
    return Coverage(
        turns=conversation.turns,
        memories=len(memories),
        observations=len(observations),
        covered=int(same.any(axis=1).sum()),
        covered_own=int((same & own).any(axis=1).sum()),
        supported=int(same.any(axis=0).sum()),
        supported_own=int((same & own).any(axis=0).sum()),
    )


def similarity_matrix(
    conversation: Conversation, memories: Sequence[Extracted], vectors: Vectors
) -> NDArray[np.float32]:
    """Cosines, a row per observation and a column per memory; -1 where the speakers differ."""
    observation_vectors = vectors([observation.text for observation in conversation.observations])
    memory_vectors = vectors([memory.text for memory in memories])
    speakers = np.array([observation.speaker for observation in conversation.observations])
    subjects = np.array([memory.speaker or "" for memory in memories])
    return np.where(speakers[:, None] == subjects[None, :], observation_vectors @ memory_vectors.T, np.float32(-1))
