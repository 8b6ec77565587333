"""Memories beside observations, and what is found of a conversation."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.memory.conversations import Conversation
from bench.memory.coverage import coverage, extracted, first_mentioned_speaker
from bench.memory.memory_recall import build_index, measure_recall
from pipeline.models import open_embedder
from pipeline.rows import RowKind


def by_words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors over the words of the test, of unit length."""
    vocabulary = ["Ann", "Bob", "lives", "likes", "in", "Rome", "tea"]
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts], np.float32)
    unit: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return unit


def test_a_session_is_a_dated_transcript_that_knows_its_turns(talk: Conversation) -> None:
    session = talk.sessions[0]
    assert session.date == "2023-05-08T13:56:00Z"
    assert session.text == "Ann: Hi! I live in Rome.\nBob: I like tea. [a photo of a cup]\n"
    assert session.turns_in_span(0, 5) == ["D1:1"]
    assert session.turns_in_span(20, 30) == ["D1:1", "D1:2"]


def test_a_memory_covers_what_says_the_same_of_the_same_speaker(talk: Conversation) -> None:
    found = coverage(talk, extracted(talk), by_words, 0.99)
    assert (found.observations, found.covered, found.covered_own) == (3, 2, 1)
    assert (found.turns, found.memories, found.supported, found.supported_own) == (2, 2, 2, 1)


def test_whom_a_memory_is_about_is_who_is_named_first() -> None:
    assert first_mentioned_speaker("In May Bob met Ann", ("Ann", "Bob")) == "Bob"
    assert first_mentioned_speaker("The shop is closed", ("Ann", "Bob")) is None


@pytest.mark.anyio
@pytest.mark.parametrize("kinds", [("chunk",), ("memory",), ("chunk", "memory")])
@pytest.mark.parametrize("by_turn", [False, True])
async def test_a_question_finds_the_turns_that_answer_it(
    talk: Conversation, kinds: tuple[RowKind, ...], by_turn: bool
) -> None:
    embedder = open_embedder("wordllama")
    filled = await build_index(talk, extracted(talk), embedder, by_turn=by_turn)
    assert [recall.in_ten for recall in await measure_recall(talk, filled, embedder, kinds)] == [1.0]
