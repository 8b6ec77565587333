"""Tables of the log in one SQLite file, and their writer. Synchronous: for the writer's thread."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import SEALED_HEADER, ProducerRecord, RawRecord
from pipeline.bus.sqlite.value_compression import compress_value
from pipeline.errors import SettingsError
from pipeline.ports import Position
from pipeline.runtime.sqlite_connection import connect, transaction

GroupPartition = tuple[str, str, int]
"""Consumer group, topic and partition: the key of a position."""
TransactionWork = Callable[["LogTransaction"], Any]

FORMAT = "3"
"""Format of the file and of the events in it."""
_INSERT_BATCH_SIZES = (256, 16, 1)
_TRANSACTION_OVERHEAD_BYTES = 16 * 1024
"""Approximate bytes that the smallest transaction adds to the write-ahead log."""
_IDLE_CHECKPOINT_BYTES = 4 * 1024 * 1024
_FORCED_CHECKPOINT_BYTES = 64 * 1024 * 1024

_SCHEMA = """
CREATE TABLE IF NOT EXISTS log_metadata(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS records(
    position INTEGER PRIMARY KEY, topic INTEGER NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
    ts INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, headers TEXT, compressed INTEGER);
CREATE UNIQUE INDEX IF NOT EXISTS records_by_offset ON records(topic, partition, offset);
CREATE TABLE IF NOT EXISTS end_offsets(
    topic INTEGER NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY(topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions(
    "group" TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
    PRIMARY KEY("group", topic, partition)) WITHOUT ROWID;
"""


LOG_FILE = "log.db"


class PartitionCountMismatchError(SettingsError):
    """The data directory was created with another number of partitions."""


class LogFormatError(ValueError):
    """The log was written by a version whose events this one cannot read."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """Result of a transaction: one per piece of work, and the new end offsets."""

    results: Sequence[Any]
    end_offsets: Mapping[TopicPartition, int]
    followed: Sequence[RawRecord]
    """Appended records of followed topics, in order."""
    removed: Collection[TopicPartition] = ()
    """Partitions of which records were removed."""


class LogDatabase:
    """Writer of the log: one transaction at a time; offsets are assigned in order and never twice."""

    def __init__(self, path: Path, partitions: int) -> None:
        self.path = path
        self.partitions = partitions
        self._db = connect_log(path)
        _create_schema(self._db, path, partitions)
        self.topic_ids: dict[str, int] = dict(self._db.execute("SELECT name, id FROM topics"))
        self.end_offsets = self._load_end_offsets()
        self.followed_topics: set[str] = set()
        """Topics whose appended records are part of a transaction's result."""
        self.opener: Callable[[RawRecord], bytes] | None = None
        """Opens sealed values of followed records."""
        self._wal_bytes = 0

    def positions(self) -> dict[GroupPartition, int]:
        """Return the next offset of every known group, per topic and partition."""
        rows = self._db.execute('SELECT "group", topic, partition, offset FROM positions')
        return {(group, topic, partition): offset for group, topic, partition, offset in rows}

    def commit(self, works: Sequence[TransactionWork], positions: Mapping[GroupPartition, int]) -> CommitResult:
        """Commit works and positions together and sync them to disk; sqlite3.Error if nothing was written."""
        with transaction(self._db):
            log = LogTransaction(self, self._db)
            results = [work(log) for work in works]
            log.flush(positions)
        self.topic_ids |= log.topic_ids
        self.end_offsets |= log.end_offsets
        self._wal_bytes += log.value_bytes + _TRANSACTION_OVERHEAD_BYTES
        return CommitResult(results, log.end_offsets, log.followed, log.removed)

    def checkpoint(self, *, idle: bool) -> None:
        """Move SQLite's write-ahead log into the main file if it is large; `idle` lowers the threshold."""
        if self._wal_bytes >= (_IDLE_CHECKPOINT_BYTES if idle else _FORCED_CHECKPOINT_BYTES):
            self._wal_bytes = 0
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def vacuum(self, pages: int) -> None:
        """Return up to `pages` free pages to the file system."""
        # The pragma frees one page per step, and `execute` would take only one step.
        self._db.executescript(f"PRAGMA incremental_vacuum({pages:d})")

    def shrink(self, pages: int) -> bool:
        """Like `vacuum`, and empty the write-ahead log once no free page is left; True: that is done."""
        self.vacuum(pages)
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        if free:
            return False
        (busy, *_) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def close(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._db.close()

    def partition_for(self, key: bytes) -> int:
        """Return the partition of a key, stable for the life of the directory."""
        return partition_of_key(key, self.partitions)

    def _load_end_offsets(self) -> dict[TopicPartition, int]:
        return {
            (name, partition): end
            for name in self.topic_ids
            for partition, end in read_end_offsets(self._db, name, self.partitions).items()
        }


class LogTransaction:
    """Operations inside a transaction. Their effects are visible only after the commit."""

    def __init__(self, database: LogDatabase, db: sqlite3.Connection) -> None:
        self._database = database
        self._db = db
        self._rows: list[tuple[Any, ...]] = []
        self.end_offsets: dict[TopicPartition, int] = {}
        self.followed: list[RawRecord] = []
        self.removed: set[TopicPartition] = set()
        self.topic_ids: dict[str, int] = {}
        self.value_bytes = 0

    def append(self, topic: str, timestamp_ms: int, entries: Sequence[ProducerRecord]) -> list[Position]:
        """Append entries to the partitions of their keys; `timestamp_ms` in milliseconds since 1970."""
        topic_id = self._topic_id(topic)
        positions: list[Position] = []
        for entry in entries:
            partition = self._database.partition_for(entry.key)
            topic_partition = (topic, partition)
            offset = self._end_offset(topic_partition)
            self.end_offsets[topic_partition] = offset + 1
            headers = json.dumps(dict(entry.headers)) if entry.headers else None
            sealed = SEALED_HEADER in entry.headers
            value, compressed = (entry.value, None) if sealed else compress_value(entry.value)
            self._rows.append((topic_id, partition, offset, timestamp_ms, entry.key, value, headers, compressed))
            self.value_bytes += len(value)
            if topic in self._database.followed_topics:
                timestamp = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
                self.followed.append(
                    RawRecord(
                        topic,
                        partition,
                        offset,
                        entry.key,
                        entry.value,
                        entry.headers,
                        timestamp,
                        self._database.opener,
                    )
                )
            positions.append(Position(partition, offset))
        return positions

    def remove(self, topic: str, partition: int, offsets: Iterable[int]) -> int:
        """Delete records and return their number; their offsets are never reused."""
        topic_id = self._topic_id(topic)
        self.removed.add((topic, partition))
        deleted = self._db.executemany(
            "DELETE FROM records WHERE topic = ? AND partition = ? AND offset = ?",
            [(topic_id, partition, offset) for offset in offsets],
        ).rowcount
        # The end offset is derived from the newest record, which may have been deleted: save it.
        save_end_offset = "INSERT INTO end_offsets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next"
        self._db.execute(save_end_offset, (topic_id, partition, self._end_offset((topic, partition))))
        return deleted

    def delete_group(self, group: str) -> None:
        self._db.execute('DELETE FROM positions WHERE "group" = ?', (group,))

    def flush(self, positions: Mapping[GroupPartition, int]) -> None:
        """Insert the appended rows and save positions. Many rows per statement: each may release the GIL."""
        start = 0
        for size in _INSERT_BATCH_SIZES:
            while len(self._rows) - start >= size:
                chunk = self._rows[start : start + size]
                self._db.execute(_insert_sql(size), [value for row in chunk for value in row])
                start += size
        if positions:
            rows = [(*group_partition, offset) for group_partition, offset in positions.items()]
            move = "INSERT INTO positions VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET offset = excluded.offset"
            self._db.executemany(move, rows)

    def _end_offset(self, topic_partition: TopicPartition) -> int:
        if topic_partition in self.end_offsets:
            return self.end_offsets[topic_partition]
        return self._database.end_offsets.get(topic_partition, 0)

    def _topic_id(self, name: str) -> int:
        topic_id = self._database.topic_ids.get(name) or self.topic_ids.get(name)
        if topic_id is None:
            insert = "INSERT INTO topics(name) VALUES (?) RETURNING id"
            (topic_id,) = self._db.execute(insert, (name,)).fetchone()
            self.topic_ids[name] = topic_id
        return topic_id


def partition_of_key(key: bytes, partitions: int) -> int:
    return crc32(key) % partitions


def read_partition_count(db: sqlite3.Connection) -> int:
    """Return the number of partitions that the log was made with; sqlite3.DatabaseError if it holds none."""
    row = db.execute("SELECT value FROM log_metadata WHERE name = 'partitions'").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("the number of its partitions is missing")
    return int(row[0])


def read_end_offsets(db: sqlite3.Connection, topic: str, partitions: int) -> dict[int, int]:
    (topic_id,) = db.execute("SELECT id FROM topics WHERE name = ?", (topic,)).fetchone() or (None,)
    saved = dict(db.execute("SELECT partition, next FROM end_offsets WHERE topic = ?", (topic_id,)))
    newest = "SELECT max(offset) FROM records WHERE topic = ? AND partition = ?"
    ends: dict[int, int] = {}
    for partition in range(partitions):
        (offset,) = db.execute(newest, (topic_id, partition)).fetchone()
        ends[partition] = max(0 if offset is None else offset + 1, saved.get(partition, 0))
    return ends


def connect_log(path: Path) -> sqlite3.Connection:
    """Open a connection to the log's file. Removed records are overwritten: nobody reads them from free pages."""
    return connect(path, "auto_vacuum = INCREMENTAL", "secure_delete = ON", "wal_autocheckpoint = 0")


def _create_schema(db: sqlite3.Connection, path: Path, partitions: int) -> None:
    _reject_other_formats(db, path)
    db.executescript(_SCHEMA)
    db.execute("INSERT OR IGNORE INTO log_metadata VALUES ('format', ?)", (FORMAT,))
    db.execute("INSERT OR IGNORE INTO log_metadata VALUES ('partitions', ?)", (str(partitions),))
    created_with = read_partition_count(db)
    if created_with != partitions:
        db.close()
        raise PartitionCountMismatchError(
            f"{path} was created with {created_with} partitions, but {partitions} are configured. The number"
            " can't change, because keys would move between partitions and lose their order."
            f" Set RECOLLECT_LOG_PARTITIONS={created_with}, or export into a new data directory."
        )


def _reject_other_formats(db: sqlite3.Connection, path: Path) -> None:
    """LogFormatError if the file holds records of another format."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "records" not in tables:
        return
    stored = None
    if "log_metadata" in tables:
        stored = db.execute("SELECT value FROM log_metadata WHERE name = 'format'").fetchone()
    if stored != (FORMAT,):
        db.close()
        raise LogFormatError(
            f"{path} has a log format that this version can't read: it reads {FORMAT}."
            " Use the version that wrote it, or set RECOLLECT_DATA_DIR to a new directory and add the documents again."
        )


def _insert_sql(rows: int) -> str:
    values = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * rows)
    columns = "topic, partition, offset, ts, key, value, headers, compressed"
    return f"INSERT INTO records({columns}) VALUES {values}"  # noqa: S608 - only a number of question marks
