"""Write-ahead log: changes that LanceDB does not have yet, in a SQLite file beside the tables of one
process.

A LanceDB commit takes 10 to 20 ms of CPU however small it is, while log entries are written in batches. The
next process that opens the tables recovers the changes that a killed one left here.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from pipeline.ports import Row
from pipeline.runtime.group_commit import GroupCommit
from pipeline.runtime.sqlite_connection import connect, transaction
from pipeline.store.generations.generation_registry import WRITE_AHEAD_LOG_FOLDER
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.single_process.change_history import ChangeHistory

Result = TypeVar("Result")

_INLINE_ENCODE_ROWS, _INLINE_ENCODE_BYTES = 32, 256 * 1024
"""Batches up to this size are encoded inline (0.5 ms): a thread would contend for the GIL with searches."""
_MAX_FREE_PAGES = 1024
"""Free pages (4 KB) that an empty log keeps for the next changes."""
_PRAGMAS = ("auto_vacuum = INCREMENTAL", "secure_delete = ON", "journal_size_limit = 4194304")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes(
    position INTEGER PRIMARY KEY, shard TEXT NOT NULL, sequence INTEGER NOT NULL, deleted TEXT NOT NULL, rows
    BLOB);
CREATE INDEX IF NOT EXISTS changes_by_sequence ON changes(shard, sequence);
"""


@dataclass(frozen=True, slots=True)
class RecoveredBatch:
    """Changes of a shard that never reached LanceDB: rows by entity key (none: deleted)."""

    changed: dict[str, Sequence[Any]] = field(default_factory=dict)
    sequence: int = 0


class WriteAheadLog:
    """Write-ahead log for one event loop. Concurrent calls share a transaction, in call order."""

    def __init__(self, tables_folder: Path) -> None:
        """Open or create the log of the tables in this folder. Raises SQLite errors."""
        self._db = _open_database(tables_folder / WRITE_AHEAD_LOG_FOLDER)
        self._commits = GroupCommit[sqlite3.Connection]("recollect-wal", self._commit)
        self.history = ChangeHistory(self._commits)
        """Which keys changed in LanceDB; to be opened where somebody asks for it."""

    async def append(
        self, shard: str, sequence: int, changed: Mapping[str, Sequence[Row]], codec: RowCodec[Row]
    ) -> None:
        """Log the rows of these keys as of change `sequence`; durable on return.

        Raises OSError or ValueError.
        """
        deleted = [key for key, rows in changed.items() if not rows]
        rows = [row for key_rows in changed.values() for row in key_rows]

        def encode() -> bytes | None:
            return _to_arrow_stream(codec.encode(rows)) if rows else None

        is_small = len(rows) <= _INLINE_ENCODE_ROWS and sum(map(codec.size_bytes, rows)) <= _INLINE_ENCODE_BYTES
        encoded = encode() if is_small else None

        def write(db: sqlite3.Connection) -> None:
            entry = (shard, sequence, json.dumps(deleted), encoded if is_small else encode())
            db.execute("INSERT INTO changes(shard, sequence, deleted, rows) VALUES (?, ?, ?, ?)", entry)

        await self._commits.submit(write)

    async def truncate(self, shard: str, sequence: int) -> None:
        """Remove the shard's changes up to `sequence`, which LanceDB has now."""
        await self._commits.submit(
            lambda db: db.execute("DELETE FROM changes WHERE shard = ? AND sequence <= ?", (shard, sequence))
        )
        await self._commits.run(self._shrink_if_empty)

    async def erase_truncated(self) -> None:
        """Remove what was truncated from the disk too: SQLite's own write-ahead log still holds it."""
        await self._commits.run(self._vacuum)

    def _shrink_if_empty(self) -> None:
        (free_pages,) = self._db.execute("PRAGMA freelist_count").fetchone()
        if free_pages > _MAX_FREE_PAGES and not self._db.execute("SELECT 1 FROM changes LIMIT 1").fetchone():
            # On a full disk that fails; the pages are free for the next changes then. `execute` would free one page.
            with suppress(sqlite3.Error):
                self._db.executescript("PRAGMA incremental_vacuum")

    def _vacuum(self) -> None:
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    async def recover(self, shard: str, codec: RowCodec[Row]) -> RecoveredBatch:
        """Read what an earlier process left of the shard: the newest rows of each key."""
        query = "SELECT sequence, deleted, rows FROM changes WHERE shard = ? ORDER BY position"
        found = await asyncio.to_thread(lambda: self._db.execute(query, (shard,)).fetchall())
        changed: dict[str, Sequence[Row]] = {}
        for _, deleted, packed in found:
            changed |= dict.fromkeys(json.loads(deleted), ())
            if packed is not None:
                changed |= codec.group_by_entity_key(codec.decode(pa.ipc.open_stream(packed).read_all()))
        return RecoveredBatch(changed, max((number for number, _, _ in found), default=0))

    async def close(self) -> None:
        """Finish pending writes and close the file."""
        await self._commits.close()
        await asyncio.to_thread(self._close_file)

    def _close_file(self) -> None:
        # Free the space that a burst took. On a full disk that fails, and the service must end anyway.
        with suppress(sqlite3.Error):
            self._db.execute("VACUUM")
        self._db.close()

    def _commit(self, operations: Sequence[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
        try:
            with transaction(self._db):
                return [operation(self._db) for operation in operations]
        except sqlite3.Error as error:
            raise OSError(f"the write-ahead log cannot be used ({error})") from error


def _open_database(folder: Path) -> sqlite3.Connection:
    folder.mkdir(exist_ok=True)
    db = connect(folder / "changes.db", *_PRAGMAS)
    db.executescript(_SCHEMA)
    return db


def _to_arrow_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
