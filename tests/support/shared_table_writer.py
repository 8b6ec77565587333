"""Increments counters that other processes increment too: `python -m … <uri> <number> <turns>`.

Prints a line per turn. Every turn adds one to two of five documents, and replaces a document's chunks by one
more of them.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import replace

from pipeline.rows import ChunkRow, DocumentRow
from tests.support.store_rows import chunk, document, open_test_store

NAMES = [f"document{number}" for number in range(5)]
_MOST_CHUNKS = 7


def count_once_more(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
    """Increment the counter of the document."""
    name = next(name for name in NAMES if document(name).key == key)
    row = rows[0] if rows else document(name, seq=0)
    return [replace(row, seq=row.seq + 1)]


def regrow_chunks(entity_key: str, rows: list[ChunkRow]) -> Sequence[ChunkRow]:
    """Replace all chunks of a document, by as many as its `seq` says."""
    seq = (rows[0].seq if rows else 0) + 1
    return [chunk(entity_key, place, text=f"{seq} {place}", seq=seq) for place in range(seq % _MOST_CHUNKS + 1)]


async def _write(uri: str, number: int, turns: int) -> None:
    store = await open_test_store(uri, shared=True)
    running = asyncio.create_task(store.run())
    choose = random.Random(number)  # noqa: S311 - a repeatable history, not a secret
    print("ready", flush=True)  # noqa: T201 - what the parent reads
    for _ in range(turns):
        keys = [document(name).key for name in choose.sample(NAMES, 2)]
        await asyncio.gather(
            store.documents.update(keys, count_once_more),
            store.chunks.update([choose.choice(NAMES)], regrow_chunks),
        )
        print("counted", flush=True)  # noqa: T201
    await store.close()
    await running


if __name__ == "__main__":
    asyncio.run(_write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
