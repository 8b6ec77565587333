"""Queries on the log's tables. Synchronous: for the reader's thread."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline.bus.records import RawRecord
from pipeline.bus.sqlite.log_database import connect_log
from pipeline.bus.sqlite.value_compression import decompress_value

MAX_READ_BYTES = 4 * 1024 * 1024
"""Bytes of values after which a read ends, so that a batch of large events fits in memory."""

SMALL_VALUE_BYTES = 4096
"""Values that take no more are searched for bytes; larger ones would have to be read from pages of their own."""


class LogReader:
    """Reader of the log on a connection of its own, so that it never waits for the writer."""

    def __init__(self, path: Path) -> None:
        self._db = connect_log(path)
        self._db.execute("PRAGMA query_only = 1")
        self.opener: Callable[[RawRecord], bytes] | None = None
        """Opens sealed values of the records that are read."""
        self._db.create_function("value_of", 2, decompress_value, deterministic=True)

    def read(self, topic: str, partition: int, start: int, limit: int) -> list[RawRecord]:
        """Read up to `limit` records from offset `start` on, fewer if they are large."""
        query = (
            "SELECT offset, ts, key, value, headers, compressed FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ? AND offset >= ?"
            " ORDER BY offset LIMIT ?"
        )
        return self._read(topic, partition, query, (topic, partition, start, limit))

    def _read(self, topic: str, partition: int, query: str, parameters: tuple[object, ...]) -> list[RawRecord]:
        records: list[RawRecord] = []
        size = 0
        cursor = self._db.execute(query, parameters)
        for offset, ts, key, stored, headers, compressed in cursor:
            at = datetime.fromtimestamp(ts / 1000, UTC)
            value = decompress_value(stored, compressed)
            records.append(RawRecord(topic, partition, offset, key, value, _parse_headers(headers), at, self.opener))
            size += len(value)
            if size >= MAX_READ_BYTES:
                break
        cursor.close()
        return records

    def read_keys(
        self, topic: str, partition: int, start: int, limit: int, containing: bytes | None
    ) -> list[tuple[int, bytes, bool]]:
        """Read up to `limit` offsets and keys from `start` on, and whether the record is small and has these bytes."""
        query = (
            "SELECT offset, key, ? IS NULL OR (length(value) <= ? AND instr(value_of(value, compressed), ?) > 0)"
            " FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ? AND offset >= ?"
            " ORDER BY offset LIMIT ?"
        )
        parameters = (containing, SMALL_VALUE_BYTES, containing, topic, partition, start, limit)
        return [(offset, key, bool(has)) for offset, key, has in self._db.execute(query, parameters)]

    def read_offsets(self, topic: str, partition: int, offsets: Sequence[int]) -> list[RawRecord]:
        """Read the records at these offsets, in order; fewer than asked for if they are large."""
        query = (
            "SELECT offset, ts, key, value, headers, compressed FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ?"
            " AND offset IN (SELECT value FROM json_each(?)) ORDER BY offset"
        )
        return self._read(topic, partition, query, (topic, partition, json.dumps(offsets)))

    def first_offset(self, topic: str, partition: int) -> int | None:
        """Return the offset of the oldest remaining record; None if there is none."""
        query = "SELECT min(offset) FROM records WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ?"
        (offset,) = self._db.execute(query, (topic, partition)).fetchone()
        return None if offset is None else int(offset)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """Return the offset of the first record written at `timestamp_ms` or later, else the end offset.

        Binary search: timestamps rise with offsets unless the clock was set back.
        """
        identity = "SELECT id FROM topics WHERE name = ?"
        newest = f"SELECT max(offset) FROM records WHERE topic = ({identity}) AND partition = ?"  # noqa: S608 - a constant
        (last,) = self._db.execute(newest, (topic, partition)).fetchone()
        first, end = 0, 0 if last is None else last + 1
        at_or_after = (
            f"SELECT offset, ts FROM records WHERE topic = ({identity}) AND partition = ? AND offset >= ?"  # noqa: S608 - a constant
            " ORDER BY offset LIMIT 1"
        )
        while first < end:
            middle = (first + end) // 2
            offset, ts = self._db.execute(at_or_after, (topic, partition, middle)).fetchone()
            if ts >= timestamp_ms:
                end = middle
            else:
                first = offset + 1
        return first

    def count_records(self, topic: str) -> int:
        query = "SELECT count(*) FROM records WHERE topic = (SELECT id FROM topics WHERE name = ?)"
        return int(self._db.execute(query, (topic,)).fetchone()[0])

    def topics(self) -> list[str]:
        return [name for (name,) in self._db.execute("SELECT name FROM topics ORDER BY name")]

    def expired_offsets(self, topic: str, partition: int, before: int, until: int, limit: int) -> list[int]:
        """Return up to `limit` oldest offsets below `until` written before `before` (milliseconds)."""
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

    def superseded_offsets(self, topic: str, partition: int) -> list[int]:
        """Return the offsets of records whose key has a newer record."""
        query = (
            "SELECT offset FROM"
            " (SELECT offset, row_number() OVER (PARTITION BY key ORDER BY offset DESC) AS age FROM records"
            " WHERE topic = (SELECT id FROM topics WHERE name = ?) AND partition = ?)"
            " WHERE age > 1 ORDER BY offset"
        )
        return [offset for (offset,) in self._db.execute(query, (topic, partition))]

    def close(self) -> None:
        self._db.close()


def _parse_headers(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    headers: dict[str, str] = json.loads(text)
    return headers
