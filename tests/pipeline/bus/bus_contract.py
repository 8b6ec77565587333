"""Contract of every bus. The test module of an adapter subclasses `BusContract` and provides a `harness`."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import pytest

from pipeline.bus.delivery import CIRCUIT_BREAKER_THRESHOLD, RetryPolicy
from pipeline.bus.port import Bus
from pipeline.bus.records import DeadLetter, ProducerRecord
from pipeline.errors import FollowerClosedError, RejectedError, RetryableError, StageFaultError
from pipeline.ports import Position
from pipeline.runtime import correlation
from pipeline.stage import Record, Stage
from schemas.base import Event
from schemas.topics import Topic

FAST_RETRIES = RetryPolicy(max_attempts=3, initial_delay=0.001, max_delay=0.002)
"""Retry policy that a harness opens its bus with."""


class NumberedEvent(Event):
    """Event with a number to recognise it."""

    number: int


class Harness(Protocol):
    """Factory of buses on one log, with unique names of topics and stages."""

    async def open(self) -> Bus:
        """Open the bus with FAST_RETRIES and several partitions; closes the previous one."""
        ...

    def topic(self, name: str) -> Topic[NumberedEvent]: ...

    def stage(self, name: str) -> str: ...


@dataclass
class RecordingHandler:
    """Batch handler that records its input and fails as configured."""

    records: list[Record[NumberedEvent]] = field(default_factory=list)
    batches: list[list[int]] = field(default_factory=list)
    failures: dict[int, list[BaseException]] = field(default_factory=dict)
    """Errors to raise for a number, one per attempt, before it succeeds."""

    async def handle(self, batch: Sequence[Record[NumberedEvent]]) -> None:
        self.batches.append([record.event.number for record in batch])
        for record in batch:
            if self.failures.get(record.event.number):
                raise self.failures[record.event.number].pop(0)
        self.records.extend(batch)

    @property
    def numbers(self) -> list[int]:
        return [record.event.number for record in self.records]


def numbered_events(numbers: Sequence[int], key: str = "key") -> list[tuple[str, NumberedEvent]]:
    return [(key, NumberedEvent(number=number)) for number in numbers]


def events_across_keys(count: int) -> list[tuple[str, NumberedEvent]]:
    """Create events under many keys, so that every partition gets some."""
    return [(f"key-{number % 17}", NumberedEvent(number=number)) for number in range(count)]


class SimulatedCrashError(BaseException):
    """Crash of a process: no delivery policy catches it."""


@pytest.mark.anyio
class BusContract:
    """Order, at-least-once delivery, dead letters, followers and independent groups."""

    async def test_records_of_a_key_arrive_in_the_order_they_were_published(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("order"), RecordingHandler()
        for start in range(0, 100, 20):
            await bus.publish(topic, events_across_keys(100)[start : start + 20])
        await bus.run([Stage(harness.stage("order"), topic, handler.handle, batch_size=7)], until_idle=True)
        by_key: dict[str, list[int]] = defaultdict(list)
        for record in handler.records:
            by_key[record.key].append(record.event.number)
        assert sorted(handler.numbers) == list(range(100))
        assert all(numbers == sorted(numbers) for numbers in by_key.values())

    async def test_offsets_of_a_partition_rise_one_by_one_in_the_order_of_delivery(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("offsets"), RecordingHandler()
        await bus.publish(topic, events_across_keys(60))
        await bus.run([Stage(harness.stage("offsets"), topic, handler.handle, batch_size=9)], until_idle=True)
        offsets: dict[int, list[int]] = defaultdict(list)
        for record in handler.records:
            offsets[record.partition].append(record.offset)
        assert len(offsets) > 1
        assert all(found == list(range(len(found))) for found in offsets.values())

    async def test_publish_returns_the_position_of_each_record(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("places"), RecordingHandler()
        places = await bus.publish(topic, events_across_keys(40))
        await bus.run([Stage(harness.stage("places"), topic, handler.handle)], until_idle=True)
        found = {record.event.number: Position(record.partition, record.offset) for record in handler.records}
        assert [found[number] for number in range(40)] == places

    async def test_a_key_stays_in_its_partition(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("partition")
        first = await bus.publish(topic, events_across_keys(17))
        bus = await harness.open()
        second = await bus.publish(topic, events_across_keys(17))
        assert [place.partition for place in first] == [place.partition for place in second]
        assert len({place.partition for place in first}) > 1

    async def test_a_batch_is_never_larger_than_the_batch_size_of_the_stage(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("batch"), RecordingHandler()
        await bus.publish(topic, numbered_events(range(20)))
        await bus.run([Stage(harness.stage("batch"), topic, handler.handle, batch_size=6)], until_idle=True)
        assert max(map(len, handler.batches)) <= 6
        assert handler.numbers == list(range(20))

    async def test_published_records_survive_a_restart(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("durable"), RecordingHandler()
        await bus.publish(topic, numbered_events(range(10)))
        bus = await harness.open()
        await bus.run([Stage(harness.stage("durable"), topic, handler.handle)], until_idle=True)
        assert handler.numbers == list(range(10))

    async def test_a_restart_resumes_after_the_handled_records(self, harness: Harness) -> None:
        topic, handler = harness.topic("resume"), RecordingHandler()
        stage = Stage(harness.stage("resume"), topic, handler.handle)
        bus = await harness.open()
        await bus.publish(topic, numbered_events(range(10)))
        await bus.run([stage], until_idle=True)
        bus = await harness.open()
        await bus.publish(topic, numbered_events(range(10, 15)))
        await bus.run([stage], until_idle=True)
        assert handler.numbers == list(range(15))

    async def test_a_handled_but_uncommitted_batch_is_delivered_again(self, harness: Harness) -> None:
        topic, handler = harness.topic("again"), RecordingHandler()

        async def handle_and_die(batch: Sequence[Record[NumberedEvent]]) -> None:
            await handler.handle(batch)
            raise SimulatedCrashError

        name = harness.stage("again")
        bus = await harness.open()
        await bus.publish(topic, numbered_events(range(5)))
        with pytest.raises(SimulatedCrashError):
            await bus.run([Stage(name, topic, handle_and_die)])
        bus = await harness.open()
        await bus.run([Stage(name, topic, handler.handle)], until_idle=True)
        assert handler.numbers == [*range(5), *range(5)]

    async def test_a_retryable_error_is_retried_until_it_succeeds(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("retry"), RecordingHandler()
        handler.failures[3] = [RetryableError("busy"), RetryableError("busy")]
        await bus.publish(topic, numbered_events(range(6)))
        await bus.run([Stage(harness.stage("retry"), topic, handler.handle)], until_idle=True)
        assert set(handler.numbers) == set(range(6))
        assert await bus.dead_letters(topic.name) == []

    async def test_records_that_always_fail_are_dead_lettered_and_the_others_handled(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("poison"), RecordingHandler()
        handler.failures[2] = [RejectedError("no such thing")] * 10
        handler.failures[4] = [RetryableError("never there")] * 100
        places = await bus.publish(topic, numbered_events(range(7)))
        name = harness.stage("poison")
        await bus.run([Stage(name, topic, handler.handle)], until_idle=True)
        assert set(handler.numbers) == {0, 1, 3, 5, 6}
        rejected, unavailable = await bus.dead_letters(topic.name)
        assert rejected.origin == (topic.name, places[2].partition, places[2].offset)
        assert (rejected.stage, rejected.error, rejected.error_type) == (
            name,
            "no such thing",
            "RejectedError",
        )
        assert unavailable.origin == (topic.name, places[4].partition, places[4].offset)
        assert (unavailable.error, unavailable.attempts) == ("never there", FAST_RETRIES.max_attempts)

    async def test_a_dead_lettered_record_is_not_delivered_again_after_a_restart(self, harness: Harness) -> None:
        topic, handler = harness.topic("parked"), RecordingHandler()
        handler.failures[0] = [RejectedError("no")] * 10
        stage = Stage(harness.stage("parked"), topic, handler.handle)
        bus = await harness.open()
        await bus.publish(topic, numbered_events([0]))
        await bus.run([stage], until_idle=True)
        bus = await harness.open()
        await bus.run([stage], until_idle=True)
        assert handler.batches == [[0]]
        assert len(await bus.dead_letters(topic.name)) == 1

    @pytest.mark.parametrize("value", [b"", b"{", b'{"number": "many"}', b"\xff\x00\xfe", b"null"])
    async def test_an_undecodable_record_is_dead_lettered_byte_for_byte(self, harness: Harness, value: bytes) -> None:
        bus, topic, handler = await harness.open(), harness.topic("undecodable"), RecordingHandler()
        await bus.publish(topic, numbered_events([1]))
        await bus.append(topic.name, [ProducerRecord(b"key", value, {"trace": "abc"})])
        await bus.publish(topic, numbered_events([2]))
        await bus.run([Stage(harness.stage("undecodable"), topic, handler.handle)], until_idle=True)
        assert handler.numbers == [1, 2]
        (letter,) = await bus.dead_letters(topic.name)
        assert (letter.record.key, letter.record.value, letter.attempts) == (b"key", value, 0)
        assert letter.record.headers["trace"] == "abc"
        assert letter.error

    async def test_a_record_whose_key_is_not_utf8_is_dead_lettered(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("key"), RecordingHandler()
        await bus.append(topic.name, [ProducerRecord(b"\xff", b'{"number": 1}', {})])
        await bus.run([Stage(harness.stage("key"), topic, handler.handle)], until_idle=True)
        (letter,) = await bus.dead_letters(topic.name)
        assert (letter.record.key, handler.numbers) == (b"\xff", [])

    async def test_two_stages_read_one_topic_independently(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("two")
        one_handler, other_handler = RecordingHandler(), RecordingHandler()
        one_handler.failures[1] = [RejectedError("only here")] * 10
        await bus.publish(topic, numbered_events(range(4)))
        first = Stage(harness.stage("one"), topic, one_handler.handle)
        second = Stage(harness.stage("other"), topic, other_handler.handle, batch_size=1)
        await bus.run([first], until_idle=True)
        await bus.run([first, second], until_idle=True)
        assert one_handler.numbers == [0, 2, 3]
        assert other_handler.numbers == [0, 1, 2, 3]

    async def test_events_published_by_a_stage_are_consumed_in_the_same_run(self, harness: Harness) -> None:
        bus, handler = await harness.open(), RecordingHandler()
        source, target = harness.topic("source"), harness.topic("target")

        async def double(batch: Sequence[Record[NumberedEvent]]) -> None:
            await bus.publish(target, [(record.key, NumberedEvent(number=record.event.number * 2)) for record in batch])

        await bus.publish(source, events_across_keys(30))
        await bus.run(
            [
                Stage(harness.stage("last"), target, handler.handle),
                Stage(harness.stage("double"), source, double),
            ],
            until_idle=True,
        )
        assert sorted(handler.numbers) == [number * 2 for number in range(30)]

    async def test_a_base_exception_of_a_stage_stops_the_run(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("loud"), RecordingHandler()
        handler.failures[0] = [SimulatedCrashError("the end")]
        await bus.publish(topic, numbered_events([0]))
        with pytest.raises(SimulatedCrashError, match="the end"):
            await bus.run([Stage(harness.stage("loud"), topic, handler.handle)])
        assert await bus.dead_letters(topic.name) == []

    async def test_a_stage_that_fails_on_every_record_stops_and_resumes_after_the_dead_letters(
        self, harness: Harness
    ) -> None:
        topic, name, handler = harness.topic("faulty"), harness.stage("faulty"), RecordingHandler()

        async def fail(batch: Sequence[Record[NumberedEvent]]) -> None:
            raise KeyError(batch[0].event.number)

        bus = await harness.open()
        await bus.publish(topic, numbered_events(range(CIRCUIT_BREAKER_THRESHOLD + 5)))
        with pytest.raises(StageFaultError):
            await bus.run([Stage(name, topic, fail)])
        bus = await harness.open()
        await bus.run([Stage(name, topic, handler.handle)], until_idle=True)
        assert handler.numbers == list(range(CIRCUIT_BREAKER_THRESHOLD, CIRCUIT_BREAKER_THRESHOLD + 5))
        assert len(await bus.dead_letters(topic.name)) == CIRCUIT_BREAKER_THRESHOLD

    async def test_values_are_read_back_byte_for_byte(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("bytes")
        entries = [
            ProducerRecord(b"k", bytes(range(256)), {"name": "välue \u2713"}),
            ProducerRecord(b"k", b"", {}),
        ]
        await bus.append(topic.name, entries)
        found = [record async for record in bus.read(topic.name)]
        assert [ProducerRecord(record.key, record.value, record.headers) for record in found] == entries

    async def test_a_record_is_read_by_its_key_and_offset(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("places")
        entries = events_across_keys(20)
        places = await bus.publish(topic, entries)
        for (key, event), place in zip(entries, places, strict=True):
            found = await bus.read_record(topic.name, key, place.offset)
            assert found is not None
            assert (found.key.decode(), found.partition) == (key, place.partition)
            assert topic.event_type.model_validate_json(found.value) == event
        assert await bus.read_record(topic.name, entries[0][0], 1000) is None

    async def test_a_partition_is_read_from_a_given_time_on(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("moments")
        for number in range(6):
            await bus.publish(topic, [("k", NumberedEvent(number=number))])
        all_records = [record async for record in bus.read(topic.name)]
        for moment in {record.timestamp for record in all_records}:
            found = [record.offset async for record in bus.records_since(topic.name, "k", moment)]
            assert found == [record.offset for record in all_records if record.timestamp >= moment]
        later = all_records[-1].timestamp + timedelta(days=1)
        assert [record async for record in bus.records_since(topic.name, "k", later)] == []

    async def test_publishing_nothing_does_nothing(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("nothing")
        assert await bus.publish(topic, []) == []
        assert [record async for record in bus.read(topic.name)] == []

    async def test_a_follower_gets_existing_and_new_records(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("followed"), RecordingHandler()
        await bus.publish(topic, events_across_keys(40))
        async with bus.follow(topic, handler.handle) as follower:
            await follower.catch_up()
            assert sorted(handler.numbers) == list(range(40))
            for number in range(40, 50):
                await bus.publish(topic, numbered_events([number]))
                await follower.catch_up()
                assert number in handler.numbers
        assert sorted(handler.numbers) == list(range(50))

    async def test_a_follower_begins_where_a_group_is(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("begun"), RecordingHandler()
        stage = Stage(harness.stage("begun"), topic, RecordingHandler().handle)
        await bus.publish(topic, events_across_keys(20))
        await bus.run([stage], until_idle=True)
        start = await bus.positions(stage.group, topic.name)
        async with bus.follow(topic, handler.handle, start) as follower:
            positions = await bus.publish(topic, numbered_events([20, 21]))
            await follower.wait_for({position.partition: position.offset + 1 for position in positions})
            assert handler.numbers == [20, 21]

    async def test_followers_and_stages_do_not_share_records(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("shared")
        one_handler, other_handler, stage = RecordingHandler(), RecordingHandler(), RecordingHandler()
        await bus.publish(topic, events_across_keys(20))
        async with (
            bus.follow(topic, one_handler.handle) as first,
            bus.follow(topic, other_handler.handle) as second,
        ):
            await bus.run([Stage(harness.stage("shared"), topic, stage.handle)], until_idle=True)
            await first.catch_up()
            await second.catch_up()
        assert sorted(one_handler.numbers) == sorted(other_handler.numbers) == sorted(stage.numbers) == list(range(20))

    async def test_a_follower_of_an_empty_topic_catches_up_at_once(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("empty"), RecordingHandler()
        async with bus.follow(topic, handler.handle) as follower:
            await follower.catch_up()
        assert handler.batches == []

    async def test_a_follower_skips_undecodable_records(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("unreadable"), RecordingHandler()
        await bus.publish(topic, numbered_events([1]))
        await bus.append(topic.name, [ProducerRecord(b"key", b"{", {})])
        await bus.publish(topic, numbered_events([2]))
        async with bus.follow(topic, handler.handle) as follower:
            await follower.catch_up()
        assert handler.numbers == [1, 2]

    async def test_catching_up_raises_the_error_that_ended_the_follower(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("broken"), RecordingHandler()
        handler.failures[1] = [KeyError("the cause")]
        await bus.publish(topic, numbered_events([1]))
        async with bus.follow(topic, handler.handle) as follower:
            with pytest.raises(KeyError, match="the cause"):
                await follower.catch_up()

    async def test_closing_a_follower_fails_who_waits_for_it_and_cancels_nobody(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("closed"), RecordingHandler()
        async with bus.follow(topic, handler.handle) as follower:
            waiting = asyncio.create_task(follower.wait_for({0: 1}))
            await follower.catch_up()
        with pytest.raises(FollowerClosedError):
            await waiting
        await bus.publish(topic, numbered_events(range(10)))
        with pytest.raises(FollowerClosedError):
            await follower.catch_up()

    async def test_a_published_record_carries_the_id_of_its_request(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("traced"), RecordingHandler()
        with correlation.correlation_scope(correlation.Correlation(default="req_1")):
            await bus.publish(topic, numbered_events([1]))
        await bus.publish(topic, numbered_events([2]))
        await bus.run([Stage(harness.stage("traced"), topic, handler.handle)], until_idle=True)
        assert [record.headers.get(correlation.REQUEST_ID_HEADER) for record in handler.records] == [
            "req_1",
            None,
        ]

    async def test_a_working_bus_has_no_health_issue(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("well")
        await bus.publish(topic, numbered_events([1]))
        assert bus.health_issue is None
        assert bus.disk_bytes is None or bus.disk_bytes > 0

    async def test_draining_commits_the_current_batch_and_starts_no_other(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("drained")
        started, may_finish, handled = asyncio.Event(), asyncio.Event(), list[int]()

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            started.set()
            await may_finish.wait()
            handled.extend(record.event.number for record in batch)

        stage = Stage(harness.stage("drained"), topic, handle, batch_size=2)
        await bus.publish(topic, numbered_events(range(6)))
        running = asyncio.create_task(bus.run([stage]))
        await started.wait()
        draining = asyncio.create_task(bus.drain())
        await asyncio.sleep(0)
        assert not draining.done(), "the current batch has not finished"
        may_finish.set()
        await draining
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        first = list(handled)
        assert first == list(range(len(first)))
        assert len(first) < 6
        handler = RecordingHandler()
        bus = await harness.open()
        await bus.run([Stage(stage.name, topic, handler.handle)], until_idle=True)
        assert handler.numbers == list(range(len(first), 6)), "handled records are not delivered again"

    async def test_single_dead_letters_are_redriven_or_dropped_and_the_others_stay(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("chosen"), RecordingHandler()
        handler.failures = {number: [RejectedError("no")] for number in range(5)}
        stage = Stage(harness.stage("chosen"), topic, handler.handle, batch_size=1)
        await bus.publish(topic, numbered_events(range(5)))
        await bus.run([stage], until_idle=True)
        letters = {_number(letter): letter.id for letter in await bus.dead_letters(topic.name)}
        assert await bus.redrive(topic.name, ids=[letters[1]]) == 1
        remaining = {_number(letter): letter.id for letter in await bus.dead_letters(topic.name)}
        assert set(remaining) == {0, 2, 3, 4}
        assert await bus.drop_dead_letters(ids=[remaining[3], "no.such.topic.dlq/0/0"]) == 1
        assert {_number(letter) for letter in await bus.dead_letters(topic.name)} == {0, 2, 4}
        assert await bus.depth(topic.dead_letter_topic) == 3
        await bus.run([stage], until_idle=True)
        assert handler.numbers == [1]
        assert await bus.drop_dead_letters(topic.name) == 3
        assert await bus.depth(topic.dead_letter_topic) == 0
        await bus.run([stage], until_idle=True)
        assert handler.numbers == [1], "dropped dead letters are never handled"


def _number(letter: DeadLetter) -> int:
    return NumberedEvent.model_validate_json(letter.record.value).number
