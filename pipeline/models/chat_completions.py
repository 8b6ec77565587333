"""A language model behind any OpenAI-compatible endpoint: structured answers, validated, within limits."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from json import JSONDecoder
from time import monotonic
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncAzureOpenAI, AsyncOpenAI
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import from_json

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
_REJECTED_PARAMETER_STATUSES = {*PERMANENT_ERROR_STATUSES, HTTPStatus.INTERNAL_SERVER_ERROR}
"""Statuses of what an endpoint does not know; llama.cpp answers 500 where a model's template raises an error."""
MAX_JSON_STARTS = 200
"""Places of an answer at which an object is looked for."""
_MAX_ERROR_CHARS = 300
_MAX_REPORTED_TOKENS = 10**9


def _valid_count(tokens: object) -> int:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= _MAX_REPORTED_TOKENS else 0


def _joined_text(content: object) -> object:
    """Return the text of a content that is given in parts."""
    if not isinstance(content, list):
        return content
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


class _Message(BaseModel):
    content: Annotated[str | None, BeforeValidator(_joined_text)] = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None

    def text(self) -> str:
        """Return what it says, be it as arguments of a function that nobody offered."""
        function = (self.tool_calls or [{}])[0].get("function")
        return self.content or (str(function.get("arguments") or "") if isinstance(function, dict) else "")


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    """The fields of a completion that are read; endpoints differ in others. `error`: sent by some with status 200."""

    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class _EndpointCapabilities:
    """Request parameters that an endpoint accepts, learned from its error responses."""

    response_format: str = "json_schema"
    token_limit_parameter: str = "max_tokens"  # noqa: S105 - the name of a parameter
    supports_temperature: bool = True
    supports_system_role: bool = True


@dataclass(eq=False, slots=True)
class _UsageMeter:
    started_at: float = field(default_factory=monotonic)
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, usage: object) -> None:
        counts = usage if isinstance(usage, dict) else {}
        self.calls += 1
        self.input_tokens += _valid_count(counts.get("prompt_tokens"))
        self.output_tokens += _valid_count(counts.get("completion_tokens"))

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
        self._client = _open_client(base_url, api_key or "none", timeout_seconds)
        self._url, _ = split_address(base_url)
        self._timeout_seconds = timeout_seconds
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
                choice = self._usable_choice(await self._complete(messages, schema, meter), meter)
                answer, is_complete = choice.message.text(), choice.finish_reason != "length"
                try:
                    found = _parse_answer(answer, schema) if is_complete else _parse_cut_answer(answer, schema)
                    return ModelReply(found, meter.token_usage(), is_complete)
                except ValidationError as error:
                    fault = _format_validation_errors(error)
                if not is_complete:
                    reason = f"{self.name} needs more tokens for its answer than it may have."
                    raise UnusableReplyError(reason, meter.token_usage())
                messages += [_message("assistant", answer), _message("user", _REPAIR_PROMPT.format(fault=fault))]
        raise UnusableReplyError(f"{self.name} answered in another shape than asked: {fault}", meter.token_usage())

    async def _complete(
        self, messages: list[dict[str, Any]], schema: type[BaseModel], meter: _UsageMeter
    ) -> _Completion:
        for _ in range(MAX_ADAPTATIONS):
            self._raise_if_backing_off()
            dialect, before = self._capabilities, self._consecutive_failures
            try:
                # A client counts the time between bytes, not until the last one.
                async with asyncio.timeout(self._timeout_seconds):
                    response = await self._client.chat.completions.with_raw_response.create(
                        model=self.name,
                        messages=messages if dialect.supports_system_role else _without_system_role(messages),  # type: ignore[arg-type]  # made by _message, in the client's own form
                        **self._request_options(dialect, schema),
                    )
            except APIStatusError as error:
                adapted = _adapt_capabilities(dialect, error)
                if adapted is not None:
                    self._capabilities = adapted
                    continue
                raise self._classify_status_error(error, meter, before) from error
            except (APITimeoutError, TimeoutError) as error:
                raise self._record_outage(f"did not answer within {self._timeout_seconds} s", None, before) from error
            except APIConnectionError as error:
                raise self._record_outage(f"can't be reached: {error.__cause__ or error}", None, before) from error
            try:
                completion = _Completion.model_validate_json(response.content)
            except ValidationError as error:
                reason = f"did not answer with a completion: {response.text[:_MAX_ERROR_CHARS]}"
                raise self._record_outage(reason, None, before) from error
            if completion.error and not completion.choices:
                raise self._record_outage(f"answered: {str(completion.error)[:_MAX_ERROR_CHARS]}", None, before)
            self._consecutive_failures, self._outage = 0, None
            meter.add(completion.usage)
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

    def _usable_choice(self, completion: _Completion, meter: _UsageMeter) -> _Choice:
        """Return the answer. Raises UnusableReplyError when there is none or the model refused."""
        if not completion.choices:
            raise UnusableReplyError(f"{self.name} gave no answer.", meter.token_usage())
        choice = completion.choices[0]
        if choice.message.refusal or choice.finish_reason == "content_filter":
            reason = choice.message.refusal or "its content filter stopped it"
            raise UnusableReplyError(f"{self.name} refused: {reason[:_MAX_ERROR_CHARS]}", meter.token_usage())
        return choice

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


def _without_system_role(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the instructions in the question, for models that know no system role."""
    instructions, question, *rest = messages
    return [_message("user", f"{instructions['content']}\n\n{question['content']}"), *rest]


def split_address(address: str) -> tuple[str, dict[str, str]]:
    """Return the base address and the query of an endpoint's address, which may name the operation.

    >>> split_address("https://models.example/v1/chat/completions?api-version=1")
    ('https://models.example/v1', {'api-version': '1'})
    """
    parts = urlsplit(address)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return parts._replace(path=path, query="").geturl(), dict(parse_qsl(parts.query))


def _open_client(address: str, api_key: str, timeout_seconds: float) -> AsyncOpenAI:
    """Open a client of an endpoint; one with an API version in place of `/v1` takes the key as Azure does."""
    base_url, query = split_address(address)
    if base_url.endswith("/v1") or (version := query.pop("api-version", None)) is None:
        return AsyncOpenAI(
            base_url=base_url, api_key=api_key, timeout=timeout_seconds, max_retries=0, default_query=query
        )
    return AsyncAzureOpenAI(
        base_url=base_url,
        api_version=version,
        api_key=api_key,
        timeout=timeout_seconds,
        max_retries=0,
        default_query=query,
    )


def _parse_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the last object of an answer that fits: words, fences and thoughts may stand around it."""
    for candidate in reversed(list(_json_objects(text))):
        try:
            return schema.model_validate(candidate)
        except ValidationError:
            continue
    return schema.model_validate_json(text)


def _json_objects(text: str) -> Iterator[object]:
    start, decoder = text.find("{"), JSONDecoder(strict=False)  # models break lines within strings
    for _ in range(MAX_JSON_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
            yield value
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)


def _parse_cut_answer(text: str, schema: type[Answer]) -> Answer:
    """Return what is whole of an answer that ends in the middle."""
    begun = text[max(0, text.find("{")) :]
    try:
        whole = from_json(begun, allow_partial=True)
    except ValueError:
        whole = None
    return schema.model_validate(whole)


def _format_validation_errors(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in faults[:5])


def _adapt_capabilities(capabilities: _EndpointCapabilities, error: APIStatusError) -> _EndpointCapabilities | None:
    """Capabilities without the parameter that the endpoint rejects; None when it rejects something else."""
    if error.status_code not in _REJECTED_PARAMETER_STATUSES:
        return None
    said = f"{error.param if hasattr(error, 'param') else ''} {error.response.text}".lower()
    if capabilities.token_limit_parameter == "max_tokens" and "max_completion_tokens" in said:  # noqa: S105 - the name of a parameter
        return replace(capabilities, token_limit_parameter="max_completion_tokens")  # noqa: S106 - the name of a parameter
    if capabilities.supports_system_role and "system" in said and "role" in said:
        return replace(capabilities, supports_system_role=False)
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
