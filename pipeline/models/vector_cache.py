"""Cache of vectors in a file, and an embedder that looks there first: a replay or a moved document runs no model."""

import asyncio
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha512
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.packed_vectors import pack, round_vector, unpack
from pipeline.ports import Embedder, WordVectors
from pipeline.rows import Vector
from pipeline.runtime.sqlite_connection import connect, open_or_replace, transaction
from pipeline.sealed_value import open_sealed, seal

MAX_BYTES = 512 * 1024 * 1024
"""Vectors kept on disk; the oldest go first."""
MAX_QUERIES = 4096
"""Vectors of questions kept in memory; those not asked for longest go first."""
_SCHEMA = "CREATE TABLE IF NOT EXISTS sealed(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
_PAGE_BYTES = 16 * 1024
_NAME_BYTES = 16

_log = logging.getLogger(__name__)


class VectorCache:
    """Vectors by key in a SQLite file. A cache: it may be deleted at any time, and its faults cost only time.

    A key has 48 bytes: 16 name the vector, 32 seal it and are stored nowhere. They are a digest of the text, so whoever
    has the file, or a copy, and no longer the text, can't read the vector.

    Vectors are packed (`pipeline.packed_vectors`), and pages are large, so that little of them stays empty.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._thread = ThreadPoolExecutor(1, "vector-cache")
        self._db: sqlite3.Connection | None = None

    async def get(self, keys: Collection[bytes]) -> dict[bytes, Vector]:
        return await self._run(lambda db: _select(db, keys)) or {}

    async def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors, in place of the oldest ones if there is no room."""
        await self._run(lambda db: _insert(db, vectors, self._max_bytes))

    async def clear(self) -> None:
        """Remove every vector, and its bytes from the disk; sqlite3.Error if that fails."""
        await asyncio.get_running_loop().run_in_executor(self._thread, lambda: _clear(self._open()))

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    async def _run(
        self, work: Callable[[sqlite3.Connection], dict[bytes, Vector] | None]
    ) -> dict[bytes, Vector] | None:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._open()))
        except sqlite3.Error as error:
            _log.warning("The cache of vectors %s can't be used (%s): texts are embedded again.", self._path, error)
            return None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = open_or_replace(self._path, _connect)
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


class CachingEmbedder:
    """An embedder whose vectors are looked up before they are computed, rounded as they are stored either way.

    `model`: names everything that a vector depends on besides its text. Only for embedders that ignore the weights
    of a query's words. It provides word vectors if the embedder does.
    """

    word_vectors: Callable[[Sequence[str]], NDArray[np.float32]]

    def __init__(self, embedder: Embedder, cache: VectorCache, model: str) -> None:
        self._embedder = embedder
        self._cache = cache
        self._model = model.encode()
        self._queries = OrderedDict[str, Vector]()
        self._computing = dict[bytes, asyncio.Task[dict[bytes, Vector]]]()
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        if isinstance(embedder, WordVectors):
            self.word_vectors = embedder.word_vectors

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector per text; equal texts are embedded once, also those of two callers at a time."""
        keys = [self._key(text) for text in texts]
        others = {key: self._computing[key] for key in keys if key in self._computing}
        found = await self._cache.get(unknown) if (unknown := set(keys) - others.keys()) else {}
        others |= {key: self._computing[key] for key in unknown - found.keys() if key in self._computing}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found and key not in others}
        if new:
            task = asyncio.create_task(self._compute(new))
            self._computing |= dict.fromkeys(new, task)
            task.add_done_callback(partial(self._forget, new))
            # Another caller may wait for it when this one is cancelled.
            found |= await asyncio.shield(task)
        for key, computed in others.items():
            found[key] = (await asyncio.shield(computed))[key]
        return [found[key] for key in keys]

    async def _compute(self, texts: Mapping[bytes, str]) -> dict[bytes, Vector]:
        computed = await self._embedder.embed_documents(list(texts.values()))
        vectors = dict(zip(texts, map(round_vector, computed), strict=True))
        await self._cache.put(vectors)
        return vectors

    def _forget(self, keys: Collection[bytes], task: asyncio.Task[dict[bytes, Vector]]) -> None:
        for key in keys:
            del self._computing[key]
        if not task.cancelled():
            task.exception()  # whoever waits has it; it is no fault that nobody does

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        vector = self._queries.get(text)
        if vector is None:
            vector = await self._embedder.embed_query(text, term_weight)
            vector.flags.writeable = False
        self._queries[text] = vector
        self._queries.move_to_end(text)
        if len(self._queries) > MAX_QUERIES:
            self._queries.popitem(last=False)
        return vector

    def _key(self, text: str) -> bytes:
        return sha512(self._model + b"\0" + text.encode("utf-8", "surrogatepass")).digest()[: _NAME_BYTES + 32]


def _connect(path: Path) -> sqlite3.Connection:
    db = connect(path, f"page_size = {_PAGE_BYTES}")
    # Losing the last vectors in a power cut costs less than waiting for the disk.
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(_SCHEMA)
    return db


def _select(db: sqlite3.Connection, keys: Collection[bytes]) -> dict[bytes, Vector]:
    query = "SELECT vector FROM sealed WHERE key = ?"
    rows = ((key, db.execute(query, (key[:_NAME_BYTES],)).fetchone()) for key in keys)
    opened = ((key, open_sealed(key[_NAME_BYTES:], row[0])) for key, row in rows if row is not None)
    return {key: unpack(np.frombuffer(vector, np.int8)) for key, vector in opened if vector is not None}


def _clear(db: sqlite3.Connection) -> None:
    """Empty the file, and the write-ahead log, which has as many pages after a vacuum."""
    db.execute("DELETE FROM sealed")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _insert(db: sqlite3.Connection, vectors: Mapping[bytes, Vector], max_bytes: int) -> None:
    rows = [
        (key[:_NAME_BYTES], seal(key[_NAME_BYTES:], pack(vector[None]).tobytes())) for key, vector in vectors.items()
    ]
    with transaction(db):
        db.executemany("INSERT OR IGNORE INTO sealed(key, vector) VALUES (?, ?)", rows)
        most = max(1, max_bytes // len(rows[0][1]))
        db.execute("DELETE FROM sealed WHERE id <= (SELECT max(id) FROM sealed) - ?", (most,))
