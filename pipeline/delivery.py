"""The delivery policy, once for both buses: decode, retry, isolate, park, or stop loudly."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from pydantic import ValidationError

from pipeline.errors import RejectedError, RetryableError
from pipeline.ports import Clock, Position
from pipeline.stage import Record, Stage
from schemas.base import Event, timestamp

E = TypeVar("E", bound=Event)
log = logging.getLogger(__name__)

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
PARKING = frozenset(
    {ERROR, ERROR_TYPE, ORIGIN_TOPIC, ORIGIN_PARTITION, ORIGIN_OFFSET, STAGE, ATTEMPTS, PARKED_AT}
)
ERROR_LENGTH = 2000


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


class Appender(Protocol):
    """Raw bytes to a topic by name, durable on return."""

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]: ...


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
        headers |= {REDRIVEN_PARTITION: str(partition), REDRIVEN_OFFSET: str(offset)}
        return Entry(self.record.key, self.record.value, headers)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often something is tried, and how many seconds are waited in between: doubling, with jitter."""

    attempts: int = 8
    first: float = 0.2
    ceiling: float = 30.0

    def delay(self, attempt: int, jitter: float) -> float:
        """Seconds after the attempt-th failure (from 1); `jitter` in 0..1 takes away up to half."""
        return min(self.ceiling, self.first * 2.0 ** (attempt - 1)) * (1 - jitter / 2)


@dataclass(frozen=True, slots=True)
class _Pair(Generic[E]):
    raw: RawRecord
    record: Record[E]


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception
    attempts: int


class Delivery:
    """Hands batches to stages so that every record ends up handled, parked, or as a loud stop."""

    def __init__(
        self,
        dead_letters: Appender,
        clock: Clock,
        patience: Patience,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._dead_letters = dead_letters
        self._clock = clock
        self._patience = patience
        self._sleep = sleep
        self._jitter = jitter

    async def deliver(self, stage: Stage[E], batch: Sequence[RawRecord]) -> None:
        """Returning means that the batch may be committed. Unforeseen errors of the stage escape."""
        pairs: list[_Pair[E]] = []
        for raw in batch:
            try:
                pairs.append(_Pair(raw, decode(stage, raw)))
            except ValueError as error:
                await self._park(stage, raw, _Failure(error, 0))
        if pairs:
            await self._handle(stage, pairs)

    async def _handle(self, stage: Stage[E], pairs: Sequence[_Pair[E]]) -> None:
        failure = await self._attempt(stage, [pair.record for pair in pairs])
        if failure is None:
            return
        if len(pairs) == 1:
            await self._park(stage, pairs[0].raw, failure)
            return
        for pair in pairs:
            await self._handle(stage, [pair])

    async def _attempt(self, stage: Stage[E], records: Sequence[Record[E]]) -> _Failure | None:
        attempt = 0
        while True:
            attempt += 1
            try:
                await stage.handle(records)
            except RejectedError as error:
                return _Failure(error, attempt)
            except RetryableError as error:
                if attempt == self._patience.attempts:
                    return _Failure(error, attempt)
                log.info("%s: attempt %d of %s: %s", stage.name, attempt, _span(records), error)
            else:
                return None
            await self._sleep(self._patience.delay(attempt, self._jitter()))

    async def _park(self, stage: Stage[E], raw: RawRecord, failure: _Failure) -> None:
        partition, offset = _place(raw)
        error = _message(failure.error)
        headers = {
            **raw.headers,
            ERROR: error,
            ERROR_TYPE: type(failure.error).__name__,
            ORIGIN_TOPIC: raw.topic,
            ORIGIN_PARTITION: str(partition),
            ORIGIN_OFFSET: str(offset),
            STAGE: stage.name,
            ATTEMPTS: str(failure.attempts),
            PARKED_AT: timestamp(self._clock.now()),
        }
        topic = stage.source.dead_letters
        await self._dead_letters.append(topic, [Entry(raw.key, raw.value, headers)])
        log.warning("%s: parked %s/%d/%d: %s", stage.name, raw.topic, partition, offset, error)


def decode(stage: Stage[E], raw: RawRecord) -> Record[E]:
    """The event in its envelope; ValueError when key or value are not what the topic promises."""
    partition, offset = _place(raw)
    return Record(
        topic=raw.topic,
        partition=partition,
        offset=offset,
        key=raw.key.decode(),
        event=stage.source.event.model_validate_json(raw.value),
        at=raw.at,
        headers=raw.headers,
    )


def _place(raw: RawRecord) -> tuple[int, int]:
    """Partition and offset; a redriven record stands at its first place, as if delivered once more."""
    partition, offset = raw.headers.get(REDRIVEN_PARTITION, ""), raw.headers.get(REDRIVEN_OFFSET, "")
    if partition.isdecimal() and offset.isdecimal():
        return int(partition), int(offset)
    return raw.partition, raw.offset


def _message(error: Exception) -> str:
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        text = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults)
    else:
        text = str(error) or type(error).__name__
    # A header must be valid UTF-8 on either bus, and a message may quote anything.
    return text[:ERROR_LENGTH].encode(errors="backslashreplace").decode()


def _span(records: Sequence[Record[E]]) -> str:
    first = records[0]
    return f"{first.topic}/{first.partition} from {first.offset}, {len(records)} records"
