"""Rows of many records: read in one go, and those of the table for everything else."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from api.feed.feed_events import FeedTables
from api.feed.feed_sources import EXTRACTED, FORGOTTEN, SUBMITTED
from api.feed.rows_ahead import read_rows_ahead
from pipeline.stage import Record
from schemas.events import Content, DocumentExtracted, MemoriesForgotten

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class _Table:
    """Rows by key, which notes each reading."""

    def __init__(self, *keys: str) -> None:
        self.rows = {key: [f"row of {key}"] for key in keys}
        self.readings: list[set[str]] = []

    async def get(self, entity_keys: Collection[str]) -> Mapping[str, Sequence[Any]]:
        self.readings.append(set(entity_keys))
        return {key: self.rows[key] for key in entity_keys if key in self.rows}


def _tables(documents: _Table, memories: _Table) -> FeedTables:
    return FeedTables(catalog=cast("Any", None), documents=documents, memories=memories, generation=1)


def _record(offset: int, event: Any) -> Record[Any]:
    return Record(topic="topic", partition=0, offset=offset, key="", event=event, timestamp=NOW, headers={})


def _extracted(offset: int) -> Record[Any]:
    document = f"alice#1/{offset}"
    text = Content(text="A line.")
    return _record(
        offset,
        DocumentExtracted(
            incarnation="alice#1", document=document, id=str(offset), seq=offset, at=NOW, text=text, type="text"
        ),
    )


async def test_the_rows_of_many_records_are_one_reading() -> None:
    documents, memories = _Table("alice#1/0", "alice#1/2"), _Table()
    ahead = await read_rows_ahead(
        [(EXTRACTED, _extracted(offset)) for offset in range(3)], _tables(documents, memories)
    )
    assert [set(await ahead.documents.get({f"alice#1/{number}"})) for number in range(3)] == [
        {"alice#1/0"},
        set(),
        {"alice#1/2"},
    ]
    assert documents.readings == [{"alice#1/0", "alice#1/1", "alice#1/2"}]
    assert memories.readings == []


async def test_other_rows_come_from_the_table() -> None:
    documents, memories = _Table(), _Table("one", "two")
    forgotten = MemoriesForgotten(incarnation="alice#1", ids=["one"], at=NOW)
    ahead = await read_rows_ahead([(FORGOTTEN, _record(0, forgotten))], _tables(documents, memories))
    assert set(await ahead.memories.get({"one", "two"})) == {"one", "two"}
    assert memories.readings == [{"one"}, {"two"}]


async def test_records_without_rows_read_nothing() -> None:
    documents, memories = _Table(), _Table()
    await read_rows_ahead([(SUBMITTED, _record(0, None))], _tables(documents, memories))
    assert documents.readings == memories.readings == []
