"""A language model over HTTP: what it is asked, and what becomes of every way in which it fails."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from pipeline.errors import EndpointUnavailableError
from pipeline.models import open_language_model
from pipeline.models.chat_completions import (
    INITIAL_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    ChatCompletionsModel,
)
from pipeline.ports import ModelReply, UnusableReplyError
from pipeline.settings import Settings
from tests.support.chat_endpoint_double import ChatEndpointDouble, completion, error_answer, serve
from tests.support.http_stub import StubResponse, stub_server
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


class Sum(BaseModel):
    """An answer of the tests."""

    model_config = ConfigDict(extra="forbid")

    total: int


class FakeMonotonicClock:
    """Monotonic seconds that stand still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def answer_five(_: dict[str, Any]) -> str:
    return json.dumps({"total": 5})


@asynccontextmanager
async def serving_model(
    double: ChatEndpointDouble,
    *,
    concurrency: int = 4,
    seconds: float = 30.0,
    time: FakeMonotonicClock | None = None,
) -> AsyncIterator[ChatCompletionsModel]:
    async with serve(double) as url:
        model = ChatCompletionsModel(
            base_url=url,
            model="double",
            api_key="secret",
            timeout_seconds=seconds,
            max_output_tokens=50,
            max_concurrency=concurrency,
            monotonic_clock=time or FakeMonotonicClock(),
        )
        try:
            yield model
        finally:
            await model.aclose()


async def ask_for_sum(model: ChatCompletionsModel) -> ModelReply[Sum]:
    return await model.generate("Add.", "2 and 3", Sum)


async def test_it_is_asked_for_an_answer_of_the_shape_within_bounds() -> None:
    double = ChatEndpointDouble(answer_five)
    async with serving_model(double) as model:
        reply = await ask_for_sum(model)
    assert reply.answer.total == 5
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 100, 20)
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
    double = ChatEndpointDouble(lambda _: next(answers))
    async with serving_model(double) as model:
        reply = await ask_for_sum(model)
    assert (reply.answer.total, reply.usage.calls, reply.usage.input_tokens) == (5, 2, 200)
    *_, wrong, fault = double.bodies[1]["messages"]
    assert (wrong["role"], wrong["content"]) == ("assistant", bad)
    assert fault["role"] == "user"


@pytest.mark.parametrize(
    "wrapped",
    [
        'Sure!\n```json\n{"total": 5}\n```',
        'The {sum} is\n{"total": 5}\nas {asked}.',
        '<think>{"total": 4}? No, {"total": "more"}.</think>{"total": 5}',
        '{"said": "two\nlines"} {"total": 5}',
    ],
    ids=["fence", "braces in prose", "thoughts", "a line break in a string"],
)
async def test_an_answer_wrapped_in_words_is_read(wrapped: str) -> None:
    async with serving_model(ChatEndpointDouble(lambda _: wrapped)) as model:
        reply = await ask_for_sum(model)
    assert (reply.answer.total, reply.usage.calls) == (5, 1)


FIVE = '{"total": 5}'


@pytest.mark.parametrize(
    ("message", "usage"),
    [
        ({"content": FIVE}, None),
        ({"content": FIVE}, {"prompt_tokens": -1, "completion_tokens": "12"}),
        ({"content": FIVE}, [1]),
        ({"content": [{"type": "text", "text": '{"total":'}, {"type": "text", "text": " 5}"}]}, {}),
        ({"content": None, "tool_calls": [{"id": "t", "function": {"name": "sum", "arguments": FIVE}}]}, {}),
        ({"content": FIVE, "reasoning": {"steps": 3}}, {"prompt_tokens": 10**30}),
    ],
    ids=["no usage", "wrong usage", "usage of another shape", "in parts", "a tool call", "unknown fields"],
)
async def test_a_completion_of_another_endpoint_is_read(message: dict[str, Any], usage: Any) -> None:
    stub = StubResponse(json.dumps({"choices": [{"message": message}], "usage": usage}).encode())
    async with stub_server({"/chat/completions": stub}) as server:
        model = ChatCompletionsModel(base_url=server.url, model="double")
        reply = await ask_for_sum(model)
        await model.aclose()
    assert (reply.answer.total, reply.usage.input_tokens, reply.usage.output_tokens) == (5, 0, 0)


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("/v1/", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1?route=eu", "/v1/chat/completions?route=eu"),
        ("/openai/v1?api-version=preview", "/openai/v1/chat/completions?api-version=preview"),
        (
            "/openai/deployments/small?api-version=2024-10-21",
            "/openai/deployments/small/chat/completions?api-version=2024-10-21",
        ),
    ],
)
async def test_an_address_may_name_the_operation_or_have_a_query(address: str, asked: str) -> None:
    stub = StubResponse(json.dumps({"choices": [{"message": {"content": FIVE}}]}).encode())
    async with stub_server({asked: stub}) as server:
        model = ChatCompletionsModel(base_url=server.url + address, model="double", api_key="secret")
        assert (await ask_for_sum(model)).answer.total == 5
        await model.aclose()
    [(_, headers, _)] = server.requests
    assert (headers.get("api-key") or headers["authorization"]).endswith("secret")


class Numbers(BaseModel):
    """A longer answer of the tests."""

    numbers: list[int] = []


async def test_the_whole_items_of_an_answer_that_was_cut_off_are_kept() -> None:
    double = ChatEndpointDouble(answer_five)
    double.fail(completion('{"numbers": [1, 2, ', finish="length"))
    async with serving_model(double) as model:
        reply = await model.generate("Count.", "to nine", Numbers)
    assert (reply.answer.numbers, reply.is_complete, len(double.calls)) == ([1, 2], False, 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (completion("no", refusal="I would rather not"), "rather not"),
        (completion(None, finish="content_filter"), "filter"),
        (completion('{"total"', finish="length"), "tokens"),
        (completion("{}"), "total: Field required"),
        (error_answer(400, "This model's maximum context length is 8 tokens"), "maximum context"),
        (error_answer(413, "too much"), "too much"),
    ],
    ids=["refusal", "filter", "too long", "wrong shape twice", "does not fit", "too large"],
)
async def test_what_it_will_never_answer_is_unusable(answer: DoubleResponse, reason: str) -> None:
    double = ChatEndpointDouble(answer_five)
    double.fail(answer, times=2)
    async with serving_model(double) as model:
        with pytest.raises(UnusableReplyError, match=reason) as raised:
            await ask_for_sum(model)
        assert raised.value.usage.calls == len(double.calls) - (answer.status != 200)
        double.faults.clear()
        assert (await ask_for_sum(model)).answer.total == 5


@pytest.mark.parametrize(
    "answer",
    [
        error_answer(500),
        error_answer(503),
        error_answer(429),
        error_answer(401, "wrong key"),
        error_answer(404, "no such model"),
        DoubleResponse(502, b"<html>Bad gateway</html>", media_type="text/html"),
        DoubleResponse(200, b"<html>Please log in</html>", media_type="text/html"),
        DoubleResponse(200, b'{"id": "chatc', media_type="application/json"),
        DoubleResponse(200, b'{"error": {"code": 429, "message": "slow down"}}', media_type="application/json"),
        DoubleResponse(200, b'data: {"choices": []}', media_type="text/event-stream"),
    ],
    ids=["500", "503", "429", "401", "404", "a proxy's page", "a login page", "half an answer", "an error", "a stream"],
)
async def test_an_endpoint_that_is_away_is_left_alone_for_a_while(answer: DoubleResponse) -> None:
    double, time = ChatEndpointDouble(answer_five), FakeMonotonicClock()
    double.fail(answer)
    async with serving_model(double, time=time) as model:
        with pytest.raises(EndpointUnavailableError) as first:
            await ask_for_sum(model)
        assert first.value.retry_after_seconds == INITIAL_BACKOFF_SECONDS
        with pytest.raises(EndpointUnavailableError) as second:
            await ask_for_sum(model)
        assert str(second.value) == str(first.value)
        assert len(double.calls) == 1
        time.now += INITIAL_BACKOFF_SECONDS
        assert (await ask_for_sum(model)).answer.total == 5


async def test_pauses_grow_up_to_a_bound_and_an_answer_ends_them() -> None:
    double, time, pauses = ChatEndpointDouble(answer_five), FakeMonotonicClock(), []
    double.fail(error_answer(500), times=11)
    async with serving_model(double, time=time) as model:
        for _ in range(11):
            with pytest.raises(EndpointUnavailableError) as away:
                await ask_for_sum(model)
            pauses.append(away.value.retry_after_seconds)
            time.now += away.value.retry_after_seconds
        assert pauses[:3] == [1.0, 2.0, 4.0]
        assert pauses[-1] == MAX_BACKOFF_SECONDS
        await ask_for_sum(model)
        double.fail(error_answer(500))
        with pytest.raises(EndpointUnavailableError) as again:
            await ask_for_sum(model)
        assert again.value.retry_after_seconds == INITIAL_BACKOFF_SECONDS


async def test_what_was_asked_at_once_and_fails_makes_one_pause_not_a_longer_one_each() -> None:
    double = ChatEndpointDouble(answer_five)
    double.unanswered = 3
    async with serving_model(double, seconds=0.2, concurrency=3) as model:
        failed = await asyncio.gather(*(ask_for_sum(model) for _ in range(3)), return_exceptions=True)
    assert [error.retry_after_seconds for error in failed if isinstance(error, EndpointUnavailableError)] == [
        INITIAL_BACKOFF_SECONDS
    ] * 3


async def test_the_endpoint_may_say_when_to_come_back() -> None:
    double = ChatEndpointDouble(answer_five)
    double.fail(error_answer(429, "slow down", retry_after="17"))
    async with serving_model(double) as model:
        with pytest.raises(EndpointUnavailableError, match="slow down") as away:
            await ask_for_sum(model)
    assert away.value.retry_after_seconds == 17.0


async def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    double = ChatEndpointDouble(answer_five)
    double.unanswered = 1
    async with serving_model(double, seconds=0.2) as model:
        with pytest.raises(EndpointUnavailableError, match="did not answer"):
            await ask_for_sum(model)


async def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_either() -> None:
    finished = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b" ")
                await asyncio.sleep(0.01)
        finished.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = ChatCompletionsModel(base_url=f"http://127.0.0.1:{port}", model="double", timeout_seconds=0.2)
        with pytest.raises(EndpointUnavailableError, match=r"did not answer within 0\.2 s"):
            await ask_for_sum(model)
        await model.aclose()
        await finished.wait()


async def test_nobody_there_is_away_too_and_the_reason_names_no_secret_of_the_address() -> None:
    model = ChatCompletionsModel(base_url="http://127.0.0.1:1/v1?code=secret", model="double")
    with pytest.raises(EndpointUnavailableError, match="can't be reached") as away:
        await ask_for_sum(model)
    assert "secret" not in str(away.value)
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
    double = ChatEndpointDouble(answer_five)
    double.fail(error_answer(400, message, param=unknown))
    async with serving_model(double) as model:
        assert (await ask_for_sum(model)).answer.total == 5
        assert (await ask_for_sum(model)).answer.total == 5
    first, second, third = double.bodies
    assert unknown in first
    assert second == third != first
    if member == "response_format":
        assert second["response_format"] == {"type": "json_object"}
    else:
        assert unknown not in second
        assert member is None or second[member] == 50


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "Jinja Exception: System role not supported"),
        (400, "'messages[0].role' does not support 'system' with this model."),
    ],
)
async def test_a_model_without_a_system_role_gets_the_instructions_with_the_question(status: int, message: str) -> None:
    double = ChatEndpointDouble(answer_five)
    double.fail(error_answer(status, message))
    async with serving_model(double) as model:
        assert (await ask_for_sum(model)).answer.total == 5
    assert double.bodies[1]["messages"] == [{"role": "user", "content": "Add.\n\n2 and 3"}]


async def test_so_many_questions_at_a_time_and_no_more() -> None:
    double = ChatEndpointDouble(answer_five)
    double.unanswered = 2
    async with serving_model(double, concurrency=2) as model:
        asked = [asyncio.create_task(ask_for_sum(model)) for _ in range(6)]
        while double.in_flight < 2:
            double.asked.clear()
            await double.asked.wait()
        double.released.set()
        assert [reply.answer.total for reply in await asyncio.gather(*asked)] == [5] * 6
    assert double.max_in_flight == 2


def test_half_a_setting_is_an_error_that_says_which_is_missing() -> None:
    with pytest.raises(ValueError, match="RECOLLECT_LLM_MODEL is not set"):
        open_language_model(Settings(llm_base_url="http://127.0.0.1:1"))
    with pytest.raises(ValueError, match="RECOLLECT_LLM_BASE_URL is not set"):
        open_language_model(Settings(llm_model="double"))
    assert open_language_model(Settings()) is None
