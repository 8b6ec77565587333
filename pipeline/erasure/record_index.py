"""Index of the log's records by incarnation, document and blob: a deletion finds its own without reading the log."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from pipeline.bus.port import TopicPartition
from pipeline.erasure.record_references import RecordReferences
from pipeline.runtime.sqlite_connection import connect, open_or_replace, transaction

_SCHEMA = """
CREATE TABLE IF NOT EXISTS places(id INTEGER PRIMARY KEY, topic TEXT, partition INTEGER, next INTEGER, stamp REAL,
    UNIQUE(topic, partition));
CREATE TABLE IF NOT EXISTS incarnations(incarnation INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS records(incarnation INTEGER, document INTEGER, place INTEGER, offset INTEGER,
    PRIMARY KEY(incarnation, document, place, offset)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deletions(document BLOB PRIMARY KEY, offset INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending(place INTEGER, offset INTEGER, PRIMARY KEY(place, offset)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS needed_blobs(place INTEGER, offset INTEGER, blob INTEGER,
    PRIMARY KEY(place, offset, blob)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS needed_blobs_by_blob ON needed_blobs(blob);
CREATE TABLE IF NOT EXISTS released_blobs(digest TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_TABLES = ("places", "incarnations", "records", "deletions", "pending", "needed_blobs", "released_blobs")
_NO_DOCUMENT = 0


@dataclass(frozen=True, slots=True)
class SettledRecords:
    """Examined records: `erased` leave the index, the others are still needed."""

    place: TopicPartition
    offsets: Collection[int]
    erased: Sequence[RecordReferences]
    missing: Collection[int]
    """Offsets at which there is no record any more."""


class RecordIndex:
    """Index in an SQLite file with digests only; a missing one is rebuilt from the log. Synchronous: for a thread.

    `pending` are records of deleted documents and namespaces that an erasure has yet to examine.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = open_or_replace(path, _open)
        rows = self._db.execute("SELECT id, topic, partition FROM places").fetchall()
        self._ids: dict[TopicPartition, int] = {(topic, partition): id_ for id_, topic, partition in rows}

    def positions(self) -> dict[TopicPartition, int]:
        """Return the first offset of each partition that was not indexed."""
        rows = self._db.execute("SELECT topic, partition, next FROM places")
        return {(topic, partition): position for topic, partition, position in rows}

    def last_records(self) -> dict[TopicPartition, tuple[int, float]]:
        """Return offset and time of the last record that was indexed of each partition."""
        rows = self._db.execute("SELECT topic, partition, next - 1, stamp FROM places WHERE stamp IS NOT NULL")
        return {(topic, partition): (offset, stamp) for topic, partition, offset, stamp in rows}

    def clear(self) -> None:
        """Empty the index, as another log took the place of the indexed one."""
        self._ids = {}
        with transaction(self._db):
            for table in _TABLES:
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant

    def add(
        self, place: TopicPartition, found: Sequence[RecordReferences], position: int, stamp: float | None = None
    ) -> None:
        """Add records of a partition, which is indexed up to `position`. Those that a deletion may concern are pending.

        `stamp`: time of the record before `position`, if there is one.
        """
        id_ = self._id_of(place)
        with transaction(self._db):
            kept = [record for record in found if record.deletes_before is None]
            rows = [
                (number(record.incarnation.encode()), key, record.offset) for record in kept for key in _keys(record)
            ]
            self._db.executemany(f"INSERT OR IGNORE INTO records VALUES (?, ?, {id_}, ?)", rows)  # noqa: S608 - a number
            self._db.executemany("INSERT OR IGNORE INTO incarnations VALUES (?)", {(row[0],) for row in rows})
            blobs = [(id_, record.offset, number(blob.encode())) for record in kept for blob in record.blobs]
            self._db.executemany("INSERT OR IGNORE INTO needed_blobs VALUES (?, ?, ?)", blobs)
            self._await_deleted(id_, kept)
            for record in found:
                if record.deletes_before is not None:
                    self._add_deletion(record, record.deletes_before)
            self._db.execute("UPDATE places SET next = ?, stamp = ? WHERE id = ?", (position, stamp, id_))

    def incarnations(self) -> set[int]:
        return {incarnation for (incarnation,) in self._db.execute("SELECT incarnation FROM incarnations")}

    def delete_incarnations(self, incarnations: Iterable[int]) -> None:
        with transaction(self._db):
            for incarnation in incarnations:
                self._db.execute(
                    "INSERT OR IGNORE INTO pending SELECT place, offset FROM records WHERE incarnation = ?",
                    (incarnation,),
                )
                self._db.execute("DELETE FROM incarnations WHERE incarnation = ?", (incarnation,))

    def pending(self, limit: int) -> dict[TopicPartition, list[int]]:
        found = defaultdict[TopicPartition, list[int]](list)
        query = "SELECT topic, partition, offset FROM pending JOIN places ON id = place LIMIT ?"
        for topic, partition, offset in self._db.execute(query, (limit,)):
            found[topic, partition].append(offset)
        return found

    def deletions(self, documents: Iterable[bytes]) -> dict[bytes, int]:
        """Return the offsets of the newest deletions of those documents that have any."""
        found: dict[bytes, int] = {}
        for key in documents:
            row = self._db.execute("SELECT offset FROM deletions WHERE document = ?", (_digest(key),)).fetchone()
            if row is not None:
                found[key] = row[0]
        return found

    def release_blobs(self, digests: Iterable[str]) -> None:
        """Note blobs that records refer to whose keys are about to be destroyed."""
        with transaction(self._db):
            self._db.executemany("INSERT OR IGNORE INTO released_blobs VALUES (?)", [(digest,) for digest in digests])

    def settle(self, settled: Iterable[SettledRecords]) -> None:
        """Remove erased records; none of the examined records is pending any more."""
        with transaction(self._db):
            for records in settled:
                id_ = self._ids[records.place]
                self._db.executemany("DELETE FROM pending WHERE place = ? AND offset = ?", _at(id_, records.offsets))
                gone = [*records.missing, *(record.offset for record in records.erased)]
                self._db.executemany("DELETE FROM needed_blobs WHERE place = ? AND offset = ?", _at(id_, gone))
                self._db.executemany(
                    f"DELETE FROM records WHERE incarnation = ? AND document = ? AND place = {id_} AND offset = ?",  # noqa: S608 - a number
                    [
                        (number(record.incarnation.encode()), key, record.offset)
                        for record in records.erased
                        for key in _keys(record)
                    ],
                )

    def drop_before(self, place: TopicPartition, offset: int) -> None:
        id_ = self._id_of(place)
        with transaction(self._db):
            for table in ("records", "needed_blobs", "pending"):
                self._db.execute(f"DELETE FROM {table} WHERE place = ? AND offset < ?", (id_, offset))  # noqa: S608 - a constant

    def unneeded_blobs(self) -> set[str]:
        """Return the released blobs that no record needs; those that one needs are not released any more."""
        with transaction(self._db):
            digests = {digest for (digest,) in self._db.execute("SELECT digest FROM released_blobs")}
            needed = {digest for digest in digests if self._is_needed(digest)}
            self._forget_blobs(needed)
        return digests - needed

    def forget_blobs(self, digests: Iterable[str]) -> None:
        with transaction(self._db):
            self._forget_blobs(digests)

    def close(self) -> None:
        self._db.close()

    def _id_of(self, place: TopicPartition) -> int:
        if place not in self._ids:
            query = "INSERT INTO places(topic, partition, next) VALUES (?, ?, 0) RETURNING id"
            (self._ids[place],) = self._db.execute(query, place).fetchone()
        return self._ids[place]

    def _add_deletion(self, record: RecordReferences, before: int) -> None:
        (key,) = record.documents
        self._db.execute(
            "INSERT INTO deletions VALUES (?, ?) ON CONFLICT DO UPDATE SET offset = max(offset, excluded.offset)",
            (_digest(key), before),
        )
        self._db.execute(
            "INSERT OR IGNORE INTO pending SELECT place, offset FROM records WHERE incarnation = ? AND document = ?",
            (number(record.incarnation.encode()), number(key)),
        )

    def _await_deleted(self, place: int, records: Sequence[RecordReferences]) -> None:
        """Mark records of documents deleted earlier as pending: a stage may have written them after the deletion."""
        rows = [(place, record.offset, _digest(key)) for record in records for key in record.documents]
        self._db.executemany(
            "INSERT OR IGNORE INTO pending SELECT ?, ? WHERE EXISTS (SELECT 1 FROM deletions WHERE document = ?)", rows
        )

    def _is_needed(self, digest: str) -> bool:
        query = "SELECT 1 FROM needed_blobs WHERE blob = ? LIMIT 1"
        return self._db.execute(query, (number(digest.encode()),)).fetchone() is not None

    def _forget_blobs(self, digests: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM released_blobs WHERE digest = ?", [(digest,) for digest in digests])


def _open(path: Path) -> sqlite3.Connection:
    db = connect(path, "secure_delete = ON")
    try:
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def number(text: bytes) -> int:
    """Return a 64-bit hash of a text; a rare collision only makes an erasure examine one record more."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()


def _keys(record: RecordReferences) -> Iterator[int]:
    yield from map(number, record.documents) if record.documents else (_NO_DOCUMENT,)


def _at(place: int, offsets: Iterable[int]) -> list[tuple[int, int]]:
    return [(place, offset) for offset in offsets]
