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


def instrument_embedder(embedder: Embedder, on_call: EmbedderCallListener) -> Embedder:
    """Wrap an embedder; the wrapper provides word vectors if the embedder does."""
    if isinstance(embedder, WordVectors):
        return _InstrumentedWordEmbedder(embedder, embedder, on_call)
    return _InstrumentedEmbedder(embedder, on_call)


class _InstrumentedEmbedder:
    def __init__(self, embedder: Embedder, on_call: EmbedderCallListener) -> None:
        self._embedder = embedder
        self._on_call = on_call

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

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


class _InstrumentedWordEmbedder(_InstrumentedEmbedder):
    def __init__(self, embedder: Embedder, word_vectors: WordVectors, on_call: EmbedderCallListener) -> None:
        super().__init__(embedder, on_call)
        self._word_vectors = word_vectors

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self._word_vectors.word_vectors(words)
