"""A language model behind any OpenAI-compatible endpoint: answers of a shape, checked, within bounds."""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ValidationError

from pipeline.errors import AwayError
from pipeline.inference.openai import REFUSALS
from pipeline.pauses import doubling
from pipeline.ports import Answered, Reply, Spent, UnusableError

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
"""Seconds between two attempts at an endpoint that does not answer: doubling, unless it names a time."""
LONGEST_WISH = 3600.0
"""What it may name."""
TRIES = 2
"""An answer of the wrong shape is shown to the model once, with what is wrong with it."""
ADAPTATIONS = 6
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What an endpoint understands: servers differ, and say so only when asked."""

    format: str = "json_schema"
    limit: str = "max_tokens"
    temperature: bool = True


@dataclass(eq=False, slots=True)
class _Bill:
    """What a question has cost so far."""

    began: float = field(default_factory=monotonic)
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, completion: ChatCompletion) -> None:
        self.calls += 1
        if completion.usage is not None:
            self.input_tokens += completion.usage.prompt_tokens
            self.output_tokens += completion.usage.completion_tokens

    def spent(self) -> Spent:
        return Spent(self.calls, self.input_tokens, self.output_tokens, monotonic() - self.began)


class ChatModel:
    """`ports.LanguageModel` over POST {base_url}/chat/completions, `concurrency` questions at a time.

    While the endpoint is away, questions fail at once until it is time to ask it again.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        seconds: float = 60.0,
        output_tokens: int = 2000,
        concurrency: int = 4,
        now: Callable[[], float] = monotonic,
    ) -> None:
        # A document can wait better than a stage, so the client's own retries are off.
        self._client = AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=seconds, max_retries=0
        )
        self._url = base_url.rstrip("/")
        self._output_tokens = output_tokens
        self._slots = asyncio.Semaphore(concurrency)
        self._dialect = _Dialect()
        self._now = now
        self._failures = 0
        self._away: tuple[float, str] | None = None
        self.name = model

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, instructions: str, question: str, shape: type[Answered]) -> Reply[Answered]:
        """As `ports.LanguageModel`."""
        bill, messages = _Bill(), [_message("system", instructions), _message("user", question)]
        fault = ""
        async with self._slots:
            for _ in range(TRIES):
                said = _said(await self._complete(messages, shape, bill), bill)
                try:
                    return Reply(shape.model_validate_json(_json_of(said)), bill.spent())
                except ValidationError as error:
                    fault = _faults(error)
                messages += [_message("assistant", said), _message("user", _REPAIR.format(fault=fault))]
        raise UnusableError(f"{self.name} answered in another shape than asked: {fault}", bill.spent())

    async def _complete(
        self, messages: list[dict[str, Any]], shape: type[BaseModel], bill: _Bill
    ) -> ChatCompletion:
        for _ in range(ADAPTATIONS):
            self._check_away()
            dialect, before = self._dialect, self._failures
            try:
                completion = await self._client.chat.completions.create(
                    model=self.name,
                    messages=messages,  # type: ignore[arg-type]  # made by _message, in the client's own form
                    **self._options(dialect, shape),
                )
            except APIStatusError as error:
                adapted = _adapted(dialect, error)
                if adapted is not None:
                    self._dialect = adapted
                    continue
                raise self._refusal(error, bill, before) from error
            except APITimeoutError as error:
                raise self._gone(f"did not answer within {self._client.timeout} s", None, before) from error
            except APIConnectionError as error:
                raise self._gone(f"can't be reached: {error.__cause__ or error}", None, before) from error
            except ValueError as error:
                raise self._gone(f"did not answer JSON: {error}", None, before) from error
            if not isinstance(completion, ChatCompletion):
                # Whatever its type says: a page of HTML with status 200 comes as its text.
                raise self._gone(f"did not answer JSON: {str(completion)[:_SHOWN]}", None, before)
            self._failures, self._away = 0, None
            bill.add(completion)
            return completion
        raise UnusableError(f"The model endpoint {self._url} refuses every form of request.", bill.spent())

    def _options(self, dialect: _Dialect, shape: type[BaseModel]) -> dict[str, Any]:
        options: dict[str, Any] = {dialect.limit: self._output_tokens}
        if dialect.temperature:
            options["temperature"] = 0
        if dialect.format == "json_schema":
            described = {"name": shape.__name__.lower(), "strict": True, "schema": shape.model_json_schema()}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        elif dialect.format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def _check_away(self) -> None:
        if self._away is not None and (left := self._away[0] - self._now()) > 0:
            raise AwayError(self._away[1], left)

    def _refusal(self, error: APIStatusError, bill: _Bill, before: int) -> Exception:
        reason = f"answered {error.status_code}: {error.response.text[:_SHOWN]}"
        if error.status_code in REFUSALS:
            return UnusableError(f"The model endpoint {self._url} {reason}", bill.spent())
        return self._gone(reason, _wish(error), before)

    def _gone(self, reason: str, wish: float | None, before: int) -> AwayError:
        """`before`: failures in a row when this was asked. What was asked at once fails once."""
        self._failures = max(self._failures, before + 1)
        pause = doubling(FIRST_PAUSE, self._failures, LONGEST_PAUSE)
        pause = max(pause, min(wish or 0.0, LONGEST_WISH))
        message = f"The model endpoint {self._url} {reason}"
        self._away = (self._now() + pause, message)
        return AwayError(message, pause)


_REPAIR = "That is not an answer of the shape asked for: {fault}. Answer again, with the JSON object only."


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _said(completion: ChatCompletion, bill: _Bill) -> str:
    """The text of an answer; UnusableError when the model refused, or ran out of tokens."""
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        raise UnusableError(f"{completion.model} gave no answer.", bill.spent())
    if choice.message.refusal or choice.finish_reason == "content_filter":
        reason = choice.message.refusal or "its content filter stopped it"
        raise UnusableError(f"{completion.model} refused: {reason[:_SHOWN]}", bill.spent())
    if choice.finish_reason == "length":
        raise UnusableError(
            f"{completion.model} needs more tokens for its answer than it may have.", bill.spent()
        )
    return choice.message.content or ""


def _json_of(text: str) -> str:
    """The object in an answer that wraps it in words or a fence."""
    found = _OBJECT.search(text)
    return found[0] if found else text


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in faults[:5])


def _adapted(dialect: _Dialect, error: APIStatusError) -> _Dialect | None:
    """What to try where the endpoint does not know a parameter; None: that is not why it refuses."""
    if error.status_code not in REFUSALS:
        return None
    said = f"{error.param if hasattr(error, 'param') else ''} {error.response.text}".lower()
    if dialect.limit == "max_tokens" and "max_completion_tokens" in said:
        return replace(dialect, limit="max_completion_tokens")
    if dialect.temperature and "temperature" in said:
        return replace(dialect, temperature=False)
    if dialect.format == "json_schema" and ("response_format" in said or "json_schema" in said):
        return replace(dialect, format="json_object")
    if dialect.format == "json_object" and ("response_format" in said or "json_object" in said):
        return replace(dialect, format="text")
    return None


def _wish(error: APIStatusError) -> float | None:
    """Seconds that the endpoint asks to wait; a date is as good as nothing, since clocks differ."""
    try:
        return float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
