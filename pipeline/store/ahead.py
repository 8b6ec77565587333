"""Changes that are on disk before LanceDB has them: a SQLite file beside the tables of one process.

A commit of LanceDB takes 10 to 20 ms of CPU however little it changes; what is written here can wait for
others that go with it. Whoever opens the tables next gives them what a killed process left here.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from pipeline.sqlite import connect, transaction
from pipeline.store.codec import Codec
from pipeline.store.places import AHEAD

Row = TypeVar("Row")
Work = Callable[[sqlite3.Connection], object]

_FEW_ROWS, _FEW_BYTES = 32, 256 * 1024
"""So much is encoded by who asks: half a millisecond, in which a thread would hold up every search."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes(
    place INTEGER PRIMARY KEY, shard TEXT NOT NULL, number INTEGER NOT NULL, gone TEXT NOT NULL, rows BLOB);
CREATE INDEX IF NOT EXISTS changes_by_number ON changes(shard, number);
"""


@dataclass(frozen=True, slots=True)
class Left:
    """What was written of a shard and has not reached LanceDB: groups and their rows (none: gone)."""

    changed: dict[str, Sequence[Any]] = field(default_factory=dict)
    number: int = 0


class Ahead:
    """Use on one event loop. What is asked for together is written together, in the order of asking."""

    def __init__(self, tables: Path) -> None:
        """Of the tables in this folder. SQLite errors when the file can't be opened."""
        self._db = _opened(tables / AHEAD)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-ahead")
        self._waiting: list[tuple[Work, asyncio.Future[None]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def keep(
        self, shard: str, number: int, changed: Mapping[str, Sequence[Row]], codec: Codec[Row]
    ) -> None:
        """On disk when it returns: the rows of these groups, as of change `number`. OSError, ValueError."""
        gone = [group for group, rows in changed.items() if not rows]
        rows = [row for members in changed.values() for row in members]

        def packed() -> bytes | None:
            return _packed(codec.encode(rows)) if rows else None

        few = len(rows) <= _FEW_ROWS and sum(map(codec.weight, rows)) <= _FEW_BYTES
        made = packed() if few else None

        def write(db: sqlite3.Connection) -> None:
            entry = (shard, number, json.dumps(gone), made if few else packed())
            db.execute("INSERT INTO changes(shard, number, gone, rows) VALUES (?, ?, ?, ?)", entry)

        await self._written(write)

    async def passed(self, shard: str, number: int) -> None:
        """LanceDB has all changes of the shard up to this one: they are no longer needed here."""
        await self._written(
            lambda db: db.execute("DELETE FROM changes WHERE shard = ? AND number <= ?", (shard, number))
        )

    async def left(self, shard: str, codec: Codec[Row]) -> Left:
        """What an earlier process left of the shard: the newest rows of each group."""
        query = "SELECT number, gone, rows FROM changes WHERE shard = ? ORDER BY place"
        found = await asyncio.to_thread(lambda: self._db.execute(query, (shard,)).fetchall())
        changed: dict[str, Sequence[Row]] = {}
        for _, gone, packed in found:
            changed |= dict.fromkeys(json.loads(gone), ())
            if packed is not None:
                changed |= codec.grouped(codec.decode(pa.ipc.open_stream(packed).read_all()))
        return Left(changed, max((number for number, _, _ in found), default=0))

    async def close(self) -> None:
        """Write what was asked for, and let go of the file."""
        while self._serving is not None:
            await asyncio.wait([self._serving])
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._thread.shutdown()
        # The room that a burst took is nobody's any more; on a full disk it stays, and the service ends.
        with suppress(sqlite3.Error):
            self._db.execute("VACUUM")
        self._db.close()

    async def _written(self, work: Work) -> None:
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
        await done

    async def _serve(self) -> None:
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await self._together(taken)
        finally:
            self._serving = None

    async def _together(self, taken: Sequence[tuple[Work, asyncio.Future[None]]]) -> None:
        error: Exception | None = None
        try:
            works = [work for work, _ in taken]
            await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, works)
        except sqlite3.Error as raised:
            error = OSError(f"the file of changes that wait for LanceDB can't be written ({raised})")
        except (OSError, ValueError) as raised:
            error = raised
        for _, done in taken:
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def _commit(self, works: Sequence[Work]) -> None:
        with transaction(self._db):
            for work in works:
                work(self._db)


def _opened(folder: Path) -> sqlite3.Connection:
    folder.mkdir(exist_ok=True)
    db = connect(folder / "changes.db", "secure_delete = ON")
    db.executescript(_SCHEMA)
    return db


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
