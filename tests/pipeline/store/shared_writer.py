"""Counts in rows that others count in too: `python -m … <uri> <number> <turns>`, one line per counted turn.

Every turn adds one to two of five documents, and replaces a document's chunks by one more of them.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import replace

from pipeline.rows import ChunkRow, DocumentRow
from tests.pipeline.store.samples import chunk, document, opened

NAMES = [f"document{number}" for number in range(5)]
_MOST_CHUNKS = 7


def counted(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
    """The document, counted once more."""
    name = next(one for one in NAMES if document(one).key == key)
    row = rows[0] if rows else document(name, seq=0)
    return [replace(row, seq=row.seq + 1)]


def regrown(group: str, rows: list[ChunkRow]) -> Sequence[ChunkRow]:
    """All chunks of a group anew, with as many as its `seq` says."""
    seq = (rows[0].seq if rows else 0) + 1
    return [chunk(group, place, text=f"{seq} {place}", seq=seq) for place in range(seq % _MOST_CHUNKS + 1)]


async def _count(uri: str, number: int, turns: int) -> None:
    store = await opened(uri, shared=True)
    running = asyncio.create_task(store.run())
    choose = random.Random(number)  # noqa: S311 - a repeatable history, not a secret
    print("ready", flush=True)  # noqa: T201 - what the parent reads
    for _ in range(turns):
        keys = [document(name).key for name in choose.sample(NAMES, 2)]
        await asyncio.gather(
            store.documents.update(keys, counted), store.chunks.update([choose.choice(NAMES)], regrown)
        )
        print("counted", flush=True)  # noqa: T201
    await store.close()
    await running


if __name__ == "__main__":
    asyncio.run(_count(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
