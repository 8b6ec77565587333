"""Vector cache: a text that was embedded is not embedded again."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pipeline.models.vector_cache import MAX_QUERIES, CachingEmbedder, VectorCache
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.packed_vectors import pack, round_vector
from pipeline.ports import WordVectors
from pipeline.rows import Vector
from tests.support.fakes import HashingEmbedder

pytestmark = pytest.mark.anyio


class GatedEmbedder(HashingEmbedder):
    """A model that answers once its gate is open, and fails at first."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.gate, self.is_asked, self._failures = asyncio.Event(), asyncio.Event(), failures

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.is_asked.set()
        found = await super().embed_documents(texts)
        await self.gate.wait()
        if self._failures:
            self._failures -= 1
            raise ConnectionError("away")
        return found

    async def waited_for(
        self, embedder: CachingEmbedder, first: Sequence[str], second: Sequence[str]
    ) -> tuple[asyncio.Task[list[Vector]], asyncio.Task[list[Vector]]]:
        """Two callers at a time: the second asks while the first one waits for the model."""
        begun = asyncio.create_task(embedder.embed_documents(first))
        await self.is_asked.wait()
        other = asyncio.create_task(embedder.embed_documents(second))
        await asyncio.sleep(0)
        return begun, other


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[VectorCache]:
    cache = VectorCache(tmp_path / "cache" / "vectors.sqlite")
    yield cache
    await cache.aclose()


def rounded(vectors: Sequence[Vector]) -> list[Vector]:
    return list(map(round_vector, vectors))


async def test_equal_texts_are_embedded_once_and_have_the_same_vector(cache: VectorCache) -> None:
    model = HashingEmbedder()
    embedder = CachingEmbedder(model, cache, "hashing")
    first = await embedder.embed_documents(["a cat", "a dog", "a cat"])
    second = await embedder.embed_documents(["a dog", "a bird", "a cat"])
    assert model.calls == [["a cat", "a dog"], ["a bird"]]
    np.testing.assert_array_equal(first, rounded(await model.embed_documents(["a cat", "a dog", "a cat"])))
    np.testing.assert_array_equal(second, rounded(await model.embed_documents(["a dog", "a bird", "a cat"])))


async def test_a_text_of_two_callers_at_a_time_is_embedded_once(cache: VectorCache) -> None:
    model = GatedEmbedder()
    embedder = CachingEmbedder(model, cache, "hashing")
    first, second = await model.waited_for(embedder, ["a cat"], ["a dog", "a cat"])
    model.gate.set()
    np.testing.assert_array_equal((await first)[0], (await second)[1])
    assert model.calls == [["a cat"], ["a dog"]]


async def test_a_failure_reaches_every_caller_and_is_tried_again(cache: VectorCache) -> None:
    model = GatedEmbedder(failures=1)
    embedder = CachingEmbedder(model, cache, "hashing")
    both = await model.waited_for(embedder, ["a cat"], ["a cat"])
    model.gate.set()
    failures = await asyncio.gather(*both, return_exceptions=True)
    assert [str(failure) for failure in failures] == ["away"] * 2
    assert len(await embedder.embed_documents(["a cat"])) == 1


async def test_a_caller_that_is_cancelled_leaves_the_other_its_vector(cache: VectorCache) -> None:
    model = GatedEmbedder()
    embedder = CachingEmbedder(model, cache, "hashing")
    cancelled, other = await model.waited_for(embedder, ["a cat"], ["a cat"])
    cancelled.cancel()
    model.gate.set()
    assert len(await other) == 1
    assert model.calls == [["a cat"]]


async def test_vectors_outlive_the_process(tmp_path: Path) -> None:
    model = HashingEmbedder()
    for _ in range(2):
        cache = VectorCache(tmp_path / "vectors.sqlite")
        await CachingEmbedder(model, cache, "hashing").embed_documents(["a cat"])
        await cache.aclose()
    assert model.calls == [["a cat"]]


async def test_another_model_has_vectors_of_its_own(cache: VectorCache) -> None:
    small, large = HashingEmbedder(8), HashingEmbedder(16)
    await CachingEmbedder(small, cache, "small").embed_documents(["a cat"])
    (vector,) = await CachingEmbedder(large, cache, "large").embed_documents(["a cat"])
    assert vector.shape == (16,)


async def test_the_oldest_vectors_go_when_there_is_no_room(tmp_path: Path) -> None:
    model = HashingEmbedder(4)
    cache = VectorCache(tmp_path / "vectors.sqlite", max_bytes=3 * (4 + 4 + 28))
    embedder = CachingEmbedder(model, cache, "hashing")
    for text in ("one", "two", "three", "four"):
        await embedder.embed_documents([text])
    model.calls.clear()
    await embedder.embed_documents(["four", "three", "two", "one"])
    assert model.calls == [["one"]]
    await cache.aclose()


async def test_a_stored_vector_is_opened_by_its_text_only(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    cache, model = VectorCache(path), HashingEmbedder()
    (vector,) = await CachingEmbedder(model, cache, "hashing").embed_documents(["a cat"])
    await cache.aclose()
    assert pack(vector[None])[:, :-4].tobytes() not in path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE sealed SET vector = zeroblob(length(vector))")
        db.commit()
    cache = VectorCache(path)
    np.testing.assert_array_equal(await CachingEmbedder(model, cache, "hashing").embed_documents(["a cat"]), [vector])
    assert model.calls == [["a cat"], ["a cat"]]
    await cache.aclose()


async def test_a_damaged_file_costs_only_time(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"no database" * 1000)
    cache, model = VectorCache(path), HashingEmbedder()
    embedder = CachingEmbedder(model, cache, "hashing")
    await embedder.embed_documents(["a cat"])
    await embedder.embed_documents(["a cat"])
    assert model.calls == [["a cat"]]
    await cache.aclose()


async def test_a_file_that_cannot_be_opened_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").mkdir()
    cache, model = VectorCache(tmp_path / "vectors.sqlite"), HashingEmbedder()
    np.testing.assert_array_equal(
        await CachingEmbedder(model, cache, "hashing").embed_documents(["a cat"]),
        rounded(await model.embed_documents(["a cat"])),
    )
    await cache.aclose()


class CountingQueries(HashingEmbedder):
    """Counts the questions that reach the model."""

    asked = 0

    async def embed_query(self, text: str, term_weight: object = None) -> Vector:
        self.asked += 1
        return self._vector(text)


async def test_a_question_asked_again_does_not_reach_the_model(cache: VectorCache) -> None:
    model = CountingQueries()
    embedder = CachingEmbedder(model, cache, "hashing")
    first, second = await embedder.embed_query("who?"), await embedder.embed_query("who?")
    assert (first == second).all()
    assert model.asked == 1


async def test_questions_not_asked_for_longest_are_forgotten(cache: VectorCache) -> None:
    model = CountingQueries()
    embedder = CachingEmbedder(model, cache, "hashing")
    for number in range(MAX_QUERIES):
        await embedder.embed_query(f"question {number}")
    await embedder.embed_query("question 0")
    await embedder.embed_query("one more")
    before = model.asked
    await embedder.embed_query("question 0")
    assert model.asked == before
    await embedder.embed_query("question 1")
    assert model.asked == before + 1


async def test_vectors_of_words_are_passed_on_where_the_model_has_them(cache: VectorCache) -> None:
    assert not isinstance(CachingEmbedder(HashingEmbedder(), cache, "hashing"), WordVectors)
    words = WordLlamaEmbedder.from_package()
    wrapped = CachingEmbedder(words, cache, "words")
    assert isinstance(wrapped, WordVectors)
    np.testing.assert_array_equal(wrapped.word_vectors(["tea"]), words.word_vectors(["tea"]))
