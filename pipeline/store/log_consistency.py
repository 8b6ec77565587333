"""Check that the tables belong to the log: no table has a record that the log does not have."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from typing import Any, Protocol

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable

from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.lancedb.store_properties import StoreMismatchError
from pipeline.store.lancedb.table_access import connect, open_if_exists
from pipeline.store.store import Store
from schemas.topics import DOCUMENTS_SUBMITTED, SETTINGS_CHANGED

MAX_ROWS = 10_000
"""Newest rows of a table that are compared: a log that lacks any lacks the newest."""
REMEDY = (
    "Put back the log that belongs to these tables, from the same backup; or accept this log and rebuild the tables"
    " from it with `recollect replay --force` while the service is stopped, which gives up what only the tables have."
)
_ENTITY_KEY_COLUMNS = {"documents": "key", "chunks": "document"}
PartitionOf = Callable[[str, int], int]
"""The partition of a record's key, in a topic with so many partitions."""


class LogRecord(Protocol):
    """The part of a record that tells when it was written."""

    @property
    def timestamp(self) -> datetime: ...


class Log(Protocol):
    """The part of a bus that tells how far its topics go."""

    @property
    def description(self) -> str: ...

    def partition_of(self, key: str, partitions: int) -> int: ...

    async def end_offsets(self, topic: str) -> Mapping[int, int]: ...

    def read(self, topic: str, partition: int, start: int, end: int) -> AsyncGenerator[LogRecord, None]: ...


async def find_unknown_settings(log: Log, positions: Mapping[int, tuple[int, float]]) -> str | None:
    """Say how the log differs from the one that filled the catalog, and the way out; None if it does not.

    `positions`: by partition, the first offset that the catalog does not have, and the time of the record before.
    """
    topic = SETTINGS_CHANGED.name
    problem = find_settings_beyond(await log.end_offsets(topic), positions)
    for partition, (following, time) in {} if problem else positions.items():
        # None if it was compacted away.
        async for record in log.read(topic, partition, following - 1, following):
            if record.timestamp.timestamp() != time:
                problem = f"they are made of another record {following - 1} of {topic}/{partition}."
    if problem is None:
        return None
    return f"Namespaces and keys do not belong to the log ({log.description}): {problem} {REMEDY}"


def find_settings_beyond(ends: Mapping[int, int], positions: Mapping[int, tuple[int, float]]) -> str | None:
    """Say which record of settings a log with these ends lacks; None if it has as many as the catalog."""
    for partition, (following, _) in positions.items():
        if following > (end := ends.get(partition, 0)):
            return (
                f"they are made of record {following - 1} of {SETTINGS_CHANGED.name}/{partition}, which has records up"
                f" to {end - 1} only."
            )
    return None


async def verify_log_covers_tables(bus: Log, store: Store) -> None:
    """StoreMismatchError if a table has rows made of records that the log does not have.

    New records would get offsets that those rows have seen already, so they would be ignored.
    """
    topic = DOCUMENTS_SUBMITTED.name
    lowest = min((await bus.end_offsets(topic)).values(), default=0)
    tables: Sequence[ShardedTable[Any]] = (store.documents, store.chunks)
    for table in tables:
        columns = [_ENTITY_KEY_COLUMNS[table.codec.table], "incarnation", "seq"]
        snapshot, stored = await table.scan(None, f"seq >= {lowest}", columns)
        unflushed = table.codec.encode(table.unflushed_rows(snapshot, None), columns)
        # Read after the rows: other processes go on writing to the log, and then to the tables.
        ends = await bus.end_offsets(topic)
        newest = pa.concat_tables([stored.select(columns), unflushed])
        if problem := find_missing_record(newest, ends, bus.partition_of):
            raise StoreMismatchError(f"The tables do not belong to the log ({bus.description}): {problem} {REMEDY}")


def find_missing_record(rows: pa.Table, ends: Mapping[int, int], partition_of: PartitionOf) -> str | None:
    """Say which record the log lacks; None if it has the records of all rows.

    `rows`: entity key, incarnation and `seq`, in this order; `ends`: the next offset of each partition.
    """
    newest = rows.sort_by([("seq", "descending")]).slice(0, MAX_ROWS)
    for key, incarnation, seq in zip(*(column.to_pylist() for column in newest.columns), strict=True):
        # As many as the topic has, whatever the settings say; none if it does not exist.
        partition = partition_of(f"{incarnation}/{key}", len(ends)) if ends else 0
        end = ends.get(partition, 0)
        if seq >= end:
            return (
                f"a row was made of record {seq} of {DOCUMENTS_SUBMITTED.name}/{partition}, which has records up to"
                f" {end - 1} only. The log is older than the tables, was made anew, or has lost its end."
            )
    return None


async def read_stored_rows(uri: str, storage: Mapping[str, str] | None, lowest: int) -> AsyncIterator[pa.Table]:
    """Yield the rows of each table with a position from `lowest` on, as `find_missing_record` takes them.

    Opens nothing for writing, so that it may be called beside a running service.
    """
    connection = await connect(uri, storage)
    for kind, entity_key in _ENTITY_KEY_COLUMNS.items():
        async for table in _open_shards(connection, kind):
            columns = [entity_key, "incarnation", "seq"]
            names = (await table.schema()).names
            if set(columns) <= set(names):
                # Shared tables keep deleted rows for a while, without their positions.
                where = f"seq >= {lowest}" + (" AND NOT deleted" if "deleted" in names else "")
                yield await table.query().where(where).select(columns).to_arrow()


async def _open_shards(connection: AsyncConnection, kind: str) -> AsyncIterator[AsyncTable]:
    """Open a table, or its shards. (LanceDB's listing needs a client that `app.process_tuning` keeps out.)"""
    names = chain([kind], (f"{kind}_{shard}" for shard in count()))
    for at, name in enumerate(names):
        table = await open_if_exists(connection, name)
        if table is not None:
            yield table
        elif at:
            return


async def find_stored_mismatch(
    uri: str,
    storage: Mapping[str, str] | None,
    read_ends: Callable[[], Awaitable[tuple[Mapping[int, int], PartitionOf]]],
) -> str | None:
    """Say which record of the stored rows the log lacks; None if it has all."""
    lowest, _ = await read_ends()
    async for rows in read_stored_rows(uri, storage, min(lowest.values(), default=0)):
        # Read after the rows: beside a running service, the log grows before its tables do.
        ends, partition_of = await read_ends()
        if problem := await asyncio.to_thread(find_missing_record, rows, ends, partition_of):
            return problem
    return None
