"""A language model behind any OpenAI-compatible endpoint: structured answers, validated, within limits."""

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

from pipeline.errors import EndpointUnavailableError
from pipeline.models.openai_embedder import PERMANENT_ERROR_STATUSES
from pipeline.ports import Answer, ModelReply, TokenUsage, UnusableReplyError
from pipeline.runtime.backoff import exponential_backoff

log = logging.getLogger(__name__)

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 300.0
"""Pause after a failure: doubles with each one, unless the endpoint sends Retry-After."""
MAX_RETRY_AFTER_SECONDS = 3600.0
"""Longest Retry-After that is honored."""
MAX_ATTEMPTS = 2
"""Attempts per question: an invalid answer is shown to the model once, with its validation errors."""
MAX_ADAPTATIONS = 6
_JSON_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_MAX_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class _EndpointCapabilities:
    """Request parameters that an endpoint accepts, learned from its error responses."""

    response_format: str = "json_schema"
    token_limit_parameter: str = "max_tokens"  # noqa: S105 - the name of a parameter
    supports_temperature: bool = True


@dataclass(eq=False, slots=True)
class _UsageMeter:
    started_at: float = field(default_factory=monotonic)
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, completion: ChatCompletion) -> None:
        self.calls += 1
        if completion.usage is not None:
            self.input_tokens += completion.usage.prompt_tokens
            self.output_tokens += completion.usage.completion_tokens

    def token_usage(self) -> TokenUsage:
        return TokenUsage(self.calls, self.input_tokens, self.output_tokens, monotonic() - self.started_at)


class ChatCompletionsModel:
    """`ports.LanguageModel` over POST {base_url}/chat/completions, `concurrency` questions at a time.

    While the endpoint is away, questions fail at once until it is time to ask it again.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout_seconds: float = 60.0,
        max_output_tokens: int = 2000,
        max_concurrency: int = 4,
        monotonic_clock: Callable[[], float] = monotonic,
    ) -> None:
        # The client's own retries are off: they would block a stage, while a document can be retried later.
        self._client = AsyncOpenAI(base_url=base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0)
        self._url = base_url.rstrip("/")
        self._max_output_tokens = max_output_tokens
        self._concurrency_limit = asyncio.Semaphore(max_concurrency)
        self._capabilities = _EndpointCapabilities()
        self._monotonic_clock = monotonic_clock
        self._consecutive_failures = 0
        self._outage: tuple[float, str] | None = None
        self.name = model

    async def aclose(self) -> None:
        await self._client.close()

    async def generate(self, instructions: str, prompt: str, schema: type[Answer]) -> ModelReply[Answer]:
        meter, messages = _UsageMeter(), [_message("system", instructions), _message("user", prompt)]
        fault = ""
        async with self._concurrency_limit:
            for _ in range(MAX_ATTEMPTS):
                answer = _answer_text(await self._complete(messages, schema, meter), meter)
                try:
                    return ModelReply(schema.model_validate_json(_extract_json_object(answer)), meter.token_usage())
                except ValidationError as error:
                    fault = _format_validation_errors(error)
                messages += [_message("assistant", answer), _message("user", _REPAIR_PROMPT.format(fault=fault))]
        raise UnusableReplyError(f"{self.name} answered in another shape than asked: {fault}", meter.token_usage())

    async def _complete(
        self, messages: list[dict[str, Any]], schema: type[BaseModel], meter: _UsageMeter
    ) -> ChatCompletion:
        for _ in range(MAX_ADAPTATIONS):
            self._raise_if_backing_off()
            dialect, before = self._capabilities, self._consecutive_failures
            try:
                completion = await self._client.chat.completions.create(
                    model=self.name,
                    messages=messages,  # type: ignore[arg-type]  # made by _message, in the client's own form
                    **self._request_options(dialect, schema),
                )
            except APIStatusError as error:
                adapted = _adapt_capabilities(dialect, error)
                if adapted is not None:
                    self._capabilities = adapted
                    continue
                raise self._classify_status_error(error, meter, before) from error
            except APITimeoutError as error:
                raise self._record_outage(f"did not answer within {self._client.timeout} s", None, before) from error
            except APIConnectionError as error:
                raise self._record_outage(f"can't be reached: {error.__cause__ or error}", None, before) from error
            except ValueError as error:
                raise self._record_outage(f"did not answer JSON: {error}", None, before) from error
            if not isinstance(completion, ChatCompletion):
                # Despite its type, the client returns an HTML page with status 200 as text.
                raise self._record_outage(f"did not answer JSON: {str(completion)[:_MAX_ERROR_CHARS]}", None, before)
            self._consecutive_failures, self._outage = 0, None
            meter.add(completion)
            return completion
        raise UnusableReplyError(f"The model endpoint {self._url} refuses every form of request.", meter.token_usage())

    def _request_options(self, capabilities: _EndpointCapabilities, schema: type[BaseModel]) -> dict[str, Any]:
        options: dict[str, Any] = {capabilities.token_limit_parameter: self._max_output_tokens}
        if capabilities.supports_temperature:
            options["temperature"] = 0
        if capabilities.response_format == "json_schema":
            described = {"name": schema.__name__.lower(), "strict": True, "schema": schema.model_json_schema()}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        elif capabilities.response_format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def _raise_if_backing_off(self) -> None:
        if self._outage is not None and (left := self._outage[0] - self._monotonic_clock()) > 0:
            raise EndpointUnavailableError(self._outage[1], left)

    def _classify_status_error(self, error: APIStatusError, meter: _UsageMeter, failures_before: int) -> Exception:
        reason = f"answered {error.status_code}: {error.response.text[:_MAX_ERROR_CHARS]}"
        if error.status_code in PERMANENT_ERROR_STATUSES:
            return UnusableReplyError(f"The model endpoint {self._url} {reason}", meter.token_usage())
        return self._record_outage(reason, _retry_after_seconds(error), failures_before)

    def _record_outage(self, reason: str, retry_after: float | None, failures_before: int) -> EndpointUnavailableError:
        """Start or extend the pause; failures of concurrent requests (same `failures_before`) count once."""
        self._consecutive_failures = max(self._consecutive_failures, failures_before + 1)
        pause = exponential_backoff(INITIAL_BACKOFF_SECONDS, self._consecutive_failures, MAX_BACKOFF_SECONDS)
        pause = max(pause, min(retry_after or 0.0, MAX_RETRY_AFTER_SECONDS))
        message = f"The model endpoint {self._url} {reason}"
        self._outage = (self._monotonic_clock() + pause, message)
        return EndpointUnavailableError(message, pause)


_REPAIR_PROMPT = "That is not an answer of the shape asked for: {fault}. Answer again, with the JSON object only."


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _answer_text(completion: ChatCompletion, meter: _UsageMeter) -> str:
    """The text of an answer. Raises UnusableReplyError when the model refused or ran out of tokens."""
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None:
        raise UnusableReplyError(f"{completion.model} gave no answer.", meter.token_usage())
    if choice.message.refusal or choice.finish_reason == "content_filter":
        reason = choice.message.refusal or "its content filter stopped it"
        raise UnusableReplyError(f"{completion.model} refused: {reason[:_MAX_ERROR_CHARS]}", meter.token_usage())
    if choice.finish_reason == "length":
        raise UnusableReplyError(
            f"{completion.model} needs more tokens for its answer than it may have.", meter.token_usage()
        )
    return choice.message.content or ""


def _extract_json_object(text: str) -> str:
    """The object in an answer that wraps it in words or a fence."""
    found = _JSON_OBJECT.search(text)
    return found[0] if found else text


def _format_validation_errors(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in faults[:5])


def _adapt_capabilities(capabilities: _EndpointCapabilities, error: APIStatusError) -> _EndpointCapabilities | None:
    """Capabilities without the parameter that the endpoint rejects; None when it rejects something else."""
    if error.status_code not in PERMANENT_ERROR_STATUSES:
        return None
    said = f"{error.param if hasattr(error, 'param') else ''} {error.response.text}".lower()
    if capabilities.token_limit_parameter == "max_tokens" and "max_completion_tokens" in said:  # noqa: S105 - the name of a parameter
        return replace(capabilities, token_limit_parameter="max_completion_tokens")  # noqa: S106 - the name of a parameter
    if capabilities.supports_temperature and "temperature" in said:
        return replace(capabilities, supports_temperature=False)
    if capabilities.response_format == "json_schema" and ("response_format" in said or "json_schema" in said):
        return replace(capabilities, response_format="json_object")
    if capabilities.response_format == "json_object" and ("response_format" in said or "json_object" in said):
        return replace(capabilities, response_format="text")
    return None


def _retry_after_seconds(error: APIStatusError) -> float | None:
    """Seconds that the endpoint asks to wait; a date is as good as nothing, since clocks differ."""
    try:
        return float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
