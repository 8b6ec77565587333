"""Baselines over the same passages: BM25, vectors, LanceDB's hybrid query with RRF."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import lancedb
import numpy as np
from lancedb.index import FTS
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker

from pipeline.ports import Embedder
from pipeline.text.analyzer import hash_terms

_K1, _B = 1.2, 0.75


class Bm25Ranking:
    """Textbook BM25 with the stop words and stems of the service."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(hash_terms(text).tolist()) for text in texts]
        self._lengths = [counts.total() for counts in self._counts]
        self._average = sum(self._lengths) / max(len(texts), 1)
        self._holding = Counter(term for counts in self._counts for term in counts)

    def order(self, query: str) -> list[int]:
        """The places of the texts, best first."""
        terms = dict.fromkeys(hash_terms(query).tolist())
        scores = [sum(self._score(term, at) for term in terms) for at in range(len(self._counts))]
        return sorted(range(len(scores)), key=lambda at: -scores[at])

    def _score(self, term: int, at: int) -> float:
        often, holding = self._counts[at][term], self._holding[term]
        weight = math.log1p((len(self._counts) - holding + 0.5) / (holding + 0.5))
        slack = _K1 * (1 - _B + _B * self._lengths[at] / self._average)
        return weight * often * (_K1 + 1) / (often + slack)


class VectorRanking:
    """The cosine of the default embedder, nothing weighted."""

    def __init__(self, matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]], embedder: Embedder) -> None:
        self._matrix = matrix
        self._embedder = embedder

    @classmethod
    async def embed_texts(cls, texts: Sequence[str], embedder: Embedder) -> "VectorRanking":
        """Embed the texts."""
        return cls(np.stack(await embedder.embed_documents(texts)), embedder)

    async def order(self, query: str) -> list[int]:
        """The places of the texts, best first."""
        near = self._matrix @ await self._embedder.embed_query(query)
        order: list[int] = np.argsort(-near, kind="stable").tolist()
        return order


class HybridRanking:
    """A LanceDB table with a full-text index, asked as its documentation shows it."""

    def __init__(self, table: lancedb.AsyncTable, embedder: Embedder) -> None:
        self._table = table
        self._embedder = embedder

    @classmethod
    async def store_texts(cls, texts: Sequence[str], embedder: Embedder, folder: Path) -> "HybridRanking":
        """Store the texts in a folder."""
        vectors = await embedder.embed_documents(texts)
        rows = [
            {"at": at, "text": text, "vector": vector}
            for at, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        database = await lancedb.connect_async(str(folder))
        table = await database.create_table("passages", rows)
        await table.create_index("text", config=FTS(with_position=False))
        return cls(table, embedder)

    async def order(self, query: str, limit: int) -> list[int]:
        """The places of the best texts, best first."""
        words = MatchQuery(query, "text")  # type: ignore[call-arg]  # has defaults that mypy does not see
        asked = self._table.query().nearest_to(await self._embedder.embed_query(query)).nearest_to_text(words)
        found = await asked.rerank(RRFReranker()).select(["at"]).limit(limit).to_list()
        return [int(row["at"]) for row in found]
