"""An embedder whose calls are told to somebody, for metrics and readiness."""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder, WordVectors
from pipeline.rows import Vector

Told = Callable[[str, float, Exception | None], None]
"""Which call it was (`documents`, `query`), how many seconds it took, and how it failed if it did."""


def observed(embedder: Embedder, told: Told) -> Embedder:
    """The same embedder; it still knows words if it did."""
    if isinstance(embedder, WordVectors):
        return _ObservedWords(embedder, embedder, told)
    return _Observed(embedder, told)


class _Observed:
    def __init__(self, embedder: Embedder, told: Told) -> None:
        self._embedder = embedder
        self._told = told

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        began = perf_counter()
        try:
            vectors = await self._embedder.documents(texts)
        except Exception as error:
            self._told("documents", perf_counter() - began, error)
            raise
        self._told("documents", perf_counter() - began, None)
        return vectors

    async def query(self, text: str, weight: Callable[[str], float] | None = None) -> Vector:
        began = perf_counter()
        try:
            vector = await self._embedder.query(text, weight)
        except Exception as error:
            self._told("query", perf_counter() - began, error)
            raise
        self._told("query", perf_counter() - began, None)
        return vector


class _ObservedWords(_Observed):
    def __init__(self, embedder: Embedder, words: WordVectors, told: Told) -> None:
        super().__init__(embedder, told)
        self._words = words

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self._words.word_vectors(words)
