"""A language model's endpoint on loopback, judged by OpenAI's own description; naughty on request."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import Receive, Scope, Send

from tests.support.asgi_server import serve_app
from tests.support.providers.api_description import ApiDescription
from tests.support.providers.provider_double import DoubleResponse, ProviderDouble, ReceivedRequest

_CLIENT = (
    "arch",
    "async",
    "lang",
    "os",
    "package-version",
    "raw-response",
    "retry-count",
    "runtime",
    "runtime-version",
)
HEADERS = frozenset({*(f"x-stainless-{name}" for name in _CLIENT), "x-stainless-read-timeout"})
"""Headers of the official client that the description does not list."""
_DOCUMENT = re.compile(r'<document number="(\d+)" date="([^"]*)">\n(.*?)\n</document>', re.DOTALL)

AnswerFunction = Callable[[dict[str, Any]], str]
"""A request's body to what the model says."""


def memory(document: int, text: str, **fields: Any) -> dict[str, Any]:
    """A memory as the model answers it."""
    plain = {"quote": text, "dates": [], "lasting": True, "inferred": False, "follows_from": []}
    return {"document": document, "memory": text, **plain, **fields}


def every_line_a_fact(body: dict[str, Any]) -> str:
    """Takes every line of every document for a fact."""
    asked = body["messages"][-1]["content"]
    found = [
        memory(int(number), line)
        for number, _, text in _DOCUMENT.findall(asked)
        for line in text.splitlines()
        if line.strip() and not line.startswith("<about>")
    ]
    return json.dumps({"memories": found})


class ChatEndpointDouble(ProviderDouble):
    """Answers as `mind` says. `silent`: so many requests get no answer at all."""

    def __init__(self, mind: AnswerFunction = every_line_a_fact) -> None:
        super().__init__(ApiDescription("openai", headers=HEADERS, errors="ErrorResponse"))
        self.answer_with = mind
        self.unanswered = 0
        self.asked = asyncio.Event()
        self.released = asyncio.Event()
        self.in_flight = self.max_in_flight = 0

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Request bodies so far."""
        return [call.body for call in self.calls]

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        return completion(self.answer_with(call.body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        self.asked.set()
        try:
            if self.unanswered:
                self.unanswered -= 1
                await self.released.wait()
            await asyncio.sleep(0)
            await super().__call__({**scope, "path": scope["path"].removeprefix("/v1")}, receive, send)
        finally:
            self.in_flight -= 1


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> DoubleResponse:
    """A completion."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message, "logprobs": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "double"}
    return DoubleResponse(body={**head, "choices": [choice], "usage": usage})


def error_answer(status: int, message: str = "no", *, param: str | None = None, **headers: str) -> DoubleResponse:
    """An error as the description has it."""
    error = {"type": "invalid_request_error", "message": message, "param": param, "code": None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return DoubleResponse(status, {"error": error}, named)


@asynccontextmanager
async def serve(double: ChatEndpointDouble) -> AsyncIterator[str]:
    """The endpoint's address, while it is served. Fails if a request or an answer was not as described."""
    async with serve_app(double) as url:
        try:
            yield f"{url}/v1"
        finally:
            double.released.set()
    double.assert_no_violations()
