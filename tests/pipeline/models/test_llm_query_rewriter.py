"""Other ways to ask, from a model: in time or not at all, and what it costs is in the log."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import pytest

from pipeline.errors import RetryableError
from pipeline.models.chat_completions import ChatCompletionsModel
from pipeline.models.llm_query_rewriter import INITIAL_BACKOFF_SECONDS, MAX_REWRITINGS, LLMQueryRewriter
from pipeline.ports import Answer, ModelReply, Publisher, TokenUsage
from schemas.topics import USAGE_RECORDED, Topic
from tests.support.chat_endpoint_double import ChatEndpointDouble, completion, error_answer, serve
from tests.support.fakes import FixedClock, RecordingPublisher
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio

DAY = date(2024, 5, 15)
LONG_TIMEOUT = 30.0
VARIANTS = ["When did Ann move?", "Where does Ann live?"]


class FakeMonotonicClock:
    """Monotonic seconds that stand still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def answer(*ways: str) -> str:
    return json.dumps({"questions": ways})


def answer_variants(_: dict[str, Any]) -> str:
    return answer(*VARIANTS)


@asynccontextmanager
async def serving_rewriter(
    double: ChatEndpointDouble, *, publisher: Publisher | None = None
) -> AsyncIterator[LLMQueryRewriter]:
    async with serve(double) as url:
        model = ChatCompletionsModel(base_url=url, model="double", timeout_seconds=LONG_TIMEOUT)
        rewriter = LLMQueryRewriter(model, publisher or RecordingPublisher(), FixedClock(), LONG_TIMEOUT)
        try:
            yield rewriter
        finally:
            await rewriter.aclose()
            await model.aclose()


def usage(publisher: RecordingPublisher) -> list[tuple[str, str, int, int]]:
    told = publisher.events(USAGE_RECORDED)
    assert {(event.incarnation, event.purpose, event.model) for event in told} <= {("s#0", "queries", "double")}
    return [(event.outcome, event.incarnation, event.calls, event.input_tokens) for event in told]


async def test_it_is_told_the_day_and_asked_for_ways_that_stand_alone() -> None:
    double, publisher = ChatEndpointDouble(answer_variants), RecordingPublisher()
    async with serving_rewriter(double, publisher=publisher) as rewriter:
        assert await rewriter.rewrite("s#0", "Where did she go last week?", DAY) == VARIANTS
    [body] = double.bodies
    assert "Wednesday, 15 May 2024" in body["messages"][0]["content"]
    assert body["messages"][1]["content"] == "Where did she go last week?"
    assert usage(publisher) == [("rewritten", "s#0", 1, 100)]


async def test_what_a_model_adds_to_its_answer_is_left() -> None:
    said = json.dumps({"questions": ["a"], "confidence": 0.9})
    async with serving_rewriter(ChatEndpointDouble(lambda _: said)) as rewriter:
        assert await rewriter.rewrite("s#0", "q", DAY) == ["a"]


async def test_only_a_few_ways_and_no_empty_or_repeated_ones_count() -> None:
    said_ = answer("q", " ", "a", "a", "b" * 9_000, *"cdefg")
    async with serving_rewriter(ChatEndpointDouble(lambda _: said_)) as rewriter:
        found = await rewriter.rewrite("s#0", "q", DAY)
    assert (found[0], len(found)) == ("a", MAX_REWRITINGS)
    assert max(map(len, found)) < 1_000


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (completion("no", refusal="I won't"), "unusable"),
        (completion('{"questions": ["When did'), "unusable"),
        (completion('{"questions": "When?"}'), "unusable"),
        (completion("", finish="length"), "unusable"),
        (error_answer(400, "no such model"), "unusable"),
        (error_answer(429, "slow down", retry_after="7"), None),
        (error_answer(503, "overloaded"), None),
    ],
)
async def test_whatever_goes_wrong_the_query_is_asked_as_it_is(fault: DoubleResponse, outcome: str | None) -> None:
    double, publisher = ChatEndpointDouble(answer_variants), RecordingPublisher()
    double.fail(fault, times=10)
    async with serving_rewriter(double, publisher=publisher) as rewriter:
        assert await rewriter.rewrite("s#0", "q", DAY) == []
    assert [event[0] for event in usage(publisher)] == ([outcome] if outcome else [])


class FirstCallHangs:
    """A model that answers nothing at first."""

    name = "double"

    def __init__(self) -> None:
        self.asked = 0

    async def generate(self, instructions: str, prompt: str, schema: type[Answer]) -> ModelReply[Answer]:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        return ModelReply(schema.model_validate({"questions": VARIANTS}), TokenUsage(1, 100, 20, 0.1))


async def test_one_that_is_late_is_left_alone_for_a_while_and_then_asked_again() -> None:
    model, publisher, time = FirstCallHangs(), RecordingPublisher(), FakeMonotonicClock()
    rewriter = LLMQueryRewriter(model, publisher, FixedClock(), 0.01, time)
    assert await rewriter.rewrite("s#0", "q", DAY) == []
    rewriter.timeout_seconds = LONG_TIMEOUT
    assert await rewriter.rewrite("s#0", "q", DAY) == []
    assert model.asked == 1
    time.now += INITIAL_BACKOFF_SECONDS
    assert await rewriter.rewrite("s#0", "q", DAY) == VARIANTS
    await rewriter.aclose()
    assert [event[0] for event in usage(publisher)] == ["late", "rewritten"]


async def test_a_log_that_is_away_keeps_no_query_waiting(caplog: pytest.LogCaptureFixture) -> None:
    class Away:
        """A log that takes nothing."""

        async def publish(self, topic: Topic[Any], entries: Sequence[tuple[str, Any]]) -> list[Any]:
            raise RetryableError("the log is away")

    async with serving_rewriter(ChatEndpointDouble(answer_variants), publisher=Away()) as rewriter:
        assert await rewriter.rewrite("s#0", "q", DAY) == VARIANTS
    assert "the log is away" in caplog.text
