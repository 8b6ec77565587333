"""Instrumentation of an embedder's calls, for metrics and readiness."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder, WordVectors
from pipeline.rows import Vector

EmbedderCallListener = Callable[[str, float, Exception | None], None]
"""Receives the call (`documents`, `query`), its seconds, and its error or None."""


class InstrumentedEmbedder:
    """An embedder with its calls told to `on_call`. It provides word vectors if the embedder does."""

    word_vectors: Callable[[Sequence[str]], NDArray[np.float32]]

    def __init__(self, embedder: Embedder, on_call: EmbedderCallListener) -> None:
        self._embedder = embedder
        self._on_call = on_call
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        if isinstance(embedder, WordVectors):
            self.word_vectors = embedder.word_vectors

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        with self._timed("documents"):
            return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        with self._timed("query"):
            return await self._embedder.embed_query(text, term_weight)

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        except Exception as error:
            self._on_call(call, perf_counter() - began, error)
            raise
        self._on_call(call, perf_counter() - began, None)
