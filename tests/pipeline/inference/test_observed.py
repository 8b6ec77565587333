"""An observed embedder is the same embedder, and somebody is told."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from pipeline.errors import RetryableError
from pipeline.inference.none import NoEmbedder
from pipeline.inference.observed import observed
from pipeline.inference.wordllama import WordLlamaEmbedder
from pipeline.metrics import Metrics
from pipeline.ports import WordVectors
from pipeline.rows import Vector

pytestmark = pytest.mark.anyio


class Away(NoEmbedder):
    """Does not answer while `away`."""

    away = True

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.away:
            raise RetryableError("connection refused")
        return await super().documents(texts)


async def test_vectors_and_words_are_those_of_the_embedder() -> None:
    told: list[tuple[str, Exception | None]] = []
    plain = WordLlamaEmbedder.packaged()
    same = observed(plain, lambda call, _, error: told.append((call, error)))
    assert (same.name, same.dimensions) == (plain.name, plain.dimensions)
    np.testing.assert_array_equal(await same.documents(["a cat"]), await plain.documents(["a cat"]))
    weight: Callable[[str], float] = lambda word: float(len(word))  # noqa: E731 - shorter than a function
    np.testing.assert_array_equal(await same.query("a cat", weight), await plain.query("a cat", weight))
    assert told == [("documents", None), ("query", None)]
    assert isinstance(same, WordVectors)
    np.testing.assert_array_equal(same.word_vectors(["cat"]), plain.word_vectors(["cat"]))


def test_an_embedder_that_knows_no_words_still_knows_none() -> None:
    assert not isinstance(observed(NoEmbedder(), lambda *_: None), WordVectors)


async def test_an_embedder_that_does_not_answer_is_known_until_it_does() -> None:
    metrics, away = Metrics(), Away()
    embedder = observed(away, metrics.embedded)
    for _ in range(2):
        with pytest.raises(RetryableError):
            await embedder.documents(["x"])
    assert metrics.progress.embedder is not None
    assert metrics.progress.embedder.error == "RetryableError"
    assert metrics.registry.get_sample_value("recollect_embedder_failures_total", {"call": "documents"}) == 2
    away.away = False
    await embedder.documents(["x"])
    assert metrics.progress.embedder is None
