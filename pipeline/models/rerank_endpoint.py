"""A reranker behind an endpoint compatible with Cohere or Jina: POST {base_url}/rerank."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import httpx2
from pydantic import BaseModel, Field, ValidationError

from pipeline.runtime.backoff import exponential_backoff

log = logging.getLogger(__name__)

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 60.0
"""Pause after a failure: doubles with each consecutive one."""
_MAX_ERROR_CHARS = 300


class _RerankResult(BaseModel):
    index: int = Field(ge=0)
    relevance_score: float


class _RerankResponse(BaseModel):
    results: list[_RerankResult]


class RerankEndpoint:
    """`ports.Reranker` with a time limit; returns None on failure and while backing off."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 1.0,
        monotonic_clock: Callable[[], float] = monotonic,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.AsyncClient(timeout=timeout_seconds, headers=headers, transport=transport)
        self._url = base_url.rstrip("/") + "/rerank"
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._monotonic_clock = monotonic_clock
        self._consecutive_failures = 0
        self._retry_at = -math.inf

    async def aclose(self) -> None:
        await self._client.aclose()

    async def rerank(self, query: str, texts: Sequence[str]) -> list[int] | None:
        if not texts or self._monotonic_clock() < self._retry_at:
            return None
        try:
            # The client's own timeout applies to each read; this one to the whole request.
            async with asyncio.timeout(self._timeout_seconds):
                order = await self._request_order(query, texts)
        except (TimeoutError, httpx2.HTTPError, ValidationError, ValueError) as error:
            self._record_failure(error)
            return None
        self._consecutive_failures = 0
        return order

    async def _request_order(self, query: str, texts: Sequence[str]) -> list[int]:
        body: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self._model:
            body["model"] = self._model
        response = await self._client.post(self._url, json=body)
        if not response.is_success:
            message = f"it answered {response.status_code}: {response.text[:_MAX_ERROR_CHARS]}"
            raise ValueError(message)
        results = _RerankResponse.model_validate_json(response.content).results
        scores = {result.index: result.relevance_score for result in results}
        if not scores or max(scores) >= len(texts) or not all(map(math.isfinite, scores.values())):
            message = f"it answered no scores of {len(texts)} texts: {response.text[:_MAX_ERROR_CHARS]}"
            raise ValueError(message)
        return sorted(range(len(texts)), key=lambda at: (-scores.get(at, -math.inf), at))

    def _record_failure(self, error: Exception) -> None:
        self._consecutive_failures += 1
        pause = exponential_backoff(INITIAL_BACKOFF_SECONDS, self._consecutive_failures, MAX_BACKOFF_SECONDS)
        self._retry_at = self._monotonic_clock() + pause
        reason = str(error) or f"no answer within {self._timeout_seconds} s"
        log.warning(
            "The rerank endpoint %s failed, results keep their own order for %g s: %s", self._url, pause, reason
        )
