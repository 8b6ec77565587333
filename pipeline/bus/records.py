"""Records in bytes, their encoding, and dead letters."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_core import PydanticSerializationError

from pipeline.runtime import correlation
from pipeline.stage import Record, Stage
from schemas.base import Event, format_timestamp, replace_unstorable
from schemas.topics import E, Topic

SEALED_HEADER = "sealed"
"""Header that names the key of a sealed value."""
ERROR_HEADER = "error"
ERROR_TYPE_HEADER = "error-type"
ORIGIN_TOPIC_HEADER = "origin-topic"
ORIGIN_PARTITION_HEADER = "origin-partition"
ORIGIN_OFFSET_HEADER = "origin-offset"
STAGE_HEADER = "stage"
ATTEMPTS_HEADER = "attempts"
DEAD_LETTERED_AT_HEADER = "dead-lettered-at"
REDRIVEN_PARTITION_HEADER = "redriven-partition"
REDRIVEN_OFFSET_HEADER = "redriven-offset"
REDRIVEN_STAGE_HEADER = "redriven-stage"
DEAD_LETTER_HEADERS = frozenset(
    {
        ERROR_HEADER,
        ERROR_TYPE_HEADER,
        ORIGIN_TOPIC_HEADER,
        ORIGIN_PARTITION_HEADER,
        ORIGIN_OFFSET_HEADER,
        STAGE_HEADER,
        ATTEMPTS_HEADER,
        DEAD_LETTERED_AT_HEADER,
    }
)


class DeserializationError(ValueError):
    """A record that does not match its topic's schema; the message is for the operator."""


class ErasedRecordError(DeserializationError):
    """A sealed record whose key was destroyed: it counts as absent, and is not an error."""


class MissingKeyError(DeserializationError):
    """A sealed record whose key is not known here, although nobody destroyed it."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """An undecoded record read from the bus."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: Mapping[str, str]
    timestamp: datetime
    opener: "Callable[[RawRecord], bytes] | None" = field(default=None, compare=False, repr=False)
    """Opens a sealed value; None without keys."""

    @property
    def content(self) -> bytes:
        """The value, opened if it is sealed.

        ErasedRecordError if its key was destroyed, DeserializationError if it can't be opened.
        """
        if SEALED_HEADER not in self.headers:
            return self.value
        if self.opener is None:
            raise MissingKeyError("the record is sealed and no keys are open: see RECOLLECT_SEALING")
        return self.opener(self)

    @property
    def content_if_readable(self) -> bytes:
        """The value, empty if it was erased, and as it is if it is damaged. MissingKeyError."""
        try:
            return self.content
        except ErasedRecordError:
            return b""
        except MissingKeyError:
            raise
        except DeserializationError:
            return self.value


WithOpeners = Callable[[Sequence[RawRecord]], Awaitable[Sequence[RawRecord]]]
"""Returns records with what opens the sealed ones. OutageError if their keys can't be read."""


async def without_openers(records: Sequence[RawRecord]) -> Sequence[RawRecord]:
    """Return records as they are, where no keys are known."""
    return records


@dataclass(frozen=True, slots=True)
class ProducerRecord:
    """An encoded record to be appended to a topic."""

    key: bytes
    value: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that a stage failed on, with the error. `attempts` 0: it could not be decoded."""

    record: RawRecord
    origin: tuple[str, int, int]
    """Topic, partition and offset of the original record."""
    stage: str
    error: str
    error_type: str
    attempts: int
    dead_lettered_at: str

    @property
    def id(self) -> str:
        """Position of the dead letter itself: `<topic>.dlq/<partition>/<offset>`."""
        return f"{self.record.topic}/{self.record.partition}/{self.record.offset}"

    @classmethod
    def from_record(cls, record: RawRecord) -> "DeadLetter":
        """Parse a record of a `.dlq` topic."""
        headers = record.headers
        return cls(
            record=record,
            origin=(
                headers[ORIGIN_TOPIC_HEADER],
                int(headers[ORIGIN_PARTITION_HEADER]),
                int(headers[ORIGIN_OFFSET_HEADER]),
            ),
            stage=headers[STAGE_HEADER],
            error=headers[ERROR_HEADER],
            error_type=headers[ERROR_TYPE_HEADER],
            attempts=int(headers[ATTEMPTS_HEADER]),
            dead_lettered_at=headers[DEAD_LETTERED_AT_HEADER],
        )

    def to_redriven(self) -> ProducerRecord:
        """Return the record for a retry, with its original position: it never overrides newer records."""
        kept = {name: value for name, value in self.record.headers.items() if name not in DEAD_LETTER_HEADERS}
        _, partition, offset = self.origin
        headers = {
            **kept,
            REDRIVEN_PARTITION_HEADER: str(partition),
            REDRIVEN_OFFSET_HEADER: str(offset),
            REDRIVEN_STAGE_HEADER: self.stage,
        }
        return ProducerRecord(self.record.key, self.record.value, headers)


def dead_letter_record(
    raw: RawRecord, *, stage: str, error: str, error_type: str, attempts: int, now: datetime
) -> ProducerRecord:
    """Return the record for the dead letter queue: the original with headers that describe the failure."""
    partition, offset = origin_position(raw)
    headers = {
        **raw.headers,
        ERROR_HEADER: error,
        ERROR_TYPE_HEADER: error_type,
        ORIGIN_TOPIC_HEADER: raw.topic,
        ORIGIN_PARTITION_HEADER: str(partition),
        ORIGIN_OFFSET_HEADER: str(offset),
        STAGE_HEADER: stage,
        ATTEMPTS_HEADER: str(attempts),
        DEAD_LETTERED_AT_HEADER: format_timestamp(now),
    }
    return ProducerRecord(raw.key, raw.value, headers)


def encode(entries: Sequence[tuple[str, E]]) -> list[ProducerRecord]:
    """Encode (key, event) pairs as JSON, with the headers of the current request."""
    return [
        ProducerRecord(key.encode(), _to_json(event), correlation.correlation_headers(event)) for key, event in entries
    ]


def _to_json(event: Event) -> bytes:
    try:
        return event.model_dump_json().encode()
    except PydanticSerializationError:
        # A language model or a provider can write half of a surrogate pair, which no record can hold.
        return json.dumps(_storable(event.model_dump(mode="json"))).encode()


def _storable(value: Any) -> Any:
    match value:
        case str():
            return replace_unstorable(value)
        case dict():
            return {name: _storable(item) for name, item in value.items()}
        case list():
            return [_storable(item) for item in value]
    return value


async def select_dead_letters(
    letters: AsyncGenerator[DeadLetter, None], limit: int, ids: Collection[str] | None = None
) -> list[DeadLetter]:
    """Collect up to `limit` dead letters, those with these ids if given."""
    selected: list[DeadLetter] = []
    async with aclosing(letters):
        while len(selected) < limit and (letter := await anext(letters, None)) is not None:
            if ids is None or letter.id in ids:
                selected.append(letter)
    return selected


def decode(topic: Topic[E], raw: RawRecord) -> Record[E]:
    """Decode a record; ValueError if key, value or headers do not match the topic's schema."""
    for name, value in raw.headers.items():
        if not value.isascii():
            _require_utf8(name, value)
    partition, offset = origin_position(raw)
    return Record(
        topic=raw.topic,
        partition=partition,
        offset=offset,
        key=raw.key.decode(),
        event=topic.event_type.model_validate_json(raw.content),
        timestamp=raw.timestamp,
        headers=raw.headers,
        redriven=REDRIVEN_OFFSET_HEADER in raw.headers,
        log_offset=raw.offset,
    )


def _require_utf8(header: str, value: str) -> None:
    """Raise DeserializationError for lone surrogates, which stand for bytes that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DeserializationError(f"the header {header} is not UTF-8") from error


def decode_batch(stage: Stage[E], batch: Sequence[RawRecord]) -> list[Record[E]]:
    """Decode a batch, skipping undecodable records: they are dead-lettered on delivery."""
    records = []
    for raw in records_for_stage(stage, batch):
        with suppress(ValueError):
            records.append(decode(stage.source, raw))
    return records


def records_for_stage(stage: Stage[E], batch: Sequence[RawRecord]) -> list[RawRecord]:
    """Drop records that were redriven for another stage; this one has handled the originals."""
    return [raw for raw in batch if raw.headers.get(REDRIVEN_STAGE_HEADER, stage.name) == stage.name]


def origin_position(raw: RawRecord) -> tuple[int, int]:
    """Return partition and offset; of a redriven record, those of the original."""
    partition = raw.headers.get(REDRIVEN_PARTITION_HEADER, "")
    offset = raw.headers.get(REDRIVEN_OFFSET_HEADER, "")
    if partition.isdecimal() and offset.isdecimal():
        return int(partition), int(offset)
    return raw.partition, raw.offset
