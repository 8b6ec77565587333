"""Delivery policy of both buses: decode, retry, isolate bad records, dead-letter, or stop with an error."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Protocol

from pipeline.bus.failure_messages import error_message, error_with_call_chain, is_outage, reason_for_users
from pipeline.bus.observer import NullObserver, Observer
from pipeline.bus.records import (
    ErasedRecordError,
    ProducerRecord,
    RawRecord,
    dead_letter_record,
    decode,
    origin_position,
    records_for_stage,
)
from pipeline.errors import OutageError, RejectedError, RetryableError, StageFaultError
from pipeline.ports import Clock, Position
from pipeline.runtime import correlation, log_format
from pipeline.runtime.backoff import exponential_backoff
from pipeline.stage import Record, Stage
from schemas.topics import E

log = logging.getLogger(__name__)

UNEXPECTED_ERROR_ATTEMPTS = 3
"""Attempts for a record that raises an unexpected error."""
CIRCUIT_BREAKER_THRESHOLD = 20
"""Number of unexpected errors in a row after which the stage is considered broken, not the records."""
MAX_OUTAGE_PAUSE_SECONDS = 5.0
"""Maximum pause between attempts during an outage."""


class RawPublisher(Protocol):
    """Publisher of raw records to a topic by name, durable on return."""

    async def append(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]: ...


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Maximum number of attempts and the delays between them, in seconds: exponential, with jitter."""

    max_attempts: int = 16
    initial_delay: float = 0.2
    max_delay: float = 30.0

    def delay(self, attempt: int, jitter: float) -> float:
        """Return the seconds to wait after attempt `attempt` (from 1); `jitter` (0..1) cuts up to half."""
        return exponential_backoff(self.initial_delay, attempt, self.max_delay) * (1 - jitter / 2)


@dataclass(frozen=True, slots=True)
class _DecodedRecord(Generic[E]):
    raw: RawRecord
    record: Record[E]


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception
    attempts: int


class Delivery:
    """Passes batches to stages so that every record is handled or dead-lettered, or the stage stops."""

    def __init__(
        self,
        dead_letter_publisher: RawPublisher,
        clock: Clock,
        retry_policy: RetryPolicy,
        *,
        observer: Observer | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._dead_letter_publisher = dead_letter_publisher
        self._clock = clock
        self._retry_policy = retry_policy
        self._observer = observer or NullObserver()
        self._sleep = sleep
        self._jitter = jitter
        self._consecutive_faults: Counter[str] = Counter()

    async def deliver(self, stage: Stage[E], batch: Sequence[RawRecord]) -> None:
        """Handle or dead-letter every record; the batch may be committed on return.

        StageFaultError if the stage fails on every record; other errors come from writing dead letters.
        """
        partition = batch[0].partition if batch else 0
        self._observer.on_batch_start(stage.name, partition)
        try:
            await self._decode_and_handle(stage, batch)
        finally:
            self._observer.on_batch_end(stage.name, partition)

    async def _decode_and_handle(self, stage: Stage[E], batch: Sequence[RawRecord]) -> None:
        pairs: list[_DecodedRecord[E]] = []
        for raw in records_for_stage(stage, batch):
            try:
                pairs.append(_DecodedRecord(raw, decode(stage.source, raw)))
            except ErasedRecordError:
                self._observer.on_erased(stage.name)
            except ValueError as error:
                await self._send_to_dlq(stage, raw, _Failure(error, 0))
        if pairs:
            await self._handle_isolating_failures(stage, pairs)

    async def _handle_isolating_failures(self, stage: Stage[E], pairs: Sequence[_DecodedRecord[E]]) -> None:
        records = [pair.record for pair in pairs]
        start = perf_counter()
        with correlation.correlation_scope(_correlation_of(records)):
            failure = await self._handle_with_retries(stage, records)
        if failure is None:
            self._consecutive_faults[stage.name] = 0
            self._report_handled(stage, records, perf_counter() - start)
        elif len(pairs) > 1:
            for part in _split(pairs, failure.error):
                await self._handle_isolating_failures(stage, part)
        else:
            await self._fail_record(stage, pairs[0], failure)

    def _report_handled(self, stage: Stage[E], records: Sequence[Record[E]], seconds: float) -> None:
        self._observer.on_batch_handled(stage.name, records, seconds, self._clock.now())
        if log_format.ACCESS_LOGGER.isEnabledFor(logging.INFO):
            for record in records:
                log_format.access_log("handled", **_record_log_fields(stage, record), seconds=round(seconds, 6))

    async def _handle_with_retries(self, stage: Stage[E], records: Sequence[Record[E]]) -> _Failure | None:
        attempt = 0
        while True:
            attempt += 1
            failure = await self._handle_through_outages(stage, records, attempt)
            if failure is None or attempt >= self._max_attempts(failure.error, len(records)):
                return failure
            self._observer.on_retry(stage.name, records[0].partition, failure.error)
            log.info(
                "%s: attempt %d failed on %s: %s",
                stage.name,
                attempt,
                _describe_range(records),
                error_message(failure.error),
            )
            await self._sleep(self._retry_policy.delay(attempt, self._jitter()))

    async def _handle_through_outages(
        self, stage: Stage[E], records: Sequence[Record[E]], attempt: int
    ) -> _Failure | None:
        """Call the stage until it succeeds or fails for a reason other than an outage."""
        pause = 0
        while True:
            try:
                await stage.handle(records)
            except Exception as error:
                # Any exception: one record must not end the service (decision 0003).
                if _is_cancelled():
                    raise
                if not is_outage(error):
                    return _Failure(error, attempt)
                pause += 1
                self._observer.on_retry(stage.name, records[0].partition, error)
                await self._wait_for_outage(f"{stage.name} is waiting with {_describe_range(records)}", error, pause)
            else:
                return None

    def _max_attempts(self, error: Exception, records: int) -> int:
        if isinstance(error, RejectedError):
            return 1
        if isinstance(error, RetryableError):
            return self._retry_policy.max_attempts
        return 1 if records > 1 else UNEXPECTED_ERROR_ATTEMPTS

    async def _wait_for_outage(self, activity: str, error: Exception, pause: int) -> None:
        log.error("%s: %s", activity, error)
        await self._sleep(min(MAX_OUTAGE_PAUSE_SECONDS, self._retry_policy.delay(pause, self._jitter())))

    async def _fail_record(self, stage: Stage[E], pair: _DecodedRecord[E], failure: _Failure) -> None:
        """Dead-letter a record; StageFaultError if the stage keeps failing with unexpected errors."""
        expected = isinstance(failure.error, RejectedError | RetryableError)
        if not expected:
            extra = {"fields": _record_log_fields(stage, pair.record)}
            log.error(
                "%s failed on %s", stage.name, _describe_range([pair.record]), exc_info=failure.error, extra=extra
            )
        await self._notify(stage, pair.record, failure)
        await self._send_to_dlq(stage, pair.raw, failure)
        self._consecutive_faults[stage.name] = 0 if expected else self._consecutive_faults[stage.name] + 1
        if self._consecutive_faults[stage.name] >= CIRCUIT_BREAKER_THRESHOLD:
            raise StageFaultError(
                f"Stage {stage.name} failed on {CIRCUIT_BREAKER_THRESHOLD} records in a row, so the stage is"
                " broken rather than the records. They are dead letters and their documents are marked failed;"
                " once the cause is fixed, `recollect dlq redrive` retries them."
                f" The last error was {error_with_call_chain(failure.error)}",
                pair.raw.offset,
            ) from failure.error

    async def _notify(self, stage: Stage[E], record: Record[E], failure: _Failure) -> None:
        """Tell the stage of its dead letter; what hindered it with the record may hinder this too."""
        if stage.on_dead_letter is None:
            return
        try:
            await stage.on_dead_letter(record, reason_for_users(failure.error))
        except Exception as error:
            # As in `_handle_through_outages`.
            if _is_cancelled() or isinstance(error, RetryableError) or is_outage(error):
                raise
            extra = {"fields": _record_log_fields(stage, record)}
            log.exception("%s could not mark %s as failed", stage.name, _describe_range([record]), extra=extra)

    async def _send_to_dlq(self, stage: Stage[E], raw: RawRecord, failure: _Failure) -> None:
        partition, offset = origin_position(raw)
        error = error_message(failure.error)
        entry = dead_letter_record(
            raw,
            stage=stage.name,
            error=error,
            error_type=type(failure.error).__name__,
            attempts=failure.attempts,
            now=self._clock.now(),
        )
        await self._append_dead_letter(stage.source.dead_letter_topic, entry)
        self._observer.on_dead_letter(stage.name)
        fields = _log_fields(stage, raw.topic, partition, offset, raw.headers)
        event = fields["event"]
        log.warning("%s: dead-lettered %s: %s", stage.name, event, error, extra={"fields": fields})

    async def _append_dead_letter(self, topic: str, entry: ProducerRecord) -> None:
        """Append a dead letter, retrying through outages: the partition must not move on without it."""
        pause = 0
        while True:
            try:
                await self._dead_letter_publisher.append(topic, [entry])
            except OutageError as error:
                pause += 1
                await self._wait_for_outage(
                    f"A dead letter could not be written to {topic} and will be retried", error, pause
                )
            else:
                return


def _split(pairs: Sequence[_DecodedRecord[E]], error: Exception) -> list[Sequence[_DecodedRecord[E]]]:
    """Split a failed batch, in order: in halves, since a batch costs a stage little more than a record.

    Into records after the delays of all attempts, which each half would repeat.
    """
    if isinstance(error, RetryableError):
        return [[pair] for pair in pairs]
    middle = len(pairs) // 2
    return [pairs[:middle], pairs[middle:]]


def _is_cancelled() -> bool:
    """Tell whether the current task is being cancelled: resources closed meanwhile raise arbitrary errors."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _correlation_of(records: Sequence[Record[E]]) -> correlation.Correlation:
    return correlation.correlate((record.event, record.offset, record.headers) for record in records)


def _record_log_fields(stage: Stage[E], record: Record[E]) -> dict[str, Any]:
    return _log_fields(stage, record.topic, record.partition, record.offset, record.headers)


def _log_fields(stage: Stage[E], topic: str, partition: int, offset: int, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the log fields of a record; `event` identifies it by its position."""
    return {
        "request_id": headers.get(correlation.REQUEST_ID_HEADER),
        "event": f"{topic}/{partition}/{offset}",
        "stage": stage.name,
        "topic": topic,
        "partition": partition,
        "offset": offset,
    }


def _describe_range(records: Sequence[Record[E]]) -> str:
    first = records[0]
    return f"{first.topic}/{first.partition} from {first.offset}, {len(records)} records"
