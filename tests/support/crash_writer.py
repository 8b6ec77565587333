"""Writes rows to a store until it is killed, and prints what became durable: `python -m … <folder>`."""

import asyncio
import random
import sys

from tests.support.store_rows import chunk, document, open_test_store


async def _write(folder: str) -> None:
    store = await open_test_store(folder)
    running = asyncio.create_task(store.run())
    choose = random.Random(folder)  # noqa: S311 - a repeatable history, not a secret
    turn = max([row.seq for row in await store.chunks.list_rows(["alice#0"])], default=0)
    while not running.done():
        turn += 1
        group = f"group{choose.randrange(12)}"
        size = choose.randrange(1, 6)
        rows = [chunk(group, place, text=f"{turn} {size} {place}", seq=turn) for place in range(size)]
        row = document(group, seq=turn)
        await store.chunks.update([group], lambda _, __, rows=rows: rows)  # type: ignore[misc]
        await store.documents.update([row.key], lambda _, __, row=row: [row])  # type: ignore[misc]
        if turn % 40 == 0:
            await asyncio.gather(store.chunks.maintain(), store.documents.maintain())
        if turn % 3 == 0:
            await asyncio.gather(store.chunks.wait_until_durable(), store.documents.wait_until_durable())
            print(turn, flush=True)  # noqa: T201 - what the parent reads


if __name__ == "__main__":
    asyncio.run(_write(sys.argv[1]))
