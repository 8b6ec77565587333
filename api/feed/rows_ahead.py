"""Rows of many records, read at once: where processes share tables, each reading is a query of its own."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from api.feed.feed_events import FeedTables, RowTable
from api.feed.feed_sources import EXTRACTED, FORGOTTEN, FORMED, PROCESSED, FeedSource
from pipeline.stage import Record

MAX_RECORDS_AHEAD = 64
Row = TypeVar("Row")


class _RowsAhead(Generic[Row]):
    """Rows that were read, and beyond them those of the table."""

    def __init__(self, table: RowTable[Row], keys: Collection[str], rows: Mapping[str, Sequence[Row]]) -> None:
        self._table = table
        self._keys = keys
        self._rows = rows

    async def get(self, entity_keys: Collection[str]) -> Mapping[str, Sequence[Row]]:
        held = {key: self._rows[key] for key in entity_keys if key in self._rows}
        others = {key for key in entity_keys if key not in self._keys}
        return {**held, **await self._table.get(others)} if others else held


async def read_rows_ahead(records: Iterable[tuple[FeedSource, Record[Any]]], tables: FeedTables) -> FeedTables:
    """Return the tables with the rows that the events of these records are made of, as they are now."""
    documents: set[str] = set()
    memories: set[str] = set()
    for source, record in records:
        if source in (EXTRACTED, PROCESSED, FORMED):
            documents.add(record.event.document)
        if source is FORMED:
            memories.update(memory.id for memory in record.event.memories)
        elif source is FORGOTTEN:
            memories.update(record.event.ids)
    return replace(
        tables,
        documents=await _read(tables.documents, documents),
        memories=await _read(tables.memories, memories),
    )


async def _read(table: RowTable[Row], keys: Collection[str]) -> RowTable[Row]:
    return _RowsAhead(table, keys, await table.get(keys)) if keys else table
