"""The delivery policy by itself: every record ends up handled, parked, or as a loud stop."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.delivery import DeadLetter, Delivery, Entry, Patience, RawRecord
from pipeline.errors import RejectedError, RetryableError
from pipeline.ports import Position
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
    """Remembers what was parked; full once told so."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.full = False

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        if self.full:
            raise RetryableError("the log can't be written")
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


async def test_an_unforeseen_error_escapes_and_parks_nothing() -> None:
    bench = Bench({1: [KeyError("bug")]})
    with pytest.raises(KeyError):
        await bench.deliver(*values(2))
    assert bench.parked == []


async def test_a_dead_letter_that_cannot_be_written_stops_the_consumer() -> None:
    bench = Bench({0: rejected()})
    bench.parking.full = True
    with pytest.raises(RetryableError):
        await bench.deliver(*values(1))


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
    assert record.headers == {"trace": "abc", "redriven-partition": "3", "redriven-offset": "7"}


outcome = st.one_of(
    st.just([]),
    st.integers(1, 3).map(retryable),
    st.just(retryable()),
    st.integers(1, 3).map(rejected),
    st.just(rejected()),
    st.just(None),
)


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
