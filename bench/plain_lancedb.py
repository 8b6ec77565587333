"""Plain LanceDB on the same texts with the same embedder: one table, a namespace column, no log, no HTTP.

`python -m bench.plain_lancedb <folder> <sizes as JSON>` runs as a process of its own and prints figures as
JSON.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS, BTree
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker

from bench.load import (
    CHUNKS_PER_DOCUMENT,
    SHARES,
    Figures,
    Sizes,
    folder_bytes,
    namespace_texts,
    resident_bytes,
)
from bench.result_tables import milliseconds
from bench.text_generator import TextGenerator
from pipeline.models import open_embedder
from pipeline.ports import Embedder

COMMIT = 2000
"""Rows of one commit when the table is filled: many enough to be fair to it."""


class PlainLanceDb:
    """LanceDB table the way its documentation shows it."""

    def __init__(self, table: lancedb.AsyncTable, embedder: Embedder, writer: TextGenerator, sizes: Sizes) -> None:
        self._table = table
        self._embedder = embedder
        self._writer = writer
        self._sizes = sizes

    async def add_alone(self) -> Figures:
        """Add a document of 1 KB, embedded and committed."""
        taken = []
        for number in range(min(self._sizes.adds, 100)):
            text = self._writer.paragraph(1000)
            began = time.perf_counter()
            await self._add("alone", [text], number)
            taken.append(time.perf_counter() - began)
        return {"add_alone_p50": milliseconds(taken), "add_alone_p99": milliseconds(taken, 0.99)}

    async def batch(self) -> Figures:
        """600 small documents in one commit."""
        taken = []
        for _ in range(self._sizes.batches):
            texts = [self._writer.paragraph(100) for _ in range(600)]
            began = time.perf_counter()
            await self._add("batches", texts)
            taken.append(time.perf_counter() - began)
        return {"batch_600": milliseconds(taken)}

    async def fill(self) -> Figures:
        """The same namespaces, with indexes for text and namespace built at the end."""
        began = time.perf_counter()
        for incarnation in range(self._sizes.namespaces):
            documents = namespace_texts(self._writer, self._sizes.chunks // CHUNKS_PER_DOCUMENT)
            chunks = [chunk for document in documents for chunk in document.split("\n\n")]
            for first in range(0, len(chunks), COMMIT):
                await self._add(f"filled-{incarnation}", chunks[first : first + COMMIT], first)
        await self._table.create_index("text", config=FTS(with_position=False))
        await self._table.create_index("namespace", config=BTree())
        await self._table.optimize()
        total = self._sizes.namespaces * self._sizes.chunks
        return {"load": total / (time.perf_counter() - began)}

    async def search(self) -> Figures:
        """Hybrid queries with the namespace as a prefilter."""
        await self._search(0)
        count = min(self._sizes.searches, 200)
        plain = [await self._search(number) for number in range(count)]
        filtered = [await self._search(number, f" AND share = 's{number % SHARES}'") for number in range(count)]
        return {
            "search_p50": milliseconds(plain),
            "search_p99": milliseconds(plain, 0.99),
            "filtered_p50": milliseconds(filtered),
            "filtered_p99": milliseconds(filtered, 0.99),
        }

    async def _add(self, namespace: str, texts: Sequence[str], first: int = 0) -> None:
        vectors = await self._embedder.embed_documents(texts)
        rows = [
            {
                "id": f"{namespace}/{number}",
                "namespace": namespace,
                "share": f"s{number // CHUNKS_PER_DOCUMENT % SHARES}",
                "text": text,
                "vector": vector,
            }
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True), first)
        ]
        await self._table.add(rows)

    async def _search(self, number: int, condition: str = "") -> float:
        question = self._writer.question(number)
        began = time.perf_counter()
        vector = await self._embedder.embed_query(question)
        words = MatchQuery(question, "text")  # type: ignore[call-arg]  # has defaults that mypy does not see
        query = self._table.query().nearest_to(vector).nearest_to_text(words)
        query = query.where(f"namespace = 'filled-3'{condition}").rerank(RRFReranker())
        await query.select(["id", "text"]).limit(10).to_list()
        return time.perf_counter() - began


async def measure(folder: Path, sizes: Sizes) -> Figures:
    """All figures of plain LanceDB in an empty folder, given as an absolute path."""
    embedder = open_embedder("wordllama")
    database = await lancedb.connect_async(str(folder))
    table = await database.create_table("chunks", schema=_schema(embedder.dimensions))
    plain = PlainLanceDb(table, embedder, TextGenerator(), sizes)
    figures = await plain.add_alone() | await plain.batch() | await plain.fill() | await plain.search()
    own = {"rss": resident_bytes(os.getpid()) / 1e6, "disk": folder_bytes(folder) / 1e6}
    return figures | own


def _schema(dimensions: int) -> pa.Schema:
    texts = [pa.field(name, pa.string()) for name in ("id", "namespace", "share", "text")]
    return pa.schema([*texts, pa.field("vector", pa.list_(pa.float32(), dimensions))])


def main() -> None:
    """Measure and print."""
    folder, sizes = sys.argv[1:]
    arguments: dict[str, Any] = json.loads(sizes)
    print(json.dumps(asyncio.run(measure(Path(folder), Sizes(**arguments)))))


def arguments(folder: Path, sizes: Sizes) -> list[str]:
    """The command that runs this in a process of its own."""
    return [sys.executable, "-m", "bench.plain_lancedb", str(folder), json.dumps(asdict(sizes))]


if __name__ == "__main__":
    main()
