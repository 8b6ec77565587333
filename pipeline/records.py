"""Records as a bus holds them: events in bytes, and dead letters with why they were parked."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)

ERROR = "error"
ERROR_TYPE = "error-type"
ORIGIN_TOPIC = "origin-topic"
ORIGIN_PARTITION = "origin-partition"
ORIGIN_OFFSET = "origin-offset"
STAGE = "stage"
ATTEMPTS = "attempts"
PARKED_AT = "parked-at"
REDRIVEN_PARTITION = "redriven-partition"
REDRIVEN_OFFSET = "redriven-offset"
REDRIVEN_STAGE = "redriven-stage"
PARKING = frozenset(
    {ERROR, ERROR_TYPE, ORIGIN_TOPIC, ORIGIN_PARTITION, ORIGIN_OFFSET, STAGE, ATTEMPTS, PARKED_AT}
)


class UnreadableError(ValueError):
    """A record that is not what its topic promises, in words for people."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as the bus holds it: nothing decoded, so nothing can be lost in decoding."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: Mapping[str, str]
    at: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """What is appended to a topic."""

    key: bytes
    value: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A parked record and why it was parked. `attempts` 0: it could not even be decoded."""

    record: RawRecord
    origin: tuple[str, int, int]
    """Topic, partition and offset where it was first read."""
    stage: str
    error: str
    error_type: str
    attempts: int
    parked_at: str

    @property
    def id(self) -> str:
        """Its own place in the log: `<topic>.dlq/<partition>/<offset>`."""
        return f"{self.record.topic}/{self.record.partition}/{self.record.offset}"

    @classmethod
    def read(cls, record: RawRecord) -> "DeadLetter":
        """From a record of a `.dlq` topic."""
        headers = record.headers
        return cls(
            record=record,
            origin=(
                headers[ORIGIN_TOPIC],
                int(headers[ORIGIN_PARTITION]),
                int(headers[ORIGIN_OFFSET]),
            ),
            stage=headers[STAGE],
            error=headers[ERROR],
            error_type=headers[ERROR_TYPE],
            attempts=int(headers[ATTEMPTS]),
            parked_at=headers[PARKED_AT],
        )

    def redriven(self) -> Entry:
        """The record for another try, at its first place in the log: it never overtakes newer ones."""
        headers = {name: value for name, value in self.record.headers.items() if name not in PARKING}
        _, partition, offset = self.origin
        headers |= {
            REDRIVEN_PARTITION: str(partition),
            REDRIVEN_OFFSET: str(offset),
            REDRIVEN_STAGE: self.stage,
        }
        return Entry(self.record.key, self.record.value, headers)


def decode(topic: Topic[E], raw: RawRecord) -> Record[E]:
    """The event in its envelope; ValueError when key, value or headers are not what the topic promises."""
    for name, value in raw.headers.items():
        if not value.isascii():
            _see_that_it_is_text(name, value)
    partition, offset = place_of(raw)
    return Record(
        topic=raw.topic,
        partition=partition,
        offset=offset,
        key=raw.key.decode(),
        event=topic.event.model_validate_json(raw.value),
        at=raw.at,
        headers=raw.headers,
        redriven=REDRIVEN_OFFSET in raw.headers,
    )


def _see_that_it_is_text(header: str, value: str) -> None:
    """A bus hands over bytes that are no UTF-8 as lone surrogates, so that none are lost."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UnreadableError(f"the header {header} is no UTF-8") from error


def decoded(stage: Stage[E], batch: Sequence[RawRecord]) -> list[Record[E]]:
    """What can be decoded of a batch; the rest is parked when it is delivered."""
    records = []
    for raw in meant_for(stage, batch):
        with suppress(ValueError):
            records.append(decode(stage.source, raw))
    return records


def meant_for(stage: Stage[E], batch: Sequence[RawRecord]) -> list[RawRecord]:
    """Without what was given back to another stage: this one has had the record at its first place."""
    return [raw for raw in batch if raw.headers.get(REDRIVEN_STAGE, stage.name) == stage.name]


def place_of(raw: RawRecord) -> tuple[int, int]:
    """Partition and offset; a redriven record stands at its first place, as if delivered once more."""
    partition, offset = raw.headers.get(REDRIVEN_PARTITION, ""), raw.headers.get(REDRIVEN_OFFSET, "")
    if partition.isdecimal() and offset.isdecimal():
        return int(partition), int(offset)
    return raw.partition, raw.offset
