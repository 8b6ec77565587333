"""Contract of every bus: positions of groups, reading, and dead letters until they are redriven."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from pipeline.errors import RejectedError
from pipeline.ports import Position
from pipeline.stage import Record, Stage
from tests.pipeline.bus.bus_contract import (
    Harness,
    NumberedEvent,
    RecordingHandler,
    SimulatedCrashError,
    events_across_keys,
    numbered_events,
)


@pytest.mark.anyio
class PositionsContract:
    """Lag, waiting, rewinding, stopping, reading, and redriving."""

    async def test_lag_counts_what_a_group_has_not_read(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("lagging"), RecordingHandler()
        stage = Stage(harness.stage("lagging"), topic, handler.handle)
        await bus.run([stage], until_idle=True)
        await bus.publish(topic, events_across_keys(50))
        assert sum((await bus.lag())[stage.group].values()) == 50
        await bus.run([stage], until_idle=True)
        assert set((await bus.lag())[stage.group].values()) == {0}

    async def test_a_stage_that_never_ran_lags_by_every_record(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("unread"), RecordingHandler()
        stage = Stage(harness.stage("unread"), topic, handler.handle)
        assert sum((await bus.lag([stage]))[stage.group].values()) == 0
        await bus.publish(topic, events_across_keys(50))
        assert stage.group not in await bus.lag()
        assert sum((await bus.lag([stage]))[stage.group].values()) == 50
        assert {name for name, _ in (await bus.lag([stage]))[stage.group]} == {topic.name}
        await bus.run([stage], until_idle=True)
        assert set((await bus.lag([stage]))[stage.group].values()) == {0}
        assert (await bus.lag([stage]))[stage.group] == (await bus.lag())[stage.group]

    async def test_an_idle_stage_is_woken_by_a_publish(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("waiting"), RecordingHandler()
        stage = Stage(harness.stage("waiting"), topic, handler.handle)
        running = asyncio.create_task(bus.run([stage]))
        for number in (1, 2):
            (place,) = await bus.publish(topic, numbered_events([number]))
            await bus.wait_until_consumed(stage.group, topic.name, place.partition, place.offset)
            assert handler.numbers[-1] == number
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert handler.numbers == [1, 2]

    async def test_waiting_until_consumed_ends_at_the_given_offset(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("slow"), RecordingHandler()
        stage = Stage(harness.stage("slow"), topic, handler.handle, batch_size=1)
        places = await bus.publish(topic, numbered_events(range(3)))

        async def wait(number: int, place: Position) -> None:
            await bus.wait_until_consumed(stage.group, topic.name, place.partition, place.offset)
            assert number in handler.numbers

        waiting = [asyncio.create_task(wait(number, place)) for number, place in enumerate(places)]
        await bus.run([stage], until_idle=True)
        await asyncio.gather(*waiting)

    async def test_a_rewound_group_reads_everything_again(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("rewound"), RecordingHandler()
        stage = Stage(harness.stage("rewound"), topic, handler.handle)
        await bus.publish(topic, events_across_keys(10))
        await bus.run([stage], until_idle=True)
        await bus.rewind(stage.group, topic.name)
        bus = await harness.open()
        await bus.run([stage], until_idle=True)
        assert Counter(handler.numbers) == Counter([*range(10), *range(10)])

    async def test_a_rewind_during_a_batch_is_not_lost(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("meanwhile"), RecordingHandler()

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            if not handler.records:
                await bus.rewind(stage.group, topic.name)
            await handler.handle(batch)

        stage = Stage(harness.stage("meanwhile"), topic, handle)
        await bus.publish(topic, numbered_events(range(3)))
        await bus.run([stage], until_idle=True)
        assert handler.numbers == [0, 1, 2, 0, 1, 2]

    async def test_a_group_with_copied_offsets_starts_at_the_source_groups_position(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("successor_name")
        handler, successor_handler = RecordingHandler(), RecordingHandler()
        stage, successor_name = (
            Stage(harness.stage("old"), topic, handler.handle),
            harness.stage("successor_name"),
        )
        await bus.publish(topic, events_across_keys(10))
        await bus.run([stage], until_idle=True)
        successor = Stage(successor_name, topic, successor_handler.handle, generation=3)
        await bus.copy_offsets(successor.group, topic.name, stage.group)
        bus = await harness.open()
        await bus.publish(topic, numbered_events([10]))
        await bus.run([successor], until_idle=True)
        assert successor_handler.numbers == [10]
        assert sum((await bus.lag())[stage.group].values()) == 1

    async def test_a_group_with_offsets_copied_from_an_unknown_group_starts_at_the_beginning(
        self, harness: Harness
    ) -> None:
        bus, topic, handler = await harness.open(), harness.topic("nobody"), RecordingHandler()
        stage = Stage(harness.stage("first"), topic, handler.handle)
        await bus.publish(topic, events_across_keys(5))
        await bus.copy_offsets(stage.group, topic.name, "recollect.nobody")
        await bus.run([stage], until_idle=True)
        assert sorted(handler.numbers) == [0, 1, 2, 3, 4]

    async def test_offsets_of_a_running_group_cannot_be_replaced(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("running"), RecordingHandler()

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            with pytest.raises(ValueError, match="is running"):
                await bus.copy_offsets(stage.group, topic.name, "recollect.other")
            await handler.handle(batch)

        stage = Stage(harness.stage("running"), topic, handle)
        await bus.publish(topic, numbered_events([1]))
        await bus.run([stage], until_idle=True)
        assert handler.numbers == [1]

    async def test_a_deleted_group_has_no_lag(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("gone")
        stage = Stage(harness.stage("gone"), topic, RecordingHandler().handle)
        await bus.publish(topic, events_across_keys(5))
        await bus.run([stage], until_idle=True)
        assert stage.group in await bus.lag()
        await bus.delete_group(stage.group)
        assert stage.group not in await bus.lag()

    async def test_a_running_group_cannot_be_deleted(self, harness: Harness) -> None:
        bus, topic, handler = await harness.open(), harness.topic("busy"), RecordingHandler()

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            with pytest.raises(ValueError, match="is running"):
                await bus.delete_group(stage.group)
            await handler.handle(batch)

        stage = Stage(harness.stage("busy"), topic, handle)
        await bus.publish(topic, numbered_events([1]))
        await bus.run([stage], until_idle=True)
        assert handler.numbers == [1]

    async def test_a_stage_cannot_run_twice_at_once(self, harness: Harness) -> None:
        bus = await harness.open()
        stage = Stage(harness.stage("twin"), harness.topic("twin"), RecordingHandler().handle)
        with pytest.raises(ValueError, match=stage.group):
            await bus.run([stage, stage])

    async def test_an_error_that_stops_the_run_names_stage_and_offset(self, harness: Harness) -> None:
        bus, topic, name = await harness.open(), harness.topic("breaking"), harness.stage("breaking")
        handler = RecordingHandler(failures={1: [SimulatedCrashError("the end")]})
        (place,) = await bus.publish(topic, numbered_events([1]))
        with pytest.raises(SimulatedCrashError) as caught:
            await bus.run([Stage(name, topic, handler.handle)])
        assert caught.value.__notes__ == [f"in stage {name} {topic.name}/{place.partition}, at offset 0"]

    async def test_a_stage_that_cancels_itself_stops_the_run_with_an_error(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("cancelling")

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            raise asyncio.CancelledError

        await bus.publish(topic, numbered_events([1]))
        with pytest.raises(RuntimeError, match="cancelled from inside"):
            await bus.run([Stage(harness.stage("cancelling"), topic, handle)])

    async def test_a_batch_interrupted_by_a_stop_is_delivered_again(self, harness: Harness) -> None:
        topic, handler, started = harness.topic("stopped"), RecordingHandler(), asyncio.Event()
        name = harness.stage("stopped")

        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            started.set()
            await asyncio.get_running_loop().create_future()

        bus = await harness.open()
        await bus.publish(topic, numbered_events(range(3)))
        running = asyncio.create_task(bus.run([Stage(name, topic, handle)]))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        bus = await harness.open()
        await bus.run([Stage(name, topic, handler.handle)], until_idle=True)
        assert handler.numbers == [0, 1, 2]

    async def test_reading_starts_at_an_offset_and_ends_at_the_end_offset_of_the_call(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("long")
        await bus.publish(topic, numbered_events(range(1500)))
        (partition,) = {record.partition async for record in bus.read(topic.name)}
        numbers: list[int] = []
        async for record in bus.read(topic.name, partition, 700):
            if not numbers:
                await bus.publish(topic, numbered_events([9999]))
            numbers.append(NumberedEvent.model_validate_json(record.value).number)
        assert numbers == list(range(700, 1500))

    async def test_reading_ends_before_an_offset(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("bounded")
        await bus.publish(topic, numbered_events(range(20)))
        (partition,) = {record.partition async for record in bus.read(topic.name)}
        for end, last in ((15, 15), (5, 5), (99, 20)):
            found = [record.offset async for record in bus.read(topic.name, partition, 5, end)]
            assert found == list(range(5, last))

    async def test_the_backlog_after_the_position_is_applied_optimistically(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("future")
        handler, optimistic = RecordingHandler(), RecordingHandler()
        stage = Stage(harness.stage("future"), topic, handler.handle, apply_optimistically=optimistic.handle)
        await bus.publish(topic, events_across_keys(20))
        await bus.run([stage], until_idle=True)
        await bus.publish(topic, [("key", NumberedEvent(number=number)) for number in range(20, 25)])
        await bus.apply_optimistically([stage])
        assert optimistic.numbers == list(range(20, 25))
        assert sorted(handler.numbers) == list(range(20))

    async def test_redriven_records_keep_their_original_position(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("redriven")
        failures: dict[int, list[BaseException]] = {1: [RejectedError("not yet")] * 10}
        handler = RecordingHandler(failures=failures)
        stage = Stage(harness.stage("redriven"), topic, handler.handle)
        places = await bus.publish(topic, numbered_events([0, 1, 2]))
        await bus.run([stage], until_idle=True)
        assert await bus.depth(topic.dead_letter_topic) == 1
        assert await bus.redrive(topic.name) == 1
        assert await bus.redrive(topic.name) == 0
        assert await bus.dead_letters(topic.name) == []
        assert await bus.depth(topic.dead_letter_topic) == 0
        failures.clear()
        await bus.run([stage], until_idle=True)
        redriven = handler.records[-1]
        assert (redriven.event.number, Position(redriven.partition, redriven.offset)) == (1, places[1])
        assert redriven.headers["redriven-offset"] == "1"

    async def test_a_record_dead_lettered_again_keeps_its_origin(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("stubborn")
        handler = RecordingHandler(failures={1: [RejectedError("never")] * 10})
        stage = Stage(harness.stage("stubborn"), topic, handler.handle)
        await bus.publish(topic, numbered_events([1, 2]))
        await bus.run([stage], until_idle=True)
        first = await bus.dead_letters(topic.name)
        await bus.redrive(topic.name)
        await bus.run([stage], until_idle=True)
        second = await bus.dead_letters(topic.name)
        assert [letter.origin for letter in second] == [letter.origin for letter in first]
        assert second[0].record.value == first[0].record.value

    async def test_dead_letters_are_listed_and_redriven_up_to_a_limit(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("limit")
        handler = RecordingHandler(failures={number: [RejectedError("no")] * 10 for number in range(6)})
        await bus.publish(topic, events_across_keys(6))
        await bus.run([Stage(harness.stage("limit"), topic, handler.handle)], until_idle=True)
        assert len(await bus.dead_letters(topic.name)) == 6
        listed = await bus.dead_letters(topic.name, limit=4)
        assert len(listed) == 4
        assert await bus.redrive(topic.name, limit=4) == 4
        remaining = await bus.dead_letters(topic.name)
        assert len(remaining) == 2
        assert not {letter.origin for letter in remaining} & {letter.origin for letter in listed}
