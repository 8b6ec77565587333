"""Contract of every embedder, and what each adds."""

import asyncio
import json
from collections.abc import Callable

import httpx2
import numpy as np
import pytest

from pipeline.errors import OutageError, RejectedError, RetryableError
from pipeline.models import open_embedder
from pipeline.models.openai_embedder import OpenAIEmbedder
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.ports import Embedder

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    return WordLlamaEmbedder.from_package()


def _answering(status: int = 200) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        if status != 200:
            return httpx2.Response(status, json={"error": "no"})
        size = asked.get("dimensions", 3)
        data = [{"index": at, "embedding": [float(len(text))] * size} for at, text in enumerate(asked["input"])]
        return httpx2.Response(200, json={"data": data[::-1]})

    return answer


def _endpoint(answer: Callable[[httpx2.Request], httpx2.Response], dimensions: int = 3) -> OpenAIEmbedder:
    transport = httpx2.MockTransport(answer)
    return OpenAIEmbedder(base_url="http://x/v1/", model="m", dimensions=dimensions, transport=transport)


@pytest.fixture(params=["e5", "e5-encoder", "wordllama", "openai", "none"])
def embedder(request: pytest.FixtureRequest, wordllama: WordLlamaEmbedder) -> Embedder:
    if request.param in {"e5", "e5-encoder"}:
        return open_embedder(request.param)
    if request.param == "wordllama":
        return wordllama
    return _endpoint(_answering()) if request.param == "openai" else open_embedder("none")


async def test_vectors_are_float32_of_about_unit_length_or_zero(embedder: Embedder) -> None:
    vectors = await embedder.embed_documents(["A dog barks.", "", "   ", "猫が好き"])
    assert [vector.shape for vector in vectors] == [(embedder.dimensions,)] * 4
    assert all(vector.dtype == np.float32 for vector in vectors)
    assert all(abs(float(np.linalg.norm(vector)) - 1) < 0.05 or not vector.any() for vector in vectors)
    assert not vectors[1].any()


async def test_a_text_has_the_same_vector_in_any_company(embedder: Embedder) -> None:
    alone = (await embedder.embed_documents(["A dog barks."]))[0]
    company = await embedder.embed_documents([f"filler {at}" for at in range(70)] + ["A dog barks."])
    assert (alone == company[-1]).all()


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed_documents([]) == []


async def test_similar_texts_are_near_and_case_does_not_matter(wordllama: WordLlamaEmbedder) -> None:
    dog, puppy, tax, shout = await wordllama.embed_documents(
        ["a dog barks", "the puppy is barking", "annual tax return", "A DOG BARKS"]
    )
    assert dog @ puppy > dog @ tax
    assert (dog == shout).all()


async def test_a_query_leans_to_its_heavy_words(wordllama: WordLlamaEmbedder) -> None:
    guitar = (await wordllama.embed_documents(["guitar"]))[0]
    plain = await wordllama.embed_query("caroline guitar")
    heavy = await wordllama.embed_query("caroline guitar", lambda word: 5.0 if word == "guitar" else 0.5)
    assert heavy @ guitar > plain @ guitar
    assert (await wordllama.embed_query("caroline guitar", lambda _: 0.0) == plain).all()


async def test_strange_queries_are_harmless(wordllama: WordLlamaEmbedder) -> None:
    for text in ["", "\0", "\ud800 lone", "x" * 50_000, "word " * 10_000, "?!"]:
        assert np.isfinite(await wordllama.embed_query(text, lambda _: 1.0)).all()


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, OutageError), (503, OutageError), (401, RetryableError), (422, RejectedError)],
)
async def test_an_endpoint_that_fails_says_whether_to_try_again(status: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=str(status)):
        await _endpoint(_answering(status)).embed_query("hello")


async def test_an_endpoint_that_does_not_answer_is_tried_again_later() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(OutageError, match="did not answer"):
        await _endpoint(refuse).embed_query("hello")


async def test_an_answer_that_never_ends_is_given_up() -> None:
    async def drip(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    transport = httpx2.MockTransport(drip)
    endpoint = OpenAIEmbedder(base_url="http://x", model="m", dimensions=3, timeout_seconds=0.01, transport=transport)
    with pytest.raises(RetryableError, match="did not answer"):
        await endpoint.embed_query("hello")


async def test_an_endpoint_that_refuses_dimensions_is_asked_without() -> None:
    def strict(request: httpx2.Request) -> httpx2.Response:
        return _answering(400 if "dimensions" in json.loads(request.content) else 200)(request)

    assert (await _endpoint(strict).embed_query("hello")).shape == (3,)
    with pytest.raises(RejectedError, match="RECOLLECT_EMBEDDER_DIMENSIONS to 3"):
        await _endpoint(strict, dimensions=5).embed_query("hello")


def test_an_endpoint_without_an_address_names_the_setting() -> None:
    with pytest.raises(ValueError, match="RECOLLECT_EMBEDDER_BASE_URL"):
        open_embedder("openai")


@pytest.mark.parametrize("embedding", [[float("nan")] * 3, None, [[1.0, 2.0, 3.0]]])
async def test_what_is_no_vector_is_asked_for_again(embedding: object) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=json.dumps({"data": [{"index": 0, "embedding": embedding}]}))

    with pytest.raises(RetryableError, match="no vectors"):
        await _endpoint(answer).embed_query("hello")


async def test_an_endpoint_that_leaves_a_query_unanswered_is_asked_again_after_a_pause() -> None:
    now, hangs, asked = [0.0], [True], list[str]()

    async def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        if hangs[0]:
            await asyncio.Event().wait()
        return _answering()(request)

    endpoint = OpenAIEmbedder(
        base_url="http://x",
        model="m",
        dimensions=3,
        query_timeout_seconds=0.001,
        transport=httpx2.MockTransport(answer),
        monotonic_clock=lambda: now[0],
    )
    for _ in range(3):
        with pytest.raises(OutageError, match="left a query unanswered"):
            await endpoint.embed_query("tea")
    assert len(asked) == 1
    hangs[0], now[0] = False, 5.0
    assert (await endpoint.embed_query("tea")).any()
