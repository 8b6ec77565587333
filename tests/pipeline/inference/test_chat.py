"""A language model over HTTP: what it is asked, and what becomes of every way in which it fails."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from pipeline.errors import AwayError
from pipeline.inference import open_model
from pipeline.inference.chat import FIRST_PAUSE, LONGEST_PAUSE, ChatModel
from pipeline.ports import Reply, UnusableError
from tests.connectors.doubles.double import Answer
from tests.pipeline.inference.model import ModelDouble, answering, refused, said

pytestmark = pytest.mark.anyio


class Sum(BaseModel):
    """An answer of the tests."""

    model_config = ConfigDict(extra="forbid")

    total: int


class Time:
    """Monotonic seconds that stand still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def five(_: dict[str, Any]) -> str:
    return json.dumps({"total": 5})


@asynccontextmanager
async def asking(
    double: ModelDouble, *, concurrency: int = 4, seconds: float = 30.0, time: Time | None = None
) -> AsyncIterator[ChatModel]:
    async with answering(double) as url:
        model = ChatModel(
            base_url=url,
            model="double",
            api_key="secret",
            seconds=seconds,
            output_tokens=50,
            concurrency=concurrency,
            now=time or Time(),
        )
        try:
            yield model
        finally:
            await model.aclose()


async def ask(model: ChatModel) -> Reply[Sum]:
    return await model.ask("Add.", "2 and 3", Sum)


async def test_it_is_asked_for_an_answer_of_the_shape_within_bounds() -> None:
    double = ModelDouble(five)
    async with asking(double) as model:
        reply = await ask(model)
    assert reply.answer.total == 5
    assert (reply.spent.calls, reply.spent.input_tokens, reply.spent.output_tokens) == (1, 100, 20)
    [call] = double.calls
    assert call.headers["authorization"] == "Bearer secret"
    assert call.body["max_tokens"] == 50
    described = call.body["response_format"]["json_schema"]
    assert described["strict"] is True
    assert described["schema"]["required"] == ["total"]
    assert described["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    "bad",
    ['{"total": 5', "five", '{"total": "many"}', '{"sum": 5}', "", "[5]"],
    ids=["half", "prose", "wrong type", "wrong member", "nothing", "a list"],
)
async def test_a_bad_answer_is_repaired_once(bad: str) -> None:
    answers = iter([bad, '{"total": 5}'])
    double = ModelDouble(lambda _: next(answers))
    async with asking(double) as model:
        reply = await ask(model)
    assert (reply.answer.total, reply.spent.calls, reply.spent.input_tokens) == (5, 2, 200)
    *_, wrong, fault = double.bodies[1]["messages"]
    assert (wrong["role"], wrong["content"]) == ("assistant", bad)
    assert fault["role"] == "user"


async def test_an_answer_wrapped_in_words_is_read() -> None:
    async with asking(ModelDouble(lambda _: 'Sure!\n```json\n{"total": 5}\n```')) as model:
        assert (await ask(model)).spent.calls == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("no", refusal="I would rather not"), "rather not"),
        (said(None, finish="content_filter"), "filter"),
        (said('{"total"', finish="length"), "tokens"),
        (said("{}"), "total: Field required"),
        (refused(400, "This model's maximum context length is 8 tokens"), "maximum context"),
        (refused(413, "too much"), "too much"),
    ],
    ids=["refusal", "filter", "too long", "wrong shape twice", "does not fit", "too large"],
)
async def test_what_it_will_never_answer_is_unusable(answer: Answer, reason: str) -> None:
    double = ModelDouble(five)
    double.fail(answer, times=2)
    async with asking(double) as model:
        with pytest.raises(UnusableError, match=reason) as raised:
            await ask(model)
        assert raised.value.spent.calls == len(double.calls) - (answer.status != 200)
        double.faults.clear()
        assert (await ask(model)).answer.total == 5


@pytest.mark.parametrize(
    "answer",
    [
        refused(500),
        refused(503),
        refused(429),
        refused(401, "wrong key"),
        refused(404, "no such model"),
        Answer(502, b"<html>Bad gateway</html>", media="text/html"),
        Answer(200, b"<html>Please log in</html>", media="text/html"),
        Answer(200, b'{"id": "chatc', media="application/json"),
    ],
    ids=["500", "503", "429", "401", "404", "a proxy's page", "a login page", "half an answer"],
)
async def test_an_endpoint_that_is_away_is_left_alone_for_a_while(answer: Answer) -> None:
    double, time = ModelDouble(five), Time()
    double.fail(answer)
    async with asking(double, time=time) as model:
        with pytest.raises(AwayError) as first:
            await ask(model)
        assert first.value.seconds == FIRST_PAUSE
        with pytest.raises(AwayError) as second:
            await ask(model)
        assert str(second.value) == str(first.value)
        assert len(double.calls) == 1
        time.now += FIRST_PAUSE
        assert (await ask(model)).answer.total == 5


async def test_pauses_grow_up_to_a_bound_and_an_answer_ends_them() -> None:
    double, time, pauses = ModelDouble(five), Time(), []
    double.fail(refused(500), times=11)
    async with asking(double, time=time) as model:
        for _ in range(11):
            with pytest.raises(AwayError) as away:
                await ask(model)
            pauses.append(away.value.seconds)
            time.now += away.value.seconds
        assert pauses[:3] == [1.0, 2.0, 4.0]
        assert pauses[-1] == LONGEST_PAUSE
        await ask(model)
        double.fail(refused(500))
        with pytest.raises(AwayError) as again:
            await ask(model)
        assert again.value.seconds == FIRST_PAUSE


async def test_what_was_asked_at_once_and_fails_makes_one_pause_not_a_longer_one_each() -> None:
    double = ModelDouble(five)
    double.silent = 3
    async with asking(double, seconds=0.2, concurrency=3) as model:
        failed = await asyncio.gather(*(ask(model) for _ in range(3)), return_exceptions=True)
    assert [one.seconds for one in failed if isinstance(one, AwayError)] == [FIRST_PAUSE] * 3


async def test_the_endpoint_may_say_when_to_come_back() -> None:
    double = ModelDouble(five)
    double.fail(refused(429, "slow down", retry_after="17"))
    async with asking(double) as model:
        with pytest.raises(AwayError, match="slow down") as away:
            await ask(model)
    assert away.value.seconds == 17.0


async def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    double = ModelDouble(five)
    double.silent = 1
    async with asking(double, seconds=0.2) as model:
        with pytest.raises(AwayError, match="did not answer"):
            await ask(model)


async def test_nobody_there_is_away_too() -> None:
    model = ChatModel(base_url="http://127.0.0.1:1/v1", model="double")
    with pytest.raises(AwayError, match="can't be reached"):
        await ask(model)
    await model.aclose()


@pytest.mark.parametrize(
    ("unknown", "message", "member"),
    [
        (
            "max_tokens",
            "'max_tokens' is not supported, use 'max_completion_tokens' instead",
            "max_completion_tokens",
        ),
        ("temperature", "'temperature' does not support 0 with this model", None),
        ("response_format", "response_format of type json_schema is not supported", "response_format"),
    ],
)
async def test_what_an_endpoint_does_not_know_is_left_out_from_then_on(
    unknown: str, message: str, member: str | None
) -> None:
    double = ModelDouble(five)
    double.fail(refused(400, message, param=unknown))
    async with asking(double) as model:
        assert (await ask(model)).answer.total == 5
        assert (await ask(model)).answer.total == 5
    first, second, third = double.bodies
    assert unknown in first
    assert second == third != first
    if member == "response_format":
        assert second["response_format"] == {"type": "json_object"}
    else:
        assert unknown not in second
        assert member is None or second[member] == 50


async def test_so_many_questions_at_a_time_and_no_more() -> None:
    double = ModelDouble(five)
    double.silent = 2
    async with asking(double, concurrency=2) as model:
        asked = [asyncio.create_task(ask(model)) for _ in range(6)]
        while double.at_once < 2:
            double.asked.clear()
            await double.asked.wait()
        double.released.set()
        assert [reply.answer.total for reply in await asyncio.gather(*asked)] == [5] * 6
    assert double.most_at_once == 2


def test_half_a_setting_is_an_error_that_says_which_is_missing() -> None:
    with pytest.raises(ValueError, match="RECOLLECT_LLM_MODEL is not set"):
        open_model(base_url="http://127.0.0.1:1", model=None)
    with pytest.raises(ValueError, match="RECOLLECT_LLM_BASE_URL is not set"):
        open_model(base_url=None, model="double")
    assert open_model(base_url=None, model=None) is None
