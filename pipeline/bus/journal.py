"""The log's tables in one SQLite file. Synchronous: for the writer's and the reader's thread."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from pipeline.ports import Position
from pipeline.records import Entry, RawRecord
from pipeline.sqlite import connect, transaction

Stream = tuple[str, int]
"""Topic and partition."""
Seat = tuple[str, str, int]
"""Group, topic and partition: where a position is kept."""
Work = Callable[["Transaction"], Any]

READ_BYTES = 4 * 1024 * 1024
"""A read ends after this many bytes of values, so that a batch of large events fits in memory."""
_INSERT_SIZES = (256, 16, 1)
_PAGES_BYTES = 16 * 1024
"""What even the smallest transaction adds to the write-ahead log, roughly."""
_CHECKPOINT_QUIET = 4 * 1024 * 1024
_CHECKPOINT_FORCED = 64 * 1024 * 1024

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS records(
    position INTEGER PRIMARY KEY, topic INTEGER NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
    ts INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, headers TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS records_by_offset ON records(topic, partition, offset);
CREATE TABLE IF NOT EXISTS heads(
    topic INTEGER NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY(topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions(
    "group" TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
    PRIMARY KEY("group", topic, partition)) WITHOUT ROWID;
"""


class PartitionsFixedError(ValueError):
    """The data directory was made with another number of partitions."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What one transaction did: a result per piece of work, and the new heads."""

    results: Sequence[Any]
    heads: Mapping[Stream, int]


class Journal:
    """The writing side: one transaction at a time, offsets given out in order and never twice."""

    def __init__(self, path: Path, partitions: int) -> None:
        self.path = path
        self.partitions = partitions
        self._db = _connect(path)
        _prepare(self._db, path, partitions)
        self.topics: dict[str, int] = dict(self._db.execute("SELECT name, id FROM topics"))
        self.heads = self._load_heads()
        self._unchecked_bytes = 0

    def positions(self) -> dict[Seat, int]:
        """The next offset of every known group, per topic and partition."""
        rows = self._db.execute('SELECT "group", topic, partition, offset FROM positions')
        return {(group, topic, partition): offset for group, topic, partition, offset in rows}

    def commit(self, works: Sequence[Work], positions: Mapping[Seat, int]) -> Committed:
        """All of it, synced to disk, or nothing and sqlite3.Error."""
        with transaction(self._db):
            under_way = Transaction(self, self._db)
            results = [work(under_way) for work in works]
            under_way.finish(positions)
        self.topics |= under_way.topics
        self.heads |= under_way.heads
        self._unchecked_bytes += under_way.size + _PAGES_BYTES
        return Committed(results, under_way.heads)

    def checkpoint(self, *, quiet: bool) -> None:
        """Move the write-ahead log into the file, in a quiet moment or once it has grown large."""
        if self._unchecked_bytes >= (_CHECKPOINT_QUIET if quiet else _CHECKPOINT_FORCED):
            self._unchecked_bytes = 0
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def shrink(self, pages: int) -> None:
        """Give up to so many free pages back to the file system."""
        # It frees a page per step, in rows without columns, and `execute` would take one step only.
        self._db.executescript(f"PRAGMA incremental_vacuum({pages:d})")

    def close(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._db.close()

    def partition(self, key: bytes) -> int:
        """The partition of a key: stable for the life of the directory."""
        return crc32(key) % self.partitions

    def _load_heads(self) -> dict[Stream, int]:
        heads: dict[Stream, int] = {}
        newest = "SELECT max(offset) FROM records WHERE topic = ? AND partition = ?"
        for name, topic in self.topics.items():
            kept = dict(self._db.execute("SELECT partition, next FROM heads WHERE topic = ?", (topic,)))
            for partition in range(self.partitions):
                (offset,) = self._db.execute(newest, (topic, partition)).fetchone()
                after = 0 if offset is None else offset + 1
                heads[name, partition] = max(after, kept.get(partition, 0))
        return heads


class Transaction:
    """What may be done inside a commit. Nothing here is seen outside before the commit succeeds."""

    def __init__(self, journal: Journal, db: sqlite3.Connection) -> None:
        self._journal = journal
        self._db = db
        self._rows: list[tuple[Any, ...]] = []
        self.heads: dict[Stream, int] = {}
        self.topics: dict[str, int] = {}
        self.size = 0

    def append(self, topic: str, at: int, entries: Sequence[Entry]) -> list[Position]:
        """Entries at the end of their keys' partitions; `at` in milliseconds since 1970."""
        identity = self._topic(topic)
        places: list[Position] = []
        for entry in entries:
            partition = self._journal.partition(entry.key)
            stream = (topic, partition)
            offset = self._head(stream)
            self.heads[stream] = offset + 1
            headers = json.dumps(dict(entry.headers)) if entry.headers else None
            self._rows.append((identity, partition, offset, at, entry.key, entry.value, headers))
            self.size += len(entry.value)
            places.append(Position(partition, offset))
        return places

    def remove(self, topic: str, partition: int, offsets: Iterable[int]) -> int:
        """Delete records, and say how many there were; their offsets are not given out again."""
        identity = self._topic(topic)
        gone = [(identity, partition, offset) for offset in offsets]
        deleted = self._db.executemany(
            "DELETE FROM records WHERE topic = ? AND partition = ? AND offset = ?", gone
        ).rowcount
        # The head is derived from the newest record, which may be among these.
        head = "INSERT INTO heads VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next"
        self._db.execute(head, (identity, partition, self._head((topic, partition))))
        return deleted

    def forget(self, group: str) -> None:
        """Delete a group's positions."""
        self._db.execute('DELETE FROM positions WHERE "group" = ?', (group,))

    def finish(self, positions: Mapping[Seat, int]) -> None:
        """Write what was gathered: many rows per statement, because every statement may lose the GIL."""
        start = 0
        for size in _INSERT_SIZES:
            while len(self._rows) - start >= size:
                chunk = self._rows[start : start + size]
                self._db.execute(_insert(size), [value for row in chunk for value in row])
                start += size
        if positions:
            rows = [(*seat, offset) for seat, offset in positions.items()]
            move = (
                "INSERT INTO positions VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET offset = excluded.offset"
            )
            self._db.executemany(move, rows)

    def _head(self, stream: Stream) -> int:
        if stream in self.heads:
            return self.heads[stream]
        return self._journal.heads.get(stream, 0)

    def _topic(self, name: str) -> int:
        known = self._journal.topics.get(name) or self.topics.get(name)
        if known is not None:
            return known
        (identity,) = self._db.execute("INSERT INTO topics(name) VALUES (?) RETURNING id", (name,)).fetchone()
        self.topics[name] = int(identity)
        return int(identity)


class Reader:
    """The reading side, on a connection of its own: it never waits for the writer."""

    def __init__(self, path: Path) -> None:
        self._db = _connect(path)
        self._db.execute("PRAGMA query_only = 1")

    def read(self, topic: str, partition: int, start: int, limit: int) -> list[RawRecord]:
        """Up to `limit` records from `start` on, fewer when they are large."""
        query = (
            "SELECT offset, ts, key, value, headers FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ? AND offset >= ?"
            " ORDER BY offset LIMIT ?"
        )
        records: list[RawRecord] = []
        size = 0
        cursor = self._db.execute(query, (topic, partition, start, limit))
        for offset, ts, key, value, headers in cursor:
            at = datetime.fromtimestamp(ts / 1000, UTC)
            records.append(RawRecord(topic, partition, offset, key, value, _headers(headers), at))
            size += len(value)
            if size >= READ_BYTES:
                break
        cursor.close()
        return records

    def first(self, topic: str, partition: int) -> int | None:
        """The offset of the first record that is still there; None: there is none."""
        query = (
            "SELECT min(offset) FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ?"
        )
        (found,) = self._db.execute(query, (topic, partition)).fetchone()
        return None if found is None else int(found)

    def begin(self, topic: str, partition: int, at: int) -> int:
        """The offset of the first record written at that time (milliseconds) or later; of none, the end.

        Halving: offsets grow with time, but for what clocks were set back.
        """
        identity = "SELECT id FROM topics WHERE name = ?"
        newest = f"SELECT max(offset) FROM records WHERE topic = ({identity}) AND partition = ?"  # noqa: S608 - a constant
        (last,) = self._db.execute(newest, (topic, partition)).fetchone()
        first, end = 0, 0 if last is None else last + 1
        around = (
            f"SELECT offset, ts FROM records WHERE topic = ({identity}) AND partition = ? AND offset >= ?"  # noqa: S608 - a constant
            " ORDER BY offset LIMIT 1"
        )
        while first < end:
            middle = (first + end) // 2
            offset, ts = self._db.execute(around, (topic, partition, middle)).fetchone()
            if ts >= at:
                end = middle
            else:
                first = offset + 1
        return first

    def count(self, topic: str) -> int:
        """How many records a topic holds now."""
        query = "SELECT count(*) FROM records WHERE topic = (SELECT id FROM topics WHERE name = ?)"
        return int(self._db.execute(query, (topic,)).fetchone()[0])

    def topics(self) -> list[str]:
        return [name for (name,) in self._db.execute("SELECT name FROM topics ORDER BY name")]

    def expired(self, topic: str, partition: int, before: int, until: int, limit: int) -> list[int]:
        """The oldest offsets below `until`, as far as they were written before that time (milliseconds)."""
        query = (
            "SELECT offset, ts FROM records WHERE topic = (SELECT id FROM topics WHERE name = ?)"
            " AND partition = ? AND offset < ? ORDER BY offset LIMIT ?"
        )
        offsets: list[int] = []
        for offset, ts in self._db.execute(query, (topic, partition, until, limit)).fetchall():
            if ts >= before:
                break
            offsets.append(offset)
        return offsets

    def superseded(self, topic: str, partition: int) -> list[int]:
        """Offsets of records whose key has a newer one."""
        query = (
            "SELECT offset FROM"
            " (SELECT offset, row_number() OVER (PARTITION BY key ORDER BY offset DESC) AS age FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ?)"
            " WHERE age > 1 ORDER BY offset"
        )
        return [offset for (offset,) in self._db.execute(query, (topic, partition))]

    def close(self) -> None:
        self._db.close()


def _connect(path: Path) -> sqlite3.Connection:
    return connect(path, "auto_vacuum = INCREMENTAL", "wal_autocheckpoint = 0")


def _prepare(db: sqlite3.Connection, path: Path, partitions: int) -> None:
    db.executescript(_SCHEMA)
    db.execute("INSERT OR IGNORE INTO facts VALUES ('partitions', ?)", (str(partitions),))
    (made,) = db.execute("SELECT value FROM facts WHERE name = 'partitions'").fetchone()
    if int(made) != partitions:
        db.close()
        raise PartitionsFixedError(
            f"{path} was made with {made} partitions, and {partitions} are asked for. The number can't"
            " change, because keys would move between partitions and lose their order."
            f" Set RECOLLECT_PARTITIONS={made}, or export into a new data directory."
        )


def _insert(rows: int) -> str:
    values = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)
    return f"INSERT INTO records(topic, partition, offset, ts, key, value, headers) VALUES {values}"  # noqa: S608 - only a number of question marks


def _headers(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    headers: dict[str, str] = json.loads(text)
    return headers
