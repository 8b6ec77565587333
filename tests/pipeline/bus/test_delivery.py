"""Delivery policy: every record is handled or dead-lettered, or the stage stops with an error."""

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.delivery import (
    CIRCUIT_BREAKER_THRESHOLD,
    MAX_OUTAGE_PAUSE_SECONDS,
    UNEXPECTED_ERROR_ATTEMPTS,
    Delivery,
    RetryPolicy,
)
from pipeline.bus.records import DeadLetter, ProducerRecord, RawRecord
from pipeline.errors import OutageError, RejectedError, RetryableError, StageFaultError
from pipeline.ports import Position
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic
from tests.support.fakes import EPOCH, FixedClock

pytestmark = pytest.mark.anyio
RETRY_POLICY = RetryPolicy(max_attempts=4, initial_delay=1.0, max_delay=3.0)


class NumberedEvent(Event):
    number: int


NOTES = Topic("test.notes.v1", NumberedEvent)


class RecordingDlq:
    """Records dead letters; raises an outage for the first `remaining_failures` calls."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.remaining_failures = 0

    async def append(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        if self.remaining_failures:
            self.remaining_failures -= 1
            raise OutageError("the log can't be written")
        assert topic == NOTES.dead_letter_topic
        for entry in entries:
            raw = RawRecord(topic, 0, len(self.letters), entry.key, entry.value, entry.headers, EPOCH)
            self.letters.append(DeadLetter.from_record(raw))
        return []


class DeliveryHarness:
    """Stage that raises configured errors for a number before it succeeds, and its delivery."""

    def __init__(self, failures: dict[int, list[Exception]] | None = None) -> None:
        self.failures = failures or {}
        self.handled: list[Record[NumberedEvent]] = []
        self.batches: list[list[int]] = []
        self.delays: list[float] = []
        self.dlq = RecordingDlq()
        self.stage = Stage("bench", NOTES, self.handle)
        self.delivery = Delivery(self.dlq, FixedClock(), RETRY_POLICY, sleep=self.sleep, jitter=lambda: 0.0)

    async def handle(self, batch: Sequence[Record[NumberedEvent]]) -> None:
        self.batches.append([record.event.number for record in batch])
        for record in batch:
            if self.failures.get(record.event.number):
                raise self.failures[record.event.number].pop(0)
        self.handled.extend(batch)

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)

    async def deliver(self, *values: bytes) -> None:
        await self.delivery.deliver(self.stage, [raw(offset, value) for offset, value in enumerate(values)])

    @property
    def numbers(self) -> list[int]:
        return [record.event.number for record in self.handled]

    @property
    def dead_lettered(self) -> list[int]:
        return [letter.origin[2] for letter in self.dlq.letters]


def raw(offset: int, value: bytes, **headers: str) -> RawRecord:
    return RawRecord(NOTES.name, 3, offset, b"key", value, headers, EPOCH)


def values(count: int) -> list[bytes]:
    return [NumberedEvent(number=number).model_dump_json().encode() for number in range(count)]


def rejected(times: int = 100) -> list[Exception]:
    return [RejectedError("no")] * times


def unexpected(times: int = 100) -> list[Exception]:
    return [KeyError("bug")] * times


def retryable(times: int = 100) -> list[Exception]:
    return [RetryableError("busy")] * times


async def test_a_batch_without_errors_is_handled_once_as_a_whole() -> None:
    harness = DeliveryHarness()
    await harness.deliver(*values(3))
    assert harness.batches == [[0, 1, 2]]


async def test_delays_between_retries_grow_up_to_the_maximum() -> None:
    harness = DeliveryHarness({0: retryable()})
    await harness.deliver(*values(1))
    assert harness.delays == [1.0, 2.0, 3.0]
    assert (harness.dead_lettered, harness.dlq.letters[0].attempts) == ([0], 4)


@given(attempt=st.integers(1, 60), jitter=st.floats(0, 1))
def test_a_delay_is_between_half_and_all_of_the_backoff(attempt: int, jitter: float) -> None:
    backoff = min(3.0, 2.0 ** (attempt - 1))
    assert backoff / 2 <= RETRY_POLICY.delay(attempt, jitter) <= backoff


async def test_a_temporary_failure_causes_no_dead_letter() -> None:
    harness = DeliveryHarness({1: retryable(3)})
    await harness.deliver(*values(3))
    assert (harness.numbers, harness.dead_lettered) == ([0, 1, 2], [])


async def test_a_rejected_record_is_isolated_without_delay() -> None:
    harness = DeliveryHarness({1: rejected()})
    await harness.deliver(*values(3))
    assert harness.batches == [[0, 1, 2], [0], [1, 2], [1], [2]]
    assert (harness.numbers, harness.dead_lettered, harness.delays) == ([0, 2], [1], [])


async def test_one_bad_record_of_a_large_batch_costs_few_calls_of_the_stage() -> None:
    harness = DeliveryHarness({37: rejected()})
    await harness.deliver(*values(128))
    assert len(harness.batches) == 1 + 2 * 7  # halves of 128 records, down to one
    assert sorted(harness.numbers) == [number for number in range(128) if number != 37]
    assert harness.dead_lettered == [37]


async def test_a_record_that_exhausts_its_retries_is_isolated() -> None:
    harness = DeliveryHarness({1: retryable()})
    await harness.deliver(*values(3))
    assert harness.batches == [[0, 1, 2]] * 4 + [[0]] + [[1]] * 4 + [[2]]
    assert harness.dead_lettered == [1]


async def test_only_undecodable_records_are_withheld_from_the_stage() -> None:
    harness = DeliveryHarness()
    await harness.deliver(b'{"number": 0}', b"{", b'{"number": 2}')
    assert (harness.batches, harness.dead_lettered) == ([[0, 2]], [1])
    letter = harness.dlq.letters[0]
    assert (letter.error_type, letter.attempts, letter.record.value) == ("ValidationError", 0, b"{")


async def test_the_error_of_an_undecodable_record_names_the_field_and_not_the_value() -> None:
    harness = DeliveryHarness()
    await harness.deliver(b'{"number": "secret"}')
    assert harness.dlq.letters[0].error.startswith("number: ")
    assert "secret" not in harness.dlq.letters[0].error


async def test_a_batch_of_undecodable_records_never_reaches_the_stage() -> None:
    harness = DeliveryHarness()
    await harness.deliver(b"", b"[]")
    assert (harness.batches, harness.dead_lettered) == ([], [0, 1])


async def test_a_record_with_unexpected_errors_is_isolated_retried_and_dead_lettered() -> None:
    harness = DeliveryHarness({1: unexpected()})
    await harness.deliver(*values(3))
    assert harness.batches == [[0, 1, 2], [0], [1, 2], *[[1]] * UNEXPECTED_ERROR_ATTEMPTS, [2]]
    assert (harness.numbers, harness.dead_lettered) == ([0, 2], [1])


async def test_a_temporary_unexpected_error_causes_no_dead_letter() -> None:
    harness = DeliveryHarness({1: unexpected(2)})
    await harness.deliver(*values(2))
    assert (harness.numbers, harness.dead_lettered) == ([0, 1], [])


async def test_the_dead_letter_of_an_unexpected_error_names_the_failing_code() -> None:
    harness = DeliveryHarness({0: unexpected()})
    await harness.deliver(*values(1))
    (letter,) = harness.dlq.letters
    assert letter.error_type == "KeyError"
    assert letter.error.startswith("KeyError: 'bug' [handle (test_delivery.py:")


async def test_a_stage_that_fails_on_every_record_raises_a_fault_with_the_last_offset() -> None:
    harness = DeliveryHarness({number: unexpected() for number in range(CIRCUIT_BREAKER_THRESHOLD + 5)})
    with pytest.raises(StageFaultError, match="bench failed on 20 records in a row") as stopped:
        await harness.deliver(*values(CIRCUIT_BREAKER_THRESHOLD + 5))
    assert stopped.value.through_offset == CIRCUIT_BREAKER_THRESHOLD - 1
    assert harness.dead_lettered == list(range(CIRCUIT_BREAKER_THRESHOLD))


async def test_only_consecutive_faults_count_across_batches() -> None:
    harness = DeliveryHarness(
        {
            number: unexpected()
            for number in range(2 * CIRCUIT_BREAKER_THRESHOLD)
            if number != CIRCUIT_BREAKER_THRESHOLD - 1
        }
    )
    encoded = values(2 * CIRCUIT_BREAKER_THRESHOLD)
    for offset, value in enumerate(encoded[:-1]):
        await harness.delivery.deliver(harness.stage, [raw(offset, value)])
    with pytest.raises(StageFaultError):
        await harness.delivery.deliver(harness.stage, [raw(2 * CIRCUIT_BREAKER_THRESHOLD - 1, encoded[-1])])


async def test_the_stage_is_notified_before_a_record_is_dead_lettered() -> None:
    notified: list[tuple[int, str, int]] = []

    async def on_dead_letter(record: Record[NumberedEvent], reason: str) -> None:
        notified.append((record.event.number, reason, len(harness.dlq.letters)))

    harness = DeliveryHarness({0: rejected(), 1: unexpected()})
    await harness.delivery.deliver(
        replace(harness.stage, on_dead_letter=on_dead_letter),
        [raw(offset, value) for offset, value in enumerate(values(2))],
    )
    assert [number for number, _, _ in notified] == [0, 1]
    assert notified[0][1:] == ("no", 0)
    assert "unexpected" in notified[1][1]


async def test_a_record_that_the_stage_cannot_even_mark_as_failed_is_dead_lettered_and_ends_nothing() -> None:
    async def on_dead_letter(record: Record[NumberedEvent], reason: str) -> None:
        raise ValueError(f"what hindered {record.event.number} hinders this too: {reason}")

    harness = DeliveryHarness({0: unexpected()})
    await harness.delivery.deliver(
        replace(harness.stage, on_dead_letter=on_dead_letter),
        [raw(offset, value) for offset, value in enumerate(values(2))],
    )
    assert (harness.dead_lettered, harness.numbers) == ([0], [1])


@pytest.mark.parametrize("error", [OutageError("the log can't be written"), RetryableError("the lock was lost")])
async def test_an_outage_while_a_record_is_marked_as_failed_loses_no_dead_letter(error: Exception) -> None:
    async def on_dead_letter(record: Record[NumberedEvent], reason: str) -> None:
        raise error

    harness = DeliveryHarness({0: rejected()})
    with pytest.raises(type(error)):
        await harness.delivery.deliver(replace(harness.stage, on_dead_letter=on_dead_letter), [raw(0, values(1)[0])])
    assert harness.dead_lettered == []


@pytest.mark.parametrize(
    "error", [OutageError("the log can't be written"), OSError(errno.ENOSPC, "No space left on device")]
)
async def test_an_outage_is_waited_out_however_long_it_lasts(error: Exception) -> None:
    harness = DeliveryHarness({1: [error] * 100})
    await harness.deliver(*values(2))
    assert (harness.numbers, harness.dead_lettered) == ([0, 1], [])
    assert max(harness.delays) <= MAX_OUTAGE_PAUSE_SECONDS


async def test_an_error_during_cancellation_is_not_attributed_to_the_record() -> None:
    started = asyncio.Event()

    async def handle(_: Sequence[Record[NumberedEvent]]) -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise RuntimeError("the store was closed") from None

    harness = DeliveryHarness()
    delivering = asyncio.create_task(
        harness.delivery.deliver(replace(harness.stage, handle=handle), [raw(0, values(1)[0])])
    )
    await started.wait()
    delivering.cancel()
    with pytest.raises(RuntimeError):
        await delivering
    assert harness.dead_lettered == []


async def test_writing_a_dead_letter_is_retried_through_an_outage() -> None:
    harness = DeliveryHarness({0: rejected()})
    harness.dlq.remaining_failures = 3
    await harness.deliver(*values(1))
    assert (harness.dead_lettered, len(harness.delays)) == ([0], 3)


async def test_a_dead_letter_describes_its_origin_and_error() -> None:
    harness = DeliveryHarness({0: [RejectedError("not \ud800 here")] * 2})
    await harness.delivery.deliver(harness.stage, [raw(7, values(1)[0], trace="abc")])
    (letter,) = harness.dlq.letters
    assert letter == DeadLetter(
        record=letter.record,
        origin=(NOTES.name, 3, 7),
        stage="bench",
        error="not \\ud800 here",
        error_type="RejectedError",
        attempts=1,
        dead_lettered_at="2026-01-01T00:00:00.000Z",
    )
    assert letter.record.headers["trace"] == "abc"


async def test_a_redriven_record_is_delivered_with_its_original_position() -> None:
    harness = DeliveryHarness({0: rejected(1)})
    await harness.delivery.deliver(harness.stage, [raw(7, values(1)[0], trace="abc")])
    entry = harness.dlq.letters[0].to_redriven()
    redriven = RawRecord(NOTES.name, 3, 99, entry.key, entry.value, entry.headers, EPOCH)
    await harness.delivery.deliver(harness.stage, [redriven])
    (record,) = harness.handled
    assert (record.partition, record.offset, record.key) == (3, 7, "key")
    assert record.headers == {
        "trace": "abc",
        "redriven-partition": "3",
        "redriven-offset": "7",
        "redriven-stage": "bench",
    }
    assert record.redriven


async def test_a_redriven_record_is_delivered_only_to_the_stage_that_failed() -> None:
    harness = DeliveryHarness({0: rejected(1)})
    await harness.deliver(*values(1))
    entry = harness.dlq.letters[0].to_redriven()
    redriven = RawRecord(NOTES.name, 3, 99, entry.key, entry.value, entry.headers, EPOCH)
    await harness.delivery.deliver(replace(harness.stage, name="another"), [redriven])
    assert harness.handled == []


outcome = st.one_of(
    st.just([]),
    st.integers(1, 3).map(retryable),
    st.just(retryable()),
    st.integers(1, 3).map(rejected),
    st.just(rejected()),
    st.integers(1, 2).map(unexpected),
    st.just(unexpected()),
    st.just(None),
)


@settings(deadline=None)
@given(outcomes=st.lists(outcome, min_size=1, max_size=8))
def test_every_record_is_either_handled_or_dead_lettered(outcomes: list[list[Exception] | None]) -> None:
    harness = DeliveryHarness({number: list(errors) for number, errors in enumerate(outcomes) if errors})
    encoded = [b"?" if errors is None else value for errors, value in zip(outcomes, values(len(outcomes)), strict=True)]
    asyncio.run(harness.deliver(*encoded))
    assert set(harness.numbers) | set(harness.dead_lettered) == set(range(len(outcomes)))
    assert not set(harness.numbers) & set(harness.dead_lettered)
    for number, errors in enumerate(outcomes):
        assert (errors is None or len(errors) == 100) <= (number in harness.dead_lettered)
