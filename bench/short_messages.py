"""`python -m bench.short_messages`: learn anew which short messages people want to be remembered, for both models.

Writes `messages_*.npy` in `pipeline/memory/languages`: a logistic regression of the vectors of statements (open halves
of `bench.datasets`: paraphrases, successions, worlds, messy pairs), of what is short and meant to be kept, of
questions without their mark, and of what is of the moment. `--check` prints how much of the locked halves is taken for
memorable and for passing, and how much forms a memory by default.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal, get_args

import numpy as np

from bench.datasets.messy_pairs import PairSet, messy_pairs
from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.datasets.short_messages import short_messages
from bench.datasets.successions import successions
from bench.datasets.worlds import PARTS, worlds
from bench.logistic_regression import fit_logistic
from bench.memory.formed_memories import formed_memories
from bench.ranking import is_locked
from pipeline.memory.languages.short_messages import (
    MEMORABLE,
    OF_THE_MOMENT,
    is_short_message,
    messages_file,
)
from pipeline.models import open_embedder
from pipeline.models.e5_with_encoder_embedder import NAME
from pipeline.ports import Embedder
from pipeline.rows import Vector
from pipeline.vector_classifier import VectorClassifier, center_vectors

_SAID_ON = date(2026, 11, 27)
_RIDGE = 0.3
_STATEMENTS, _PASSING, _QUESTIONS = 1000, 700, 300
"""What each kind counts together, whatever its number: statements come by the thousand."""
MODELS: tuple[Literal["e5-encoder", "e5"], ...] = ("e5-encoder", "e5")
_LANGUAGES = (*LANGUAGES, *MORE_LANGUAGES)
_MARKS = "?\uff1f\u061f;\u00bf "


def main() -> None:
    """Write the files, or print the table."""
    options = argparse.ArgumentParser(prog="python -m bench.short_messages", description=__doc__)
    options.add_argument("--check", action="store_true")
    asyncio.run(_run(check=options.parse_args().check))


async def _run(*, check: bool) -> None:
    for name in MODELS:
        embedder = open_embedder(name)
        learned = await _learn(embedder)
        if check:
            await _print_rates(embedder, learned)
        else:
            learned.save(messages_file(embedder.name))
            print(messages_file(embedder.name))


async def _learn(embedder: Embedder) -> VectorClassifier:
    short = short_messages(locked=False)
    kinds = [
        ([*_statements(locked=False), *(text for text, is_kept in short if is_kept)], 1.0, _STATEMENTS),
        ([text for text, is_kept in short if not is_kept], 0.0, _PASSING),
        (list(_questions(locked=False)), 0.0, _QUESTIONS),
    ]
    return await learn_classifier(
        embedder, [(texts + list(map(_other_ending, texts)), kept, count) for texts, kept, count in kinds]
    )


async def learn_classifier(embedder: Embedder, kinds: Sequence[tuple[list[str], float, int]]) -> VectorClassifier:
    """Return the logistic regression of vectors: of each kind its texts, the truth, and what they count together."""
    vectors = [np.stack(await embedder.embed_documents(texts)) for texts, _, _ in kinds]
    mean: Vector = (vectors[0].mean(axis=0) + vectors[1].mean(axis=0)) / 2
    truth = np.concatenate([np.full(len(texts), kept) for texts, kept, _ in kinds])
    counts = np.concatenate([np.full(len(texts), count / len(texts)) for texts, _, count in kinds])
    centered = center_vectors(np.concatenate(vectors), mean)
    weights = fit_logistic(
        np.column_stack((np.ones(len(centered)), centered)).astype(np.float64), truth, counts, ridge=_RIDGE
    )
    return VectorClassifier(weights[1:].astype(np.float32), float(weights[0]), mean)


def _other_ending(text: str) -> str:
    """Return a text without its full stop, or with one, so that none is learned from."""
    return text[:-1] if text.endswith((".", "\u3002", "\u0964")) else f"{text}."


def _statements(*, locked: bool) -> Iterator[str]:
    for language in _LANGUAGES:
        part = paraphrases(language, locked=locked)
        yield from (fact for fact, _ in part.facts)
        yield from (text for triple in (*part.updates, *part.others) for text in triple[:2])
    for pairs in successions():
        yield from (text for pair in pairs for text in (pair.older, pair.newer) if is_locked(text) == locked)
    for part_name in PARTS:
        yield from (text for world in worlds(locked=locked, part=part_name) for text in world.statements)
    for name in get_args(PairSet):
        if name.endswith("_locked" if locked else "_open"):
            said = (text for pair in messy_pairs(name) for text in (pair.first, pair.second))
            yield from (text for text in said if is_short_message(text))


def _questions(*, locked: bool) -> Iterator[str]:
    for language in _LANGUAGES:
        yield from (question.rstrip(_MARKS) for _, question in paraphrases(language, locked=locked).facts)


async def _print_rates(embedder: Embedder, learned: VectorClassifier) -> None:
    for title, texts in (
        ("facts of anybody", [fact for language in _LANGUAGES for fact, _ in paraphrases(language, locked=True).facts]),
        ("statements", list(_statements(locked=True))),
        ("questions", list(_questions(locked=True))),
        ("of the moment", [text for text, _ in short_messages(locked=True)]),
    ):
        found = learned.log_odds(np.stack(await embedder.embed_documents(texts)))
        memorable, of_moment = (found >= MEMORABLE).mean(), (found < OF_THE_MOMENT).mean()
        formed = await formed_memories(texts, _SAID_ON) if embedder.name == NAME else []
        print(
            f"| {embedder.name} | {title} | {len(texts)} | {100 * memorable:.1f} | {100 * of_moment:.1f} | "
            f"{sum(map(bool, formed))} |"
        )


if __name__ == "__main__":
    main()
