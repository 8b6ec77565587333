"""Images and audio to text through an OpenAI-compatible endpoint, where the operator configured one."""

import asyncio
import base64
from http import HTTPStatus
from typing import Any

import httpx2

from pipeline.errors import ParsingError, RetryableError
from pipeline.models.chat_completions import split_address

TIMEOUT_SECONDS = 120.0
IMAGE_PROMPT = (
    "Describe this image so that it can be found and understood by somebody who can't see it. First copy "
    "any text in it exactly; then say what it shows, who and what is in it, and figures that can be read. "
    "Answer with the description only."
)


class MediaEndpoint:
    """POST {base_url}/chat/completions with an image, /audio/transcriptions with a sound file."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url, query = split_address(base_url)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        if api_key and "api-version" in query:
            headers = {"api-key": api_key}
        self._client = httpx2.AsyncClient(timeout=timeout_seconds, headers=headers, params=query, transport=transport)
        self._model = model
        self._timeout_seconds = timeout_seconds

    async def aclose(self) -> None:
        await self._client.aclose()

    async def describe(self, data: bytes, mime_type: str) -> str:
        picture = f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
        parts = [{"type": "text", "text": IMAGE_PROMPT}, {"type": "image_url", "image_url": {"url": picture}}]
        messages = [{"role": "user", "content": parts}]
        body = {"model": self._model, "messages": messages, "temperature": 0}
        answer = await self._post("/chat/completions", "image", json=body)
        try:
            return str(answer["choices"][0]["message"]["content"] or "")
        except (KeyError, IndexError, TypeError) as error:
            raise ParsingError(f"The model endpoint {self._url} gave no description: {error!r}.") from error

    async def transcribe(self, data: bytes, filename: str) -> str:
        form = {"model": self._model, "response_format": "json"}
        answer = await self._post("/audio/transcriptions", "audio", data=form, files={"file": (filename, data)})
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise ParsingError(f"The model endpoint {self._url} gave no transcript.")
        return text

    async def _post(self, path: str, medium: str, **body: Any) -> Any:
        try:
            # The client's own timeout applies to each read; this one to the whole request.
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._client.post(self._url + path, **body)
        except (httpx2.TransportError, TimeoutError) as error:
            raise RetryableError(f"The model endpoint {self._url} did not answer: {error!r}.") from error
        reason = f"The model endpoint {self._url} answered {response.status_code}: {response.text[:200]}"
        if response.status_code >= 500 or response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            raise RetryableError(reason)
        if not response.is_success:
            raise ParsingError(f"The {medium} could not be read with {self._model}. {reason}")
        try:
            return response.json()
        except ValueError as error:
            raise ParsingError(f"The model endpoint {self._url} did not answer JSON.") from error
