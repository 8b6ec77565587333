"""Sessions and threads of a model of sentences in memory.

Questions and documents have threads of their own; on Linux those of documents have a lower scheduling priority, so
that a question takes a core at once.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_DOCUMENT_NICENESS = 5


class SentenceModel(Protocol):
    """A model that several threads may use."""

    @property
    def word_vector(self) -> Callable[[str], Vector]: ...

    def embed(self, prefix: str, text: str) -> Vector: ...


class ModelThreads:
    """Loads a model in the background and runs it; one per process and model, as a replay opens a second embedder."""

    def __init__(self, load: Callable[[], SentenceModel], word_dimensions: int) -> None:
        cores = _usable_cores()
        self._for_queries = ThreadPoolExecutor(cores, "embed-query")
        self._for_documents = ThreadPoolExecutor(cores, "embed-document", initializer=_lower_thread_priority)
        self._model: Future[SentenceModel] = self._for_queries.submit(load)
        self._word_dimensions = word_dimensions

    async def embed_query(self, prefix: str, text: str) -> Vector:
        model = await self._loaded_model()
        return await asyncio.wrap_future(self._for_queries.submit(model.embed, prefix, text))

    async def embed_document(self, prefix: str, text: str) -> Vector:
        model = await self._loaded_model()
        return await asyncio.wrap_future(self._for_documents.submit(model.embed, prefix, text))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """A row per word; zeros while the model is being loaded."""
        vectors = np.zeros((len(words), self._word_dimensions), np.float32)
        if self._model.done():
            model = self._model.result()
            for at, word in enumerate(words):
                vectors[at] = model.word_vector(word)
        return vectors

    async def _loaded_model(self) -> SentenceModel:
        return await asyncio.shield(asyncio.wrap_future(self._model))


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _lower_thread_priority() -> None:
    """Lower the priority of the current thread; elsewhere than on Linux it would be that of the whole process."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _DOCUMENT_NICENESS)


def open_session(model: bytes) -> "InferenceSession":
    """A session of one thread: several texts at once keep all cores busy."""
    # Loading the library takes time, which embedders without a network need not spend.
    import onnxruntime  # noqa: PLC0415 - see above

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a plan of memory for each length of text, which saves no time
    with NamedTemporaryFile(suffix=".onnx") as file:  # a session made from bytes keeps them beside its own copy
        file.write(model)
        file.flush()
        return onnxruntime.InferenceSession(file.name, options, providers=["CPUExecutionProvider"])
