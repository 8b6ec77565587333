"""Durability under kill -9: durable rows are there, without duplicates and without partial row sets."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipeline.store import Store
from tests.support.store_rows import open_test_store

pytestmark = pytest.mark.anyio

_CHECKOUT = Path(__file__).parents[4]


async def _killed_after(folder: Path, durable_lines: int, delay: float) -> int:
    """The last durable turn of a writer that was killed a moment after it said so."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.crash_writer", str(folder),
        stdout=asyncio.subprocess.PIPE, cwd=_CHECKOUT,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(durable_lines):
        assert await process.stdout.readline(), "the writer ended by itself"
    await asyncio.sleep(delay)  # the random moment is what is tested
    os.kill(process.pid, signal.SIGKILL)
    rest = await process.stdout.read()
    await process.wait()
    return int(rest.split()[-1]) if rest else 0


async def _whole(store: Store, durable: int) -> None:
    rows = await store.chunks.list_rows(["alice#0"])
    assert max(Counter(row.id for row in rows).values(), default=1) == 1
    groups: dict[str, list[tuple[int, int, int]]] = {}
    for row in rows:
        turn, size, place = map(int, row.text.split())
        groups.setdefault(row.document, []).append((turn, size, place))
    for members in groups.values():
        turn, size, _ = members[0]
        assert sorted(members) == [(turn, size, place) for place in range(size)]
    assert max((row.seq for row in rows), default=0) >= durable
    documents = await store.documents.list_rows(["alice#0"])
    assert max(Counter(row.id for row in documents).values(), default=1) == 1
    assert max((row.seq for row in documents), default=0) >= durable
    assert store.chunks.count_by_incarnation(["alice#0"]) == {"alice#0": len(rows)}


async def test_a_writer_killed_at_any_moment_leaves_complete_row_sets(tmp_path: Path) -> None:
    choose = random.Random(7)  # noqa: S311 - which moments, not a secret
    for _ in range(3):
        durable = await _killed_after(tmp_path, choose.randrange(1, 25), choose.random() * 0.15)
        store = await open_test_store(tmp_path)
        await _whole(store, durable)
        await store.close()
