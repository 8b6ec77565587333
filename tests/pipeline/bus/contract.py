"""What every bus must do. An adapter's test module subclasses `BusContract` and gives it a `harness`."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import pytest

from pipeline import tracing
from pipeline.bus.port import Bus
from pipeline.delivery import FAULTS, Patience
from pipeline.errors import RejectedError, RetryableError, StageFaultError
from pipeline.ports import Position
from pipeline.records import DeadLetter, Entry
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic

QUICK = Patience(attempts=3, first=0.001, ceiling=0.002)
"""The patience that a harness opens its bus with."""


class Noted(Event):
    """An event of the tests."""

    number: int


class Harness(Protocol):
    """A place where buses can be opened one after another; topics and stage names are its own."""

    async def open(self) -> Bus:
        """The bus, with `QUICK` patience and more than one partition; closes the one before."""
        ...

    def topic(self, name: str) -> Topic[Noted]: ...

    def stage(self, name: str) -> str: ...


@dataclass
class Notebook:
    """A stage that remembers what it was given, and fails as it is told."""

    records: list[Record[Noted]] = field(default_factory=list)
    batches: list[list[int]] = field(default_factory=list)
    failures: dict[int, list[BaseException]] = field(default_factory=dict)
    """Per number: what to raise, time after time, before it is accepted."""

    async def handle(self, batch: Sequence[Record[Noted]]) -> None:
        self.batches.append([record.event.number for record in batch])
        for record in batch:
            if self.failures.get(record.event.number):
                raise self.failures[record.event.number].pop(0)
        self.records.extend(batch)

    @property
    def numbers(self) -> list[int]:
        return [record.event.number for record in self.records]


def noted(numbers: Sequence[int], key: str = "key") -> list[tuple[str, Noted]]:
    return [(key, Noted(number=number)) for number in numbers]


def spread(count: int) -> list[tuple[str, Noted]]:
    """Numbers under many keys, so that every partition gets some."""
    return [(f"key-{number % 17}", Noted(number=number)) for number in range(count)]


class EndError(BaseException):
    """The end of a process, as far as its stages are concerned: no policy catches it."""


@pytest.mark.anyio
class BusContract:
    """Order, delivery at least once, dead letters and independence of groups."""

    async def test_records_of_a_key_arrive_in_the_order_they_were_published(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("order"), Notebook()
        for start in range(0, 100, 20):
            await bus.publish(topic, spread(100)[start : start + 20])
        await bus.run([Stage(harness.stage("order"), topic, book.handle, batch=7)], until_idle=True)
        by_key: dict[str, list[int]] = defaultdict(list)
        for record in book.records:
            by_key[record.key].append(record.event.number)
        assert sorted(book.numbers) == list(range(100))
        assert all(numbers == sorted(numbers) for numbers in by_key.values())

    async def test_offsets_of_a_partition_rise_one_by_one_in_the_order_of_delivery(
        self, harness: Harness
    ) -> None:
        bus, topic, book = await harness.open(), harness.topic("offsets"), Notebook()
        await bus.publish(topic, spread(60))
        await bus.run([Stage(harness.stage("offsets"), topic, book.handle, batch=9)], until_idle=True)
        offsets: dict[int, list[int]] = defaultdict(list)
        for record in book.records:
            offsets[record.partition].append(record.offset)
        assert len(offsets) > 1
        assert all(found == list(range(len(found))) for found in offsets.values())

    async def test_publish_tells_where_each_record_is(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("places"), Notebook()
        places = await bus.publish(topic, spread(40))
        await bus.run([Stage(harness.stage("places"), topic, book.handle)], until_idle=True)
        found = {record.event.number: Position(record.partition, record.offset) for record in book.records}
        assert [found[number] for number in range(40)] == places

    async def test_a_key_stays_in_its_partition(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("partition")
        first = await bus.publish(topic, spread(17))
        bus = await harness.open()
        second = await bus.publish(topic, spread(17))
        assert [place.partition for place in first] == [place.partition for place in second]
        assert len({place.partition for place in first}) > 1

    async def test_a_batch_is_never_larger_than_the_stage_asks(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("batch"), Notebook()
        await bus.publish(topic, noted(range(20)))
        await bus.run([Stage(harness.stage("batch"), topic, book.handle, batch=6)], until_idle=True)
        assert max(map(len, book.batches)) <= 6
        assert book.numbers == list(range(20))

    async def test_what_was_published_is_there_after_a_restart(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("durable"), Notebook()
        await bus.publish(topic, noted(range(10)))
        bus = await harness.open()
        await bus.run([Stage(harness.stage("durable"), topic, book.handle)], until_idle=True)
        assert book.numbers == list(range(10))

    async def test_a_restart_resumes_after_what_was_handled(self, harness: Harness) -> None:
        topic, book = harness.topic("resume"), Notebook()
        stage = Stage(harness.stage("resume"), topic, book.handle)
        bus = await harness.open()
        await bus.publish(topic, noted(range(10)))
        await bus.run([stage], until_idle=True)
        bus = await harness.open()
        await bus.publish(topic, noted(range(10, 15)))
        await bus.run([stage], until_idle=True)
        assert book.numbers == list(range(15))

    async def test_a_batch_that_was_handled_but_not_committed_comes_again(self, harness: Harness) -> None:
        topic, book = harness.topic("again"), Notebook()

        async def handle_and_die(batch: Sequence[Record[Noted]]) -> None:
            await book.handle(batch)
            raise EndError

        name = harness.stage("again")
        bus = await harness.open()
        await bus.publish(topic, noted(range(5)))
        with pytest.raises(EndError):
            await bus.run([Stage(name, topic, handle_and_die)])
        bus = await harness.open()
        await bus.run([Stage(name, topic, book.handle)], until_idle=True)
        assert book.numbers == [*range(5), *range(5)]

    async def test_a_retryable_error_is_tried_again_until_it_works(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("retry"), Notebook()
        book.failures[3] = [RetryableError("busy"), RetryableError("busy")]
        await bus.publish(topic, noted(range(6)))
        await bus.run([Stage(harness.stage("retry"), topic, book.handle)], until_idle=True)
        assert set(book.numbers) == set(range(6))
        assert await bus.dead_letters(topic.name) == []

    async def test_what_never_works_is_parked_and_the_rest_goes_on(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("poison"), Notebook()
        book.failures[2] = [RejectedError("no such thing")] * 10
        book.failures[4] = [RetryableError("never there")] * 100
        places = await bus.publish(topic, noted(range(7)))
        name = harness.stage("poison")
        await bus.run([Stage(name, topic, book.handle)], until_idle=True)
        assert set(book.numbers) == {0, 1, 3, 5, 6}
        rejected, given_up = await bus.dead_letters(topic.name)
        assert rejected.origin == (topic.name, places[2].partition, places[2].offset)
        assert (rejected.stage, rejected.error, rejected.error_type) == (
            name,
            "no such thing",
            "RejectedError",
        )
        assert given_up.origin == (topic.name, places[4].partition, places[4].offset)
        assert (given_up.error, given_up.attempts) == ("never there", QUICK.attempts)

    async def test_a_parked_record_does_not_come_again_after_a_restart(self, harness: Harness) -> None:
        topic, book = harness.topic("parked"), Notebook()
        book.failures[0] = [RejectedError("no")] * 10
        stage = Stage(harness.stage("parked"), topic, book.handle)
        bus = await harness.open()
        await bus.publish(topic, noted([0]))
        await bus.run([stage], until_idle=True)
        bus = await harness.open()
        await bus.run([stage], until_idle=True)
        assert book.batches == [[0]]
        assert len(await bus.dead_letters(topic.name)) == 1

    @pytest.mark.parametrize("value", [b"", b"{", b'{"number": "many"}', b"\xff\x00\xfe", b"null"])
    async def test_what_cannot_be_decoded_is_parked_byte_for_byte(
        self, harness: Harness, value: bytes
    ) -> None:
        bus, topic, book = await harness.open(), harness.topic("undecodable"), Notebook()
        await bus.publish(topic, noted([1]))
        await bus.append(topic.name, [Entry(b"key", value, {"trace": "abc"})])
        await bus.publish(topic, noted([2]))
        await bus.run([Stage(harness.stage("undecodable"), topic, book.handle)], until_idle=True)
        assert book.numbers == [1, 2]
        (letter,) = await bus.dead_letters(topic.name)
        assert (letter.record.key, letter.record.value, letter.attempts) == (b"key", value, 0)
        assert letter.record.headers["trace"] == "abc"
        assert letter.error

    async def test_a_key_that_is_no_text_is_parked_too(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("key"), Notebook()
        await bus.append(topic.name, [Entry(b"\xff", b'{"number": 1}', {})])
        await bus.run([Stage(harness.stage("key"), topic, book.handle)], until_idle=True)
        (letter,) = await bus.dead_letters(topic.name)
        assert (letter.record.key, book.numbers) == (b"\xff", [])

    async def test_two_stages_read_one_topic_independently(self, harness: Harness) -> None:
        bus, topic, one, other = await harness.open(), harness.topic("two"), Notebook(), Notebook()
        one.failures[1] = [RejectedError("only here")] * 10
        await bus.publish(topic, noted(range(4)))
        first = Stage(harness.stage("one"), topic, one.handle)
        second = Stage(harness.stage("other"), topic, other.handle, batch=1)
        await bus.run([first], until_idle=True)
        await bus.run([first, second], until_idle=True)
        assert one.numbers == [0, 2, 3]
        assert other.numbers == [0, 1, 2, 3]

    async def test_what_a_stage_publishes_is_consumed_in_the_same_run(self, harness: Harness) -> None:
        bus, book = await harness.open(), Notebook()
        source, target = harness.topic("source"), harness.topic("target")

        async def double(batch: Sequence[Record[Noted]]) -> None:
            await bus.publish(target, [(one.key, Noted(number=one.event.number * 2)) for one in batch])

        await bus.publish(source, spread(30))
        await bus.run(
            [
                Stage(harness.stage("last"), target, book.handle),
                Stage(harness.stage("double"), source, double),
            ],
            until_idle=True,
        )
        assert sorted(book.numbers) == [number * 2 for number in range(30)]

    async def test_what_is_no_error_of_a_record_stops_the_run(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("loud"), Notebook()
        book.failures[0] = [EndError("the end")]
        await bus.publish(topic, noted([0]))
        with pytest.raises(EndError, match="the end"):
            await bus.run([Stage(harness.stage("loud"), topic, book.handle)])
        assert await bus.dead_letters(topic.name) == []

    async def test_a_stage_that_fails_on_everything_stops_and_goes_on_behind_it_when_it_is_mended(
        self, harness: Harness
    ) -> None:
        topic, name, book = harness.topic("faulty"), harness.stage("faulty"), Notebook()

        async def fail(batch: Sequence[Record[Noted]]) -> None:
            raise KeyError(batch[0].event.number)

        bus = await harness.open()
        await bus.publish(topic, noted(range(FAULTS + 5)))
        with pytest.raises(StageFaultError):
            await bus.run([Stage(name, topic, fail)])
        bus = await harness.open()
        await bus.run([Stage(name, topic, book.handle)], until_idle=True)
        assert book.numbers == list(range(FAULTS, FAULTS + 5))
        assert len(await bus.dead_letters(topic.name)) == FAULTS

    async def test_values_are_read_back_byte_for_byte(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("bytes")
        entries = [Entry(b"k", bytes(range(256)), {"name": "välue \u2713"}), Entry(b"k", b"", {})]
        await bus.append(topic.name, entries)
        found = [record async for record in bus.read(topic.name)]
        assert [Entry(record.key, record.value, record.headers) for record in found] == entries

    async def test_a_record_is_found_by_its_key_and_place(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("places")
        entries = spread(20)
        places = await bus.publish(topic, entries)
        for (key, event), place in zip(entries, places, strict=True):
            found = await bus.record(topic.name, key, place.offset)
            assert found is not None
            assert (found.key.decode(), found.partition) == (key, place.partition)
            assert topic.event.model_validate_json(found.value) == event
        assert await bus.record(topic.name, entries[0][0], 1000) is None

    async def test_a_partition_is_read_from_a_moment_on(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("moments")
        for number in range(6):
            await bus.publish(topic, [("k", Noted(number=number))])
        every = [record async for record in bus.read(topic.name)]
        for moment in {record.at for record in every}:
            found = [record.offset async for record in bus.since(topic.name, "k", moment)]
            assert found == [record.offset for record in every if record.at >= moment]
        later = every[-1].at + timedelta(days=1)
        assert [record async for record in bus.since(topic.name, "k", later)] == []

    async def test_publishing_nothing_does_nothing(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("nothing")
        assert await bus.publish(topic, []) == []
        assert [record async for record in bus.read(topic.name)] == []

    async def test_a_follower_is_given_what_is_there_and_what_comes(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("followed"), Notebook()
        await bus.publish(topic, spread(40))
        async with bus.follow(topic, book.handle) as follower:
            await follower.current()
            assert sorted(book.numbers) == list(range(40))
            for number in range(40, 50):
                await bus.publish(topic, noted([number]))
                await follower.current()
                assert number in book.numbers
        assert sorted(book.numbers) == list(range(50))

    async def test_followers_and_stages_do_not_share_records(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("shared")
        one, other, stage = Notebook(), Notebook(), Notebook()
        await bus.publish(topic, spread(20))
        async with bus.follow(topic, one.handle) as first, bus.follow(topic, other.handle) as second:
            await bus.run([Stage(harness.stage("shared"), topic, stage.handle)], until_idle=True)
            await first.current()
            await second.current()
        assert sorted(one.numbers) == sorted(other.numbers) == sorted(stage.numbers) == list(range(20))

    async def test_a_follower_of_an_empty_topic_is_current(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("empty"), Notebook()
        async with bus.follow(topic, book.handle) as follower:
            await follower.current()
        assert book.batches == []

    async def test_a_follower_leaves_out_what_cannot_be_decoded(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("unreadable"), Notebook()
        await bus.publish(topic, noted([1]))
        await bus.append(topic.name, [Entry(b"key", b"{", {})])
        await bus.publish(topic, noted([2]))
        async with bus.follow(topic, book.handle) as follower:
            await follower.current()
        assert book.numbers == [1, 2]

    async def test_whoever_waits_for_a_follower_is_told_why_it_ended(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("broken"), Notebook()
        book.failures[1] = [KeyError("the cause")]
        await bus.publish(topic, noted([1]))
        async with bus.follow(topic, book.handle) as follower:
            with pytest.raises(KeyError, match="the cause"):
                await follower.current()

    async def test_what_is_published_says_which_request_it_goes_back_to(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("traced"), Notebook()
        with tracing.within(tracing.Origins(all="req_1")):
            await bus.publish(topic, noted([1]))
        await bus.publish(topic, noted([2]))
        await bus.run([Stage(harness.stage("traced"), topic, book.handle)], until_idle=True)
        assert [record.headers.get(tracing.REQUEST_ID) for record in book.records] == ["req_1", None]

    async def test_a_bus_that_works_has_no_trouble_to_tell_of(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("well")
        await bus.publish(topic, noted([1]))
        assert bus.trouble is None
        assert bus.nbytes is None or bus.nbytes > 0

    async def test_draining_commits_the_batch_under_way_and_hands_out_no_other(
        self, harness: Harness
    ) -> None:
        bus, topic = await harness.open(), harness.topic("drained")
        begun, go_on, handled = asyncio.Event(), asyncio.Event(), list[int]()

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            begun.set()
            await go_on.wait()
            handled.extend(record.event.number for record in batch)

        stage = Stage(harness.stage("drained"), topic, handle, batch=2)
        await bus.publish(topic, noted(range(6)))
        running = asyncio.create_task(bus.run([stage]))
        await begun.wait()
        draining = asyncio.create_task(bus.drain())
        await asyncio.sleep(0)
        assert not draining.done(), "a batch is under way"
        go_on.set()
        await draining
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        first = list(handled)
        assert first == list(range(len(first)))
        assert len(first) < 6
        book = Notebook()
        bus = await harness.open()
        await bus.run([Stage(stage.name, topic, book.handle)], until_idle=True)
        assert book.numbers == list(range(len(first), 6)), "what was handled is not handed out again"

    async def test_single_dead_letters_are_given_back_or_dropped_and_the_others_stay(
        self, harness: Harness
    ) -> None:
        bus, topic, book = await harness.open(), harness.topic("chosen"), Notebook()
        book.failures = {number: [RejectedError("no")] for number in range(5)}
        stage = Stage(harness.stage("chosen"), topic, book.handle, batch=1)
        await bus.publish(topic, noted(range(5)))
        await bus.run([stage], until_idle=True)
        letters = {_number(letter): letter.id for letter in await bus.dead_letters(topic.name)}
        assert await bus.redrive(topic.name, only=[letters[1]]) == 1
        left = {_number(letter): letter.id for letter in await bus.dead_letters(topic.name)}
        assert set(left) == {0, 2, 3, 4}
        assert await bus.drop(only=[left[3], "no.such.topic.dlq/0/0"]) == 1
        assert {_number(letter) for letter in await bus.dead_letters(topic.name)} == {0, 2, 4}
        assert await bus.depth(topic.dead_letters) == 3
        await bus.run([stage], until_idle=True)
        assert book.numbers == [1]
        assert await bus.drop(topic.name) == 3
        assert await bus.depth(topic.dead_letters) == 0
        await bus.run([stage], until_idle=True)
        assert book.numbers == [1], "what was dropped is never handled"


def _number(letter: DeadLetter) -> int:
    return Noted.model_validate_json(letter.record.value).number
