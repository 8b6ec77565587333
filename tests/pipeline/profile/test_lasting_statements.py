"""Statements that last, told by their vectors in any language, beside the rules for English."""

from typing import Literal

import numpy as np
import pytest

from bench.datasets.lasting_statements import lasting_statements
from pipeline.models import open_embedder
from pipeline.profile.fact_relevance import is_lasting, lasting_file
from pipeline.vector_classifier import NOTHING_LEARNED, read_classifier

pytestmark = pytest.mark.anyio

LAST = (
    "User: ma sœur est vétérinaire",
    "User: Ich habe drei Kinder",
    "User: no como pescado",
    "User: 大阪に住んでいます",
    "User is on insulin",
)
PASS = (
    "User: j'ai raté le bus ce matin",
    "User: Morgen kommt der Elektriker",
    "User: ayer llovió todo el día",
    "User: 今日は疲れています",
    "User is waiting for the electrician",
)


async def log_odds_of(*texts: str) -> list[float]:
    embedder = open_embedder("e5-encoder")
    vectors = np.stack(await embedder.embed_documents(texts))
    found: list[float] = read_classifier(lasting_file(embedder.name)).log_odds(vectors).tolist()
    return found


async def test_what_lasts_is_told_from_what_passes_in_every_language() -> None:
    assert set(LAST + PASS).isdisjoint(text for text, _ in lasting_statements())
    found = [
        is_lasting(text, is_static=False, log_odds=odds)
        for text, odds in zip(LAST + PASS, await log_odds_of(*LAST, *PASS), strict=True)
    ]
    assert found == [True] * len(LAST) + [False] * len(PASS)


async def test_what_names_its_last_day_does_not_last_whatever_its_vector_says() -> None:
    assert not is_lasting("User lives in Rome until 12 May", is_static=True, log_odds=9.0)


def test_a_statement_without_a_vector_is_left_to_the_rules() -> None:
    learned = read_classifier(lasting_file(open_embedder("e5-encoder").name))
    assert learned.log_odds(np.zeros((2, len(learned.mean)), np.float32)).tolist() == [0, 0]
    assert is_lasting("User is 29", is_static=False, log_odds=0.0)


def test_nothing_is_learned_for_another_model() -> None:
    assert read_classifier(lasting_file("another")) is NOTHING_LEARNED


@pytest.mark.parametrize("kind", ["e5", "e5-encoder"])
def test_each_default_model_has_a_file(kind: Literal["e5", "e5-encoder"]) -> None:
    assert lasting_file(open_embedder(kind).name).is_file(), "write the files: python -m bench.lasting_statements"
