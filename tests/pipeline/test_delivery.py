"""The delivery policy by itself: every record ends up handled, parked, or as a loud stop."""

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.delivery import CHANCES, FAULTS, REST_SECONDS, Delivery, Patience
from pipeline.errors import OutageError, RejectedError, RetryableError, StageFaultError
from pipeline.ports import Position
from pipeline.records import DeadLetter, Entry, RawRecord
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic
from tests.fakes import EPOCH, FixedClock

pytestmark = pytest.mark.anyio
PATIENCE = Patience(attempts=4, first=1.0, ceiling=3.0)


class Noted(Event):
    number: int


NOTES = Topic("test.notes.v1", Noted)


class Parking:
    """Remembers what was parked; `full`: how often it refuses first."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.full = 0

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        if self.full:
            self.full -= 1
            raise OutageError("the log can't be written")
        assert topic == NOTES.dead_letters
        for entry in entries:
            raw = RawRecord(topic, 0, len(self.letters), entry.key, entry.value, entry.headers, EPOCH)
            self.letters.append(DeadLetter.read(raw))
        return []


class Bench:
    """A stage whose behaviour per number is set: how often it fails, and with what, before it works."""

    def __init__(self, failures: dict[int, list[Exception]] | None = None) -> None:
        self.failures = failures or {}
        self.handled: list[Record[Noted]] = []
        self.batches: list[list[int]] = []
        self.waits: list[float] = []
        self.parking = Parking()
        self.stage = Stage("bench", NOTES, self.handle)
        self.delivery = Delivery(self.parking, FixedClock(), PATIENCE, sleep=self.sleep, jitter=lambda: 0.0)

    async def handle(self, batch: Sequence[Record[Noted]]) -> None:
        self.batches.append([record.event.number for record in batch])
        for record in batch:
            if self.failures.get(record.event.number):
                raise self.failures[record.event.number].pop(0)
        self.handled.extend(batch)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def deliver(self, *values: bytes) -> None:
        await self.delivery.deliver(self.stage, [raw(offset, value) for offset, value in enumerate(values)])

    @property
    def numbers(self) -> list[int]:
        return [record.event.number for record in self.handled]

    @property
    def parked(self) -> list[int]:
        return [letter.origin[2] for letter in self.parking.letters]


def raw(offset: int, value: bytes, **headers: str) -> RawRecord:
    return RawRecord(NOTES.name, 3, offset, b"key", value, headers, EPOCH)


def values(count: int) -> list[bytes]:
    return [Noted(number=number).model_dump_json().encode() for number in range(count)]


def rejected(times: int = 100) -> list[Exception]:
    return [RejectedError("no")] * times


def bug(times: int = 100) -> list[Exception]:
    return [KeyError("bug")] * times


def retryable(times: int = 100) -> list[Exception]:
    return [RetryableError("busy")] * times


async def test_a_good_batch_is_handed_over_once_and_whole() -> None:
    bench = Bench()
    await bench.deliver(*values(3))
    assert bench.batches == [[0, 1, 2]]


async def test_retries_wait_longer_each_time_up_to_the_ceiling() -> None:
    bench = Bench({0: retryable()})
    await bench.deliver(*values(1))
    assert bench.waits == [1.0, 2.0, 3.0]
    assert (bench.parked, bench.parking.letters[0].attempts) == ([0], 4)


@given(attempt=st.integers(1, 60), jitter=st.floats(0, 1))
def test_a_delay_is_never_longer_than_the_ceiling_nor_shorter_than_half(attempt: int, jitter: float) -> None:
    whole = min(3.0, 2.0 ** (attempt - 1))
    assert whole / 2 <= PATIENCE.delay(attempt, jitter) <= whole


async def test_a_passing_trouble_parks_nothing() -> None:
    bench = Bench({1: retryable(3)})
    await bench.deliver(*values(3))
    assert (bench.numbers, bench.parked) == ([0, 1, 2], [])


async def test_a_rejected_record_is_isolated_without_waiting() -> None:
    bench = Bench({1: rejected()})
    await bench.deliver(*values(3))
    assert bench.batches == [[0, 1, 2], [0], [1], [2]]
    assert (bench.numbers, bench.parked, bench.waits) == ([0, 2], [1], [])


async def test_a_record_that_stays_busy_is_isolated_after_the_batch_was_tried() -> None:
    bench = Bench({1: retryable()})
    await bench.deliver(*values(3))
    assert bench.batches == [[0, 1, 2]] * 4 + [[0]] + [[1]] * 4 + [[2]]
    assert bench.parked == [1]


async def test_only_what_cannot_be_decoded_is_kept_from_the_stage() -> None:
    bench = Bench()
    await bench.deliver(b'{"number": 0}', b"{", b'{"number": 2}')
    assert (bench.batches, bench.parked) == ([[0, 2]], [1])
    letter = bench.parking.letters[0]
    assert (letter.error_type, letter.attempts, letter.record.value) == ("ValidationError", 0, b"{")


async def test_the_error_of_an_undecodable_record_names_the_field_and_not_the_value() -> None:
    bench = Bench()
    await bench.deliver(b'{"number": "secret"}')
    assert bench.parking.letters[0].error.startswith("number: ")
    assert "secret" not in bench.parking.letters[0].error


async def test_a_batch_of_rubbish_never_reaches_the_stage() -> None:
    bench = Bench()
    await bench.deliver(b"", b"[]")
    assert (bench.batches, bench.parked) == ([], [0, 1])


async def test_a_record_that_the_stage_fails_on_is_isolated_tried_again_and_parked() -> None:
    bench = Bench({1: bug()})
    await bench.deliver(*values(3))
    assert bench.batches == [[0, 1, 2], [0], *[[1]] * CHANCES, [2]]
    assert (bench.numbers, bench.parked) == ([0, 2], [1])


async def test_an_unforeseen_error_that_passes_parks_nothing() -> None:
    bench = Bench({1: bug(2)})
    await bench.deliver(*values(2))
    assert (bench.numbers, bench.parked) == ([0, 1], [])


async def test_the_dead_letter_of_an_unforeseen_error_says_where_it_came_from() -> None:
    bench = Bench({0: bug()})
    await bench.deliver(*values(1))
    (letter,) = bench.parking.letters
    assert letter.error_type == "KeyError"
    assert letter.error.startswith("KeyError: 'bug' [handle (test_delivery.py:")


async def test_a_stage_that_fails_on_everything_stops_loudly_and_says_how_far_it_came() -> None:
    bench = Bench({number: bug() for number in range(FAULTS + 5)})
    with pytest.raises(StageFaultError, match="bench failed on 20 records in a row") as stopped:
        await bench.deliver(*values(FAULTS + 5))
    assert stopped.value.through == FAULTS - 1
    assert bench.parked == list(range(FAULTS))


async def test_faults_are_counted_over_batches_and_only_in_a_row() -> None:
    bench = Bench({number: bug() for number in range(2 * FAULTS) if number != FAULTS - 1})
    sent = values(2 * FAULTS)
    for offset, value in enumerate(sent[:-1]):
        await bench.delivery.deliver(bench.stage, [raw(offset, value)])
    with pytest.raises(StageFaultError):
        await bench.delivery.deliver(bench.stage, [raw(2 * FAULTS - 1, sent[-1])])


async def test_who_is_concerned_is_told_before_a_record_is_parked() -> None:
    told: list[tuple[int, str, int]] = []

    async def give_up(record: Record[Noted], reason: str) -> None:
        told.append((record.event.number, reason, len(bench.parking.letters)))

    bench = Bench({0: rejected(), 1: bug()})
    await bench.delivery.deliver(
        replace(bench.stage, give_up=give_up), [raw(offset, value) for offset, value in enumerate(values(2))]
    )
    assert [number for number, _, _ in told] == [0, 1]
    assert told[0][1:] == ("no", 0)
    assert "unforeseen" in told[1][1]


@pytest.mark.parametrize(
    "error", [OutageError("the log can't be written"), OSError(errno.ENOSPC, "No space left on device")]
)
async def test_what_no_record_is_to_blame_for_is_waited_for_however_long(error: Exception) -> None:
    bench = Bench({1: [error] * 100})
    await bench.deliver(*values(2))
    assert (bench.numbers, bench.parked) == ([0, 1], [])
    assert max(bench.waits) <= REST_SECONDS


async def test_an_error_while_the_consumer_is_cancelled_is_not_the_records_fault() -> None:
    started = asyncio.Event()

    async def handle(_: Sequence[Record[Noted]]) -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise RuntimeError("the store was closed") from None

    bench = Bench()
    delivering = asyncio.create_task(
        bench.delivery.deliver(replace(bench.stage, handle=handle), [raw(0, values(1)[0])])
    )
    await started.wait()
    delivering.cancel()
    with pytest.raises(RuntimeError):
        await delivering
    assert bench.parked == []


async def test_a_dead_letter_that_cannot_be_written_now_is_written_later() -> None:
    bench = Bench({0: rejected()})
    bench.parking.full = 3
    await bench.deliver(*values(1))
    assert (bench.parked, len(bench.waits)) == ([0], 3)


async def test_a_dead_letter_says_everything_about_its_origin() -> None:
    bench = Bench({0: [RejectedError("not \ud800 here")] * 2})
    await bench.delivery.deliver(bench.stage, [raw(7, values(1)[0], trace="abc")])
    (letter,) = bench.parking.letters
    assert letter == DeadLetter(
        record=letter.record,
        origin=(NOTES.name, 3, 7),
        stage="bench",
        error="not \\ud800 here",
        error_type="RejectedError",
        attempts=1,
        parked_at="2026-01-01T00:00:00.000Z",
    )
    assert letter.record.headers["trace"] == "abc"


async def test_a_redriven_record_is_delivered_at_its_first_place() -> None:
    bench = Bench({0: rejected(1)})
    await bench.delivery.deliver(bench.stage, [raw(7, values(1)[0], trace="abc")])
    entry = bench.parking.letters[0].redriven()
    again = RawRecord(NOTES.name, 3, 99, entry.key, entry.value, entry.headers, EPOCH)
    await bench.delivery.deliver(bench.stage, [again])
    (record,) = bench.handled
    assert (record.partition, record.offset, record.key) == (3, 7, "key")
    assert record.headers == {
        "trace": "abc",
        "redriven-partition": "3",
        "redriven-offset": "7",
        "redriven-stage": "bench",
    }
    assert record.redriven


async def test_a_redriven_record_is_for_the_stage_that_gave_it_up() -> None:
    bench = Bench({0: rejected(1)})
    await bench.deliver(*values(1))
    entry = bench.parking.letters[0].redriven()
    again = RawRecord(NOTES.name, 3, 99, entry.key, entry.value, entry.headers, EPOCH)
    await bench.delivery.deliver(replace(bench.stage, name="another"), [again])
    assert bench.handled == []


outcome = st.one_of(
    st.just([]),
    st.integers(1, 3).map(retryable),
    st.just(retryable()),
    st.integers(1, 3).map(rejected),
    st.just(rejected()),
    st.integers(1, 2).map(bug),
    st.just(bug()),
    st.just(None),
)


@settings(deadline=None)
@given(outcomes=st.lists(outcome, min_size=1, max_size=8))
def test_every_record_is_handled_or_parked_and_none_is_both(outcomes: list[list[Exception] | None]) -> None:
    bench = Bench({number: list(one) for number, one in enumerate(outcomes) if one})
    sent = [
        b"?" if one is None else value for one, value in zip(outcomes, values(len(outcomes)), strict=True)
    ]
    asyncio.run(bench.deliver(*sent))
    assert set(bench.numbers) | set(bench.parked) == set(range(len(outcomes)))
    assert not set(bench.numbers) & set(bench.parked)
    for number, one in enumerate(outcomes):
        assert (one is None or len(one) == 100) <= (number in bench.parked)
