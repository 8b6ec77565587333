"""A reranker behind an endpoint of Cohere's or Jina's form: POST {base_url}/rerank."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import httpx2
from pydantic import BaseModel, Field, ValidationError

from pipeline.pauses import doubling

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds without asking an endpoint that failed: doubling."""
_SHOWN = 300


class _Result(BaseModel):
    index: int = Field(ge=0)
    relevance_score: float


class _Answer(BaseModel):
    results: list[_Result]


class RerankEndpoint:
    """`ports.Reranker`: an answer within `seconds`, or none. While the endpoint fails it is left alone."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str | None = None,
        api_key: str | None = None,
        seconds: float = 1.0,
        now: Callable[[], float] = monotonic,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.AsyncClient(timeout=seconds, headers=headers, transport=transport)
        self._url = base_url.rstrip("/") + "/rerank"
        self._model = model
        self._seconds = seconds
        self._now = now
        self._failures = 0
        self._until = -math.inf

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def order(self, query: str, texts: Sequence[str]) -> list[int] | None:
        """As `ports.Reranker`."""
        if not texts or self._now() < self._until:
            return None
        try:
            # The client's own limit is for each read; the whole must keep within it.
            async with asyncio.timeout(self._seconds):
                order = await self._asked(query, texts)
        except (TimeoutError, httpx2.HTTPError, ValidationError, ValueError) as error:
            self._failed(error)
            return None
        self._failures = 0
        return order

    async def _asked(self, query: str, texts: Sequence[str]) -> list[int]:
        body: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self._model:
            body["model"] = self._model
        response = await self._client.post(self._url, json=body)
        if not response.is_success:
            message = f"it answered {response.status_code}: {response.text[:_SHOWN]}"
            raise ValueError(message)
        scores = {
            one.index: one.relevance_score for one in _Answer.model_validate_json(response.content).results
        }
        if not scores or max(scores) >= len(texts) or not all(map(math.isfinite, scores.values())):
            message = f"it answered no scores of {len(texts)} texts: {response.text[:_SHOWN]}"
            raise ValueError(message)
        return sorted(range(len(texts)), key=lambda at: (-scores.get(at, -math.inf), at))

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        pause = doubling(FIRST_PAUSE, self._failures, LONGEST_PAUSE)
        self._until = self._now() + pause
        said = str(error) or f"no answer within {self._seconds} s"
        log.warning(
            "The rerank endpoint %s failed, results keep their own order for %g s: %s", self._url, pause, said
        )
