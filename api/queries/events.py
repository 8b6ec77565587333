"""Finding the events behind a row: by their place where the row knows it, else among what came after."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from api.ports import History
from pipeline.records import RawRecord, decode
from pipeline.rows import DocumentRow, Statement
from pipeline.stage import Record
from pipeline.tracing import REQUEST_ID
from schemas.base import Event, timestamp
from schemas.events import DocumentExtracted, DocumentSubmitted, MemoriesForgotten, MemoriesFormed
from schemas.http.explain import LogEvent
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    Topic,
)

E = TypeVar("E", bound=Event)
LOOKED_AT = 20_000
"""Records of a partition among which an effect is looked for, from its cause on."""


@dataclass(frozen=True, slots=True)
class Trail:
    """Reads the log. What it does not find is None: it was removed, or lies further on than is looked."""

    history: History

    async def submission(self, row: DocumentRow, seq: int) -> Record[DocumentSubmitted] | None:
        """The submission of a document at this offset."""
        raw = await self.history.record(DOCUMENTS_SUBMITTED.name, _key(row), seq) if seq >= 0 else None
        record = None if raw is None else _decoded(DOCUMENTS_SUBMITTED, raw)
        return record if record is not None and record.event.document == row.key else None

    async def submissions(self, row: DocumentRow) -> list[Record[DocumentSubmitted]]:
        """All that was done to a document, as far as is looked."""
        found = self._about(DOCUMENTS_SUBMITTED, _key(row), row.created_at, row.key)
        async with aclosing(found):
            return [record async for record in found if record.event.document == row.key]

    async def extraction(
        self, row: DocumentRow, submission: Record[DocumentSubmitted]
    ) -> Record[DocumentExtracted] | None:
        """The text that was made of this submission."""
        return await self._first(
            DOCUMENTS_EXTRACTED,
            _key(row),
            submission.at,
            row.key,
            lambda event: event.document == row.key and event.seq == submission.offset,
        )

    async def forming(
        self, row: DocumentRow, submission: Record[DocumentSubmitted]
    ) -> Record[MemoriesFormed] | None:
        """The memories that were formed of this submission's text."""
        return await self._first(
            MEMORIES_FORMED,
            row.space,
            submission.at,
            row.key,
            lambda event: event.document == row.key and event.seq == submission.offset,
        )

    async def forgetting(
        self, space: str, memory: str, statement: Statement
    ) -> Record[MemoriesForgotten] | None:
        """What hid a memory; what was over by its own words when it was said has none."""
        at = statement.forgotten_at
        if at is None:
            return None
        return await self._first(
            MEMORIES_FORGOTTEN, space, at, memory, lambda event: memory in event.ids and event.at == at
        )

    async def _first(
        self, topic: Topic[E], key: str, since: datetime, said: str, wanted: Callable[[E], bool]
    ) -> Record[E] | None:
        found = self._about(topic, key, since, said)
        async with aclosing(found):
            async for record in found:
                if wanted(record.event):
                    return record
        return None

    async def _about(
        self, topic: Topic[E], key: str, since: datetime, said: str
    ) -> AsyncGenerator[Record[E], None]:
        """Records whose bytes hold these words: few are worth decoding."""
        looked, words = 0, said.encode()
        async with aclosing(self.history.since(topic.name, key, since)) as records:
            async for raw in records:
                looked += 1
                if looked > LOOKED_AT:
                    return
                if words in raw.value and (record := _decoded(topic, raw)) is not None:
                    yield record


def shown(
    stage: Literal["submit", "extract", "memories", "forget"], record: Record[Any], **details: Any
) -> LogEvent:
    """A record as an answer shows it."""
    request = record.headers.get(REQUEST_ID)
    return LogEvent(
        stage=stage,
        id=f"{record.topic}/{record.partition}/{record.offset}",
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        at=timestamp(record.event.at),
        recorded_at=timestamp(record.at),
        **({} if request is None else {"request_id": request}),
        **{name: value for name, value in details.items() if value is not None},
    )


def submitted(record: Record[DocumentSubmitted]) -> LogEvent:
    """A submission as an answer shows it."""
    return shown("submit", record, operation=record.event.operation)


def _key(row: DocumentRow) -> str:
    return f"{row.space}/{row.key}"


def _decoded(topic: Topic[E], raw: RawRecord) -> Record[E] | None:
    try:
        return decode(topic, raw)
    except ValueError:  # it was parked: no row comes from it
        return None
