"""An embedder behind any OpenAI-compatible endpoint: POST {base_url}/embeddings."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Any

import httpx2
import numpy as np

from pipeline.errors import OutageError, RejectedError, RetryableError
from pipeline.rows import Vector

BATCH_SIZE = 64
TIMEOUT_SECONDS = 30.0
QUERY_TIMEOUT_SECONDS = 5.0
"""Time that a search waits for its vector."""
PAUSE_SECONDS = 5.0
"""Time without queries after one that got no answer, so that searches do not all wait."""
PERMANENT_ERROR_STATUSES = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""Errors caused by the request itself. A wrong key or model affects all requests and is retried."""

OUTAGE_STATUSES = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}
"""Answers of an endpoint that serves nobody now: documents wait for it and do not fail."""


class OpenAIEmbedder:
    """Unit vectors from an endpoint.

    OutageError while nobody answers there, RetryableError when it may work later, RejectedError when it won't.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        api_key: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        query_timeout_seconds: float = QUERY_TIMEOUT_SECONDS,
        transport: httpx2.AsyncBaseTransport | None = None,
        monotonic_clock: Callable[[], float] = monotonic,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.AsyncClient(timeout=timeout_seconds, headers=headers, transport=transport)
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._query_timeout_seconds = query_timeout_seconds
        self._monotonic_clock = monotonic_clock
        self._paused_until = 0.0
        self._sends_dimensions = True
        self.name = model
        self.dimensions = dimensions

    async def aclose(self) -> None:
        await self._client.aclose()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector per text; empty texts are zero and never sent."""
        filled = [at for at, text in enumerate(texts) if text.strip()]
        vectors = [np.zeros(self.dimensions, np.float32) for _ in texts]
        for start in range(0, len(filled), BATCH_SIZE):
            places = filled[start : start + BATCH_SIZE]
            for at, vector in zip(places, await self._embed([texts[at] for at in places]), strict=True):
                vectors[at] = vector
        return vectors

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:  # noqa: ARG002 - a model of sentences weighs its words itself
        """Return the query's vector; OutageError at once for a while after the endpoint left a query unanswered."""
        message = f"The embedding endpoint {self._url} left a query unanswered for {self._query_timeout_seconds:g} s."
        if self._monotonic_clock() < self._paused_until:
            raise OutageError(message)
        try:
            async with asyncio.timeout(self._query_timeout_seconds):
                return (await self.embed_documents([text]))[0]
        except TimeoutError as error:
            self._paused_until = self._monotonic_clock() + PAUSE_SECONDS
            raise OutageError(message) from error

    async def _embed(self, texts: list[str]) -> list[Vector]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        response = await self._post(body | {"dimensions": self.dimensions} if self._sends_dimensions else body)
        if response.status_code == HTTPStatus.BAD_REQUEST and self._sends_dimensions:
            # Many models have one size only, and their servers refuse the parameter.
            response = await self._post(body)
            self._sends_dimensions = not response.is_success
        self._raise_for_status(response)
        return self._parse_vectors(response, len(texts))

    async def _post(self, body: dict[str, Any]) -> httpx2.Response:
        try:
            # The client's own timeout applies to each read; this one to the whole request.
            async with asyncio.timeout(self._timeout_seconds):
                return await self._client.post(self._url, json=body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise OutageError(f"The embedding endpoint {self._url} did not answer: {error!r}") from error
        except (httpx2.TransportError, TimeoutError) as error:
            raise RetryableError(f"The embedding endpoint {self._url} did not answer: {error!r}") from error

    def _raise_for_status(self, response: httpx2.Response) -> None:
        if response.is_success:
            return
        status = response.status_code
        reason = f"The embedding endpoint {self._url} answered {status}: {response.text[:300]}"
        if status in PERMANENT_ERROR_STATUSES:
            raise RejectedError(reason)
        if status in OUTAGE_STATUSES:
            raise OutageError(reason)
        raise RetryableError(reason)

    def _parse_vectors(self, response: httpx2.Response, count: int) -> list[Vector]:
        try:
            data = sorted(response.json()["data"], key=lambda entry: entry["index"])
            vectors = [_to_unit_vector(entry["embedding"]) for entry in data]
        except (ValueError, KeyError, TypeError) as error:
            raise RetryableError(f"The embedding endpoint {self._url} returned no embeddings: {error!r}") from error
        if len(vectors) != count:
            raise RetryableError(f"The embedding endpoint returned {len(vectors)} vectors for {count} texts.")
        if not all(vector.ndim == 1 and np.isfinite(vector).all() for vector in vectors):
            raise RetryableError(f"The embedding endpoint {self._url} returned no vectors of finite numbers.")
        if any(len(vector) != self.dimensions for vector in vectors):
            raise RejectedError(
                f"The model {self._model} gives vectors of {len(vectors[0])} numbers, but this index holds "
                f"{self.dimensions}: set RECOLLECT_EMBEDDER_DIMENSIONS to {len(vectors[0])} and replay."
            )
        return vectors


def _to_unit_vector(numbers: Sequence[float] | str) -> Vector:
    """Normalize a vector given as numbers, or as base64, which some servers always send."""
    if isinstance(numbers, str):
        vector = np.frombuffer(base64.b64decode(numbers), np.dtype("<f4")).astype(np.float32)
    else:
        vector = np.array(numbers, np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
