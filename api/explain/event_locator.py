"""Finding the events behind a row: by their place where the row knows it, else among what came after."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from pipeline.bus.port import Bus
from pipeline.bus.records import RawRecord, decode
from pipeline.rows import DocumentRow, ProvenanceEntry
from pipeline.runtime.correlation import REQUEST_ID_HEADER
from pipeline.stage import Record
from schemas.base import Event, format_timestamp, without_none
from schemas.events import DocumentExtracted, DocumentSubmitted, MemoriesForgotten, MemoriesFormed
from schemas.http.extensions.explain_bodies import LogRecordResponse
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED, MEMORIES_FORGOTTEN, MEMORIES_FORMED, Topic

E = TypeVar("E", bound=Event)
MAX_SCANNED_RECORDS = 20_000
"""Records of a partition among which an effect is looked for, from its cause on."""


@dataclass(frozen=True, slots=True)
class EventLocator:
    """Reads the log. Events that it does not find are None: they were removed, or lie beyond the records read."""

    log: Bus

    async def submission(self, row: DocumentRow, seq: int) -> Record[DocumentSubmitted] | None:
        raw = await self.log.read_record(DOCUMENTS_SUBMITTED.name, _partition_key(row), seq) if seq >= 0 else None
        record = None if raw is None else _decode_or_none(DOCUMENTS_SUBMITTED, raw)
        return record if record is not None and record.event.document == row.key else None

    async def submissions(self, row: DocumentRow) -> list[Record[DocumentSubmitted]]:
        """All that was done to a document, as far as is looked."""
        found = self._scan_partition(DOCUMENTS_SUBMITTED, _partition_key(row), row.created_at, row.key)
        async with aclosing(found):
            return [record async for record in found if record.event.document == row.key]

    async def extraction(
        self, row: DocumentRow, submission: Record[DocumentSubmitted]
    ) -> Record[DocumentExtracted] | None:
        return await self._find_first(
            DOCUMENTS_EXTRACTED,
            _partition_key(row),
            submission.timestamp,
            row.key,
            lambda event: event.document == row.key and event.seq == submission.offset,
        )

    async def memory_formation(
        self, row: DocumentRow, submission: Record[DocumentSubmitted]
    ) -> Record[MemoriesFormed] | None:
        return await self._find_first(
            MEMORIES_FORMED,
            row.incarnation,
            submission.timestamp,
            row.key,
            lambda event: event.document == row.key and event.seq == submission.offset,
        )

    async def memory_forgetting(
        self, incarnation: str, memory_id: str, statement: ProvenanceEntry
    ) -> Record[MemoriesForgotten] | None:
        """The event that forgot a memory; a memory that expired by its own text has none."""
        at = statement.forgotten_at
        if at is None:
            return None
        return await self._find_first(
            MEMORIES_FORGOTTEN, incarnation, at, memory_id, lambda event: memory_id in event.ids and event.at == at
        )

    async def _find_first(
        self, topic: Topic[E], key: str, since: datetime, needle: str, matches: Callable[[E], bool]
    ) -> Record[E] | None:
        found = self._scan_partition(topic, key, since, needle)
        async with aclosing(found):
            async for record in found:
                if matches(record.event):
                    return record
        return None

    async def _scan_partition(
        self, topic: Topic[E], key: str, since: datetime, needle: str
    ) -> AsyncGenerator[Record[E], None]:
        """Records whose bytes hold these words: few are worth decoding."""
        looked, words = 0, needle.encode()
        async with aclosing(self.log.records_since(topic.name, key, since)) as records:
            async for raw in records:
                looked += 1
                if looked > MAX_SCANNED_RECORDS:
                    return
                if words in _content_or_empty(raw) and (record := _decode_or_none(topic, raw)) is not None:
                    yield record


def to_log_event(
    stage: Literal["submit", "extract", "memories", "forget"], record: Record[Any], **details: Any
) -> LogRecordResponse:
    return LogRecordResponse(
        stage=stage,
        id=f"{record.topic}/{record.partition}/{record.offset}",
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        at=format_timestamp(record.event.at),
        recorded_at=format_timestamp(record.timestamp),
        **without_none(request_id=record.headers.get(REQUEST_ID_HEADER), **details),
    )


def submission_log_event(record: Record[DocumentSubmitted]) -> LogRecordResponse:
    return to_log_event("submit", record, operation=record.event.operation)


def _partition_key(row: DocumentRow) -> str:
    return f"{row.incarnation}/{row.key}"


def _content_or_empty(raw: RawRecord) -> bytes:
    try:
        return raw.content
    except ValueError:  # erased, or without its key
        return b""


def _decode_or_none(topic: Topic[E], raw: RawRecord) -> Record[E] | None:
    try:
        return decode(topic, raw)
    except ValueError:  # it was dead-lettered: no row comes from it
        return None
