"""The delivery policy, once for both buses: decode, retry, isolate, park, or stop loudly."""

import asyncio
import errno
import logging
import random
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar

from pydantic import ValidationError

from pipeline import logs, tracing
from pipeline.errors import OutageError, RejectedError, RetryableError, StageFaultError
from pipeline.observing import Observer, Unobserved
from pipeline.pauses import doubling
from pipeline.ports import Clock, Position
from pipeline.records import (
    ATTEMPTS,
    ERROR,
    ERROR_TYPE,
    ORIGIN_OFFSET,
    ORIGIN_PARTITION,
    ORIGIN_TOPIC,
    PARKED_AT,
    STAGE,
    Entry,
    RawRecord,
    UnreadableError,
    decode,
    meant_for,
    place_of,
)
from pipeline.stage import Record, Stage
from schemas.base import Event, timestamp

E = TypeVar("E", bound=Event)
log = logging.getLogger(__name__)

ERROR_LENGTH = 2000
CHANCES = 3
"""How often a record is tried that a stage fails on without knowing why."""
FAULTS = 20
"""So many records in a row that a stage fails on without knowing why are no longer the records' fault."""
REST_SECONDS = 5.0
"""The longest pause while waiting for something that no record is to blame for."""
_OUTAGES = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
        errno.EMFILE, errno.ENFILE, errno.ENOMEM,
    }
)  # fmt: skip
"""What the system answers when the disk is full or a folder can't be written, whatever the record."""


class Appender(Protocol):
    """Raw bytes to a topic by name, durable on return."""

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]: ...


@dataclass(frozen=True, slots=True)
class Patience:
    """How often something is tried, and how many seconds are waited in between: doubling, with jitter."""

    attempts: int = 16
    first: float = 0.2
    ceiling: float = 30.0

    def delay(self, attempt: int, jitter: float) -> float:
        """Seconds after the attempt-th failure (from 1); `jitter` in 0..1 takes away up to half."""
        return doubling(self.first, attempt, self.ceiling) * (1 - jitter / 2)


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
        observer: Observer | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._dead_letters = dead_letters
        self._clock = clock
        self._patience = patience
        self._observer = observer or Unobserved()
        self._sleep = sleep
        self._jitter = jitter
        self._faults: Counter[str] = Counter()

    async def deliver(self, stage: Stage[E], batch: Sequence[RawRecord]) -> None:
        """Returning means that the batch may be committed.

        StageFaultError when the stage fails on whatever it is given; other errors come from parking.
        """
        place = (stage.name, batch[0].partition) if batch else (stage.name, 0)
        self._observer.began(*place)
        try:
            await self._deliver(stage, batch)
        finally:
            self._observer.ended(*place)

    async def _deliver(self, stage: Stage[E], batch: Sequence[RawRecord]) -> None:
        pairs: list[_Pair[E]] = []
        for raw in meant_for(stage, batch):
            try:
                pairs.append(_Pair(raw, decode(stage.source, raw)))
            except ValueError as error:
                await self._park(stage, raw, _Failure(error, 0))
        if pairs:
            await self._handle(stage, pairs)

    async def _handle(self, stage: Stage[E], pairs: Sequence[_Pair[E]]) -> None:
        records = [pair.record for pair in pairs]
        began = perf_counter()
        with tracing.within(_origins(records)):
            failure = await self._attempt(stage, records)
        if failure is None:
            self._faults[stage.name] = 0
            self._handled(stage, records, perf_counter() - began)
        elif len(pairs) > 1:
            for pair in pairs:
                await self._handle(stage, [pair])
        else:
            await self._give_up(stage, pairs[0], failure)

    def _handled(self, stage: Stage[E], records: Sequence[Record[E]], seconds: float) -> None:
        self._observer.handled(stage.name, records, seconds, self._clock.now())
        if logs.TRAIL.isEnabledFor(logging.INFO):
            for record in records:
                logs.trail("handled", **_fields(stage, record), seconds=round(seconds, 6))

    async def _attempt(self, stage: Stage[E], records: Sequence[Record[E]]) -> _Failure | None:
        attempt = 0
        while True:
            attempt += 1
            failure = await self._try(stage, records, attempt)
            if failure is None or attempt >= self._most(failure.error, len(records)):
                return failure
            self._observer.waits(stage.name, records[0].partition, failure.error)
            log.info("%s: attempt %d of %s: %s", stage.name, attempt, _span(records), _message(failure.error))
            await self._sleep(self._patience.delay(attempt, self._jitter()))

    async def _try(self, stage: Stage[E], records: Sequence[Record[E]], attempt: int) -> _Failure | None:
        """Once, or as often as it takes while no record is to blame."""
        pause = 0
        while True:
            try:
                await stage.handle(records)
            except Exception as error:
                # Of whatever kind: one record must not end the service (decision 0014).
                if _is_cancelled():
                    raise
                if not _is_outage(error):
                    return _Failure(error, attempt)
                pause += 1
                self._observer.waits(stage.name, records[0].partition, error)
                await self._rest(f"{stage.name} waits with {_span(records)}", error, pause)
            else:
                return None

    def _most(self, error: Exception, records: int) -> int:
        if isinstance(error, RejectedError):
            return 1
        if isinstance(error, RetryableError):
            return self._patience.attempts
        return 1 if records > 1 else CHANCES

    async def _rest(self, what: str, error: Exception, pause: int) -> None:
        log.error("%s: %s", what, error)
        await self._sleep(min(REST_SECONDS, self._patience.delay(pause, self._jitter())))

    async def _give_up(self, stage: Stage[E], pair: _Pair[E], failure: _Failure) -> None:
        """Tell whom it concerns, park the record, and stop where it is the stage that fails."""
        foreseen = isinstance(failure.error, RejectedError | RetryableError)
        if not foreseen:
            extra = {"fields": _fields(stage, pair.record)}
            log.error("%s fails on %s", stage.name, _span([pair.record]), exc_info=failure.error, extra=extra)
        if stage.give_up is not None:
            await stage.give_up(pair.record, _reason(failure.error))
        await self._park(stage, pair.raw, failure)
        self._faults[stage.name] = 0 if foreseen else self._faults[stage.name] + 1
        if self._faults[stage.name] >= FAULTS:
            raise StageFaultError(
                f"Stage {stage.name} failed on {FAULTS} records in a row, so it is not the records that are"
                " wrong. They are dead letters and their documents are failed; `recollect dlq replay` gives"
                f" them back once the cause is gone. The last error was {_summary(failure.error)}",
                pair.raw.offset,
            ) from failure.error

    async def _park(self, stage: Stage[E], raw: RawRecord, failure: _Failure) -> None:
        partition, offset = place_of(raw)
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
        await self._append(stage.source.dead_letters, Entry(raw.key, raw.value, headers))
        self._observer.parked(stage.name)
        fields = _place_fields(stage, raw.topic, partition, offset, raw.headers)
        event = fields["event"]
        log.warning("%s: parked %s: %s", stage.name, event, error, extra={"fields": fields})

    async def _append(self, topic: str, entry: Entry) -> None:
        """A dead letter that can't be written now is written later: nothing else may go on before."""
        pause = 0
        while True:
            try:
                await self._dead_letters.append(topic, [entry])
            except OutageError as error:
                pause += 1
                await self._rest(f"A dead letter waits for {topic}", error, pause)
            else:
                return


def _message(error: Exception) -> str:
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        text = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults)
    elif isinstance(error, RejectedError | RetryableError | UnreadableError):
        text = str(error) or type(error).__name__
    else:
        text = _summary(error)
    # A header must be valid UTF-8 on either bus, and a message may quote anything.
    return text[:ERROR_LENGTH].encode(errors="backslashreplace").decode()


def _summary(error: Exception) -> str:
    """What an engineer needs first: the error, and where it came from, innermost call first."""
    calls = reversed(traceback.extract_tb(error.__traceback__)[-6:])
    places = " < ".join(f"{call.name} ({Path(call.filename).name}:{call.lineno})" for call in calls)
    return f"{type(error).__name__}: {error} [{places}]"


def _reason(error: Exception) -> str:
    """The same for the people whose document it is."""
    if isinstance(error, RejectedError | RetryableError):
        return _message(error)
    return (
        f"An unforeseen error of the service ({type(error).__name__}). The operator finds it among the dead"
        " letters, and can have it tried again with `recollect dlq replay`."
    )


def _is_outage(error: Exception) -> bool:
    return isinstance(error, OutageError) or (isinstance(error, OSError) and error.errno in _OUTAGES)


def _is_cancelled() -> bool:
    """Whether this task is being cancelled: what is closed then fails in its own ways."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _origins(records: Sequence[Record[E]]) -> tracing.Origins:
    return tracing.origins((record.event, record.offset, record.headers) for record in records)


def _fields(stage: Stage[E], record: Record[E]) -> dict[str, Any]:
    return _place_fields(stage, record.topic, record.partition, record.offset, record.headers)


def _place_fields(
    stage: Stage[E], topic: str, partition: int, offset: int, headers: Mapping[str, str]
) -> dict[str, Any]:
    """What a log line says about a record. Its place is its id: nothing else has the same."""
    return {
        "request_id": headers.get(tracing.REQUEST_ID),
        "event": f"{topic}/{partition}/{offset}",
        "stage": stage.name,
        "topic": topic,
        "partition": partition,
        "offset": offset,
    }


def _span(records: Sequence[Record[E]]) -> str:
    first = records[0]
    return f"{first.topic}/{first.partition} from {first.offset}, {len(records)} records"
