"""A reranking endpoint: asked as published, believed when it answers in time, left alone while it fails."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from pipeline.models.rerank_endpoint import RerankEndpoint
from tests.support.providers.api_description import ApiDescription
from tests.support.providers.provider_double import DoubleResponse, ProviderDouble, ReceivedRequest

pytestmark = pytest.mark.anyio

TEXTS = ["Taxes are due in May.", "Alice plays the cello.", "A cello has four strings."]


class RerankDouble(ProviderDouble):
    """Scores texts by the words they share with the query; `silent`: requests get no answer."""

    def __init__(self) -> None:
        super().__init__(ApiDescription("cohere", errors="Error"))
        self.silent = False

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        words = set(call.body["query"].lower().split())
        shared = [len(words & set(text.lower().rstrip(".").split())) for text in call.body["documents"]]
        found = sorted(range(len(shared)), key=lambda at: -shared[at])[: call.body["top_n"]]
        return scored(*((at, shared[at] / len(words)) for at in found))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.silent:
            await asyncio.Event().wait()
        await super().__call__({**scope, "path": scope["path"].removeprefix("/v2")}, receive, send)


def scored(*pairs: tuple[int, float]) -> DoubleResponse:
    results = [{"index": at, "relevance_score": score} for at, score in pairs]
    return DoubleResponse(body={"id": "1", "results": results, "meta": {}})


@pytest.fixture
async def double() -> AsyncIterator[RerankDouble]:
    double = RerankDouble()
    yield double
    double.assert_no_violations()


def endpoint(double: RerankDouble, **options: Any) -> RerankEndpoint:
    return RerankEndpoint(
        base_url="http://rerank.test/v2/",
        model="rerank-v4",
        api_key="secret",
        transport=httpx2.ASGITransport(app=double),
        **options,
    )


async def test_texts_are_put_in_the_order_of_their_relevance(double: RerankDouble) -> None:
    asked = endpoint(double)
    assert await asked.rerank("who plays cello", TEXTS) == [1, 2, 0]
    await asked.aclose()
    call = double.calls[0]
    assert call.headers["authorization"] == "Bearer secret"
    assert call.body == {"model": "rerank-v4", "query": "who plays cello", "documents": TEXTS, "top_n": 3}


async def test_what_it_leaves_out_comes_last_in_the_order_it_had(double: RerankDouble) -> None:
    double.fail(scored((2, 0.9)))
    assert await endpoint(double).rerank("cello", TEXTS) == [2, 0, 1]


async def test_nothing_is_asked_about_nothing(double: RerankDouble) -> None:
    assert await endpoint(double).rerank("cello", []) is None
    assert double.calls == []


@pytest.mark.parametrize("answer", [DoubleResponse(429, {"message": "slow down"}), scored((7, 0.5)), scored()])
async def test_a_failing_endpoint_is_left_alone_for_longer_and_longer(
    double: RerankDouble, answer: DoubleResponse
) -> None:
    clock = [0.0]
    asked = endpoint(double, monotonic_clock=lambda: clock[0])
    double.fail(answer, times=2)
    assert await asked.rerank("cello", TEXTS) is None
    assert await asked.rerank("cello", TEXTS) is None
    assert len(double.calls) == 1
    clock[0] = 1.5
    assert await asked.rerank("cello", TEXTS) is None
    clock[0] = 3.0
    assert await asked.rerank("cello", TEXTS) is None
    assert len(double.calls) == 2
    clock[0] = 3.5
    assert await asked.rerank("cello", TEXTS) == [1, 2, 0]
    assert await asked.rerank("cello", TEXTS) == [1, 2, 0]


async def test_who_does_not_answer_in_time_is_not_waited_for(
    double: RerankDouble, caplog: pytest.LogCaptureFixture
) -> None:
    double.silent = True
    assert await endpoint(double, timeout_seconds=0.01).rerank("cello", TEXTS) is None
    assert "no answer within 0.01 s" in caplog.text


async def test_an_answer_that_is_no_answer_is_none(double: RerankDouble) -> None:
    asked = RerankEndpoint(
        base_url="http://rerank.test",
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, text="<html>")),
    )
    assert await asked.rerank("cello", TEXTS) is None
    assert double.calls == []
