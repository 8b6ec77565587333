"""Other ways to ask, from a model: in time or not at all, and what it costs is in the log."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import pytest

from pipeline.errors import RetryableError
from pipeline.inference.chat import ChatModel
from pipeline.inference.rewriting import FIRST_PAUSE, MOST, ModelRewriter
from pipeline.ports import Answered, Publisher, Reply, Spent
from schemas.topics import USAGE_RECORDED, Topic
from tests.connectors.doubles.double import Answer
from tests.fakes import FixedClock, RecordingPublisher
from tests.pipeline.inference.model import ModelDouble, answering, refused, said

pytestmark = pytest.mark.anyio

DAY = date(2024, 5, 15)
PATIENT = 30.0
WAYS = ["When did Ann move?", "Where does Ann live?"]


class Time:
    """Monotonic seconds that stand still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def answer(*ways: str) -> str:
    return json.dumps({"questions": ways})


def willing(_: dict[str, Any]) -> str:
    return answer(*WAYS)


@asynccontextmanager
async def rewriting(
    double: ModelDouble, *, publisher: Publisher | None = None
) -> AsyncIterator[ModelRewriter]:
    async with answering(double) as url:
        model = ChatModel(base_url=url, model="double", seconds=PATIENT)
        rewriter = ModelRewriter(model, publisher or RecordingPublisher(), FixedClock(), PATIENT)
        try:
            yield rewriter
        finally:
            await rewriter.aclose()
            await model.aclose()


def usage(publisher: RecordingPublisher) -> list[tuple[str, str, int, int]]:
    told = publisher.events(USAGE_RECORDED)
    assert {(one.space, one.purpose, one.model) for one in told} <= {("s#0", "queries", "double")}
    return [(one.outcome, one.space, one.calls, one.input_tokens) for one in told]


async def test_it_is_told_the_day_and_asked_for_ways_that_stand_alone() -> None:
    double, publisher = ModelDouble(willing), RecordingPublisher()
    async with rewriting(double, publisher=publisher) as rewriter:
        assert await rewriter.others("s#0", "Where did she go last week?", DAY) == WAYS
    [body] = double.bodies
    assert "Wednesday, 15 May 2024" in body["messages"][0]["content"]
    assert body["messages"][1]["content"] == "Where did she go last week?"
    assert usage(publisher) == [("rewritten", "s#0", 1, 100)]


async def test_only_a_few_ways_and_no_empty_or_repeated_ones_count() -> None:
    said_ = answer("q", " ", "a", "a", "b" * 9_000, *"cdefg")
    async with rewriting(ModelDouble(lambda _: said_)) as rewriter:
        found = await rewriter.others("s#0", "q", DAY)
    assert (found[0], len(found)) == ("a", MOST)
    assert max(map(len, found)) < 1_000


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (said("no", refusal="I won't"), "unusable"),
        (said('{"questions": ["When did'), "unusable"),
        (said('{"questions": "When?"}'), "unusable"),
        (said("", finish="length"), "unusable"),
        (refused(400, "no such model"), "unusable"),
        (refused(429, "slow down", retry_after="7"), None),
        (refused(503, "overloaded"), None),
    ],
)
async def test_whatever_goes_wrong_the_query_is_asked_as_it_is(fault: Answer, outcome: str | None) -> None:
    double, publisher = ModelDouble(willing), RecordingPublisher()
    double.fail(fault, times=10)
    async with rewriting(double, publisher=publisher) as rewriter:
        assert await rewriter.others("s#0", "q", DAY) == []
    assert [one[0] for one in usage(publisher)] == ([outcome] if outcome else [])


class Slow:
    """A model that answers nothing at first."""

    name = "double"

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, instructions: str, question: str, shape: type[Answered]) -> Reply[Answered]:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        return Reply(shape.model_validate({"questions": WAYS}), Spent(1, 100, 20, 0.1))


async def test_one_that_is_late_is_left_alone_for_a_while_and_then_asked_again() -> None:
    model, publisher, time = Slow(), RecordingPublisher(), Time()
    rewriter = ModelRewriter(model, publisher, FixedClock(), 0.01, time)
    assert await rewriter.others("s#0", "q", DAY) == []
    rewriter.seconds = PATIENT
    assert await rewriter.others("s#0", "q", DAY) == []
    assert model.asked == 1
    time.now += FIRST_PAUSE
    assert await rewriter.others("s#0", "q", DAY) == WAYS
    await rewriter.aclose()
    assert [one[0] for one in usage(publisher)] == ["late", "rewritten"]


async def test_a_log_that_is_away_keeps_no_query_waiting(caplog: pytest.LogCaptureFixture) -> None:
    class Away:
        """A log that takes nothing."""

        async def publish(self, topic: Topic[Any], entries: Sequence[tuple[str, Any]]) -> list[Any]:
            raise RetryableError("the log is away")

    async with rewriting(ModelDouble(willing), publisher=Away()) as rewriter:
        assert await rewriter.others("s#0", "q", DAY) == WAYS
    assert "the log is away" in caplog.text
