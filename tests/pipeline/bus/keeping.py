"""What every bus keeps: positions of groups, and dead letters until they are given back."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from pipeline.errors import RejectedError
from pipeline.ports import Position
from pipeline.stage import Record, Stage
from tests.pipeline.bus.contract import EndError, Harness, Notebook, Noted, noted, spread


@pytest.mark.anyio
class KeepingContract:
    """Lag, waiting, rewinding, stopping, reading, and giving back."""

    async def test_lag_counts_what_a_group_has_not_read(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("lagging"), Notebook()
        stage = Stage(harness.stage("lagging"), topic, book.handle)
        await bus.run([stage], until_idle=True)
        await bus.publish(topic, spread(50))
        assert sum((await bus.lag())[stage.group].values()) == 50
        await bus.run([stage], until_idle=True)
        assert set((await bus.lag())[stage.group].values()) == {0}

    async def test_a_stage_that_never_ran_lags_by_all_there_is(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("unread"), Notebook()
        stage = Stage(harness.stage("unread"), topic, book.handle)
        assert sum((await bus.lag([stage]))[stage.group].values()) == 0
        await bus.publish(topic, spread(50))
        assert stage.group not in await bus.lag()
        assert sum((await bus.lag([stage]))[stage.group].values()) == 50
        assert {name for name, _ in (await bus.lag([stage]))[stage.group]} == {topic.name}
        await bus.run([stage], until_idle=True)
        assert set((await bus.lag([stage]))[stage.group].values()) == {0}
        assert (await bus.lag([stage]))[stage.group] == (await bus.lag())[stage.group]

    async def test_a_waiting_stage_is_woken_by_a_publish(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("waiting"), Notebook()
        stage = Stage(harness.stage("waiting"), topic, book.handle)
        running = asyncio.create_task(bus.run([stage]))
        for number in (1, 2):
            (place,) = await bus.publish(topic, noted([number]))
            await bus.reached(stage.group, topic.name, place.partition, place.offset)
            assert book.numbers[-1] == number
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert book.numbers == [1, 2]

    async def test_reached_waits_for_its_own_offset(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("slow"), Notebook()
        stage = Stage(harness.stage("slow"), topic, book.handle, batch=1)
        places = await bus.publish(topic, noted(range(3)))

        async def wait(number: int, place: Position) -> None:
            await bus.reached(stage.group, topic.name, place.partition, place.offset)
            assert number in book.numbers

        waiting = [asyncio.create_task(wait(number, place)) for number, place in enumerate(places)]
        await bus.run([stage], until_idle=True)
        await asyncio.gather(*waiting)

    async def test_a_rewound_group_reads_everything_again(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("rewound"), Notebook()
        stage = Stage(harness.stage("rewound"), topic, book.handle)
        await bus.publish(topic, spread(10))
        await bus.run([stage], until_idle=True)
        await bus.rewind(stage.group, topic.name)
        bus = await harness.open()
        await bus.run([stage], until_idle=True)
        assert Counter(book.numbers) == Counter([*range(10), *range(10)])

    async def test_a_rewind_during_a_batch_is_not_lost(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("meanwhile"), Notebook()

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            if not book.records:
                await bus.rewind(stage.group, topic.name)
            await book.handle(batch)

        stage = Stage(harness.stage("meanwhile"), topic, handle)
        await bus.publish(topic, noted(range(3)))
        await bus.run([stage], until_idle=True)
        assert book.numbers == [0, 1, 2, 0, 1, 2]

    async def test_a_group_that_adopts_another_one_begins_where_that_is(self, harness: Harness) -> None:
        bus, topic, book, others = await harness.open(), harness.topic("heir"), Notebook(), Notebook()
        stage, heir = Stage(harness.stage("old"), topic, book.handle), harness.stage("heir")
        await bus.publish(topic, spread(10))
        await bus.run([stage], until_idle=True)
        successor = Stage(heir, topic, others.handle, generation=3)
        await bus.adopt(successor.group, topic.name, stage.group)
        bus = await harness.open()
        await bus.publish(topic, noted([10]))
        await bus.run([successor], until_idle=True)
        assert others.numbers == [10]
        assert sum((await bus.lag())[stage.group].values()) == 1

    async def test_a_group_that_adopts_one_without_a_position_begins_at_the_start(
        self, harness: Harness
    ) -> None:
        bus, topic, book = await harness.open(), harness.topic("nobody"), Notebook()
        stage = Stage(harness.stage("first"), topic, book.handle)
        await bus.publish(topic, spread(5))
        await bus.adopt(stage.group, topic.name, "recollect.nobody")
        await bus.run([stage], until_idle=True)
        assert sorted(book.numbers) == [0, 1, 2, 3, 4]

    async def test_a_group_that_runs_adopts_nothing(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("running"), Notebook()

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            with pytest.raises(ValueError, match="is running"):
                await bus.adopt(stage.group, topic.name, "recollect.other")
            await book.handle(batch)

        stage = Stage(harness.stage("running"), topic, handle)
        await bus.publish(topic, noted([1]))
        await bus.run([stage], until_idle=True)
        assert book.numbers == [1]

    async def test_a_forgotten_group_has_no_lag(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("gone")
        stage = Stage(harness.stage("gone"), topic, Notebook().handle)
        await bus.publish(topic, spread(5))
        await bus.run([stage], until_idle=True)
        assert stage.group in await bus.lag()
        await bus.forget(stage.group)
        assert stage.group not in await bus.lag()

    async def test_a_group_that_runs_cannot_be_forgotten(self, harness: Harness) -> None:
        bus, topic, book = await harness.open(), harness.topic("busy"), Notebook()

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            with pytest.raises(ValueError, match="is running"):
                await bus.forget(stage.group)
            await book.handle(batch)

        stage = Stage(harness.stage("busy"), topic, handle)
        await bus.publish(topic, noted([1]))
        await bus.run([stage], until_idle=True)
        assert book.numbers == [1]

    async def test_a_stage_cannot_run_twice_at_once(self, harness: Harness) -> None:
        bus = await harness.open()
        stage = Stage(harness.stage("twin"), harness.topic("twin"), Notebook().handle)
        with pytest.raises(ValueError, match=stage.group):
            await bus.run([stage, stage])

    async def test_a_loud_stop_says_where(self, harness: Harness) -> None:
        bus, topic, name = await harness.open(), harness.topic("breaking"), harness.stage("breaking")
        book = Notebook(failures={1: [EndError("the end")]})
        (place,) = await bus.publish(topic, noted([1]))
        with pytest.raises(EndError) as caught:
            await bus.run([Stage(name, topic, book.handle)])
        assert caught.value.__notes__ == [f"in stage {name} {topic.name}/{place.partition}, at offset 0"]

    async def test_a_stage_that_cancels_itself_is_a_loud_stop_too(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("cancelling")

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            raise asyncio.CancelledError

        await bus.publish(topic, noted([1]))
        with pytest.raises(RuntimeError, match="cancelled from inside"):
            await bus.run([Stage(harness.stage("cancelling"), topic, handle)])

    async def test_what_was_being_handled_at_a_stop_comes_again(self, harness: Harness) -> None:
        topic, book, begun = harness.topic("stopped"), Notebook(), asyncio.Event()
        name = harness.stage("stopped")

        async def handle(batch: Sequence[Record[Noted]]) -> None:
            begun.set()
            await asyncio.get_running_loop().create_future()

        bus = await harness.open()
        await bus.publish(topic, noted(range(3)))
        running = asyncio.create_task(bus.run([Stage(name, topic, handle)]))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        bus = await harness.open()
        await bus.run([Stage(name, topic, book.handle)], until_idle=True)
        assert book.numbers == [0, 1, 2]

    async def test_reading_starts_at_an_offset_and_ends_at_the_head(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("long")
        await bus.publish(topic, noted(range(1500)))
        (partition,) = {record.partition async for record in bus.read(topic.name)}
        numbers: list[int] = []
        async for record in bus.read(topic.name, partition, 700):
            if not numbers:
                await bus.publish(topic, noted([9999]))
            numbers.append(Noted.model_validate_json(record.value).number)
        assert numbers == list(range(700, 1500))

    async def test_reading_ends_before_an_offset(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("bounded")
        await bus.publish(topic, noted(range(20)))
        (partition,) = {record.partition async for record in bus.read(topic.name)}
        for end, last in ((15, 15), (5, 5), (99, 20)):
            found = [record.offset async for record in bus.read(topic.name, partition, 5, end)]
            assert found == list(range(5, last))

    async def test_what_is_to_come_is_foreseen_from_where_the_group_stands(self, harness: Harness) -> None:
        bus, topic, book, foreseen = await harness.open(), harness.topic("future"), Notebook(), Notebook()
        stage = Stage(harness.stage("future"), topic, book.handle, foresee=foreseen.handle)
        await bus.publish(topic, spread(20))
        await bus.run([stage], until_idle=True)
        await bus.publish(topic, [("key", Noted(number=number)) for number in range(20, 25)])
        await bus.foresee([stage])
        assert foreseen.numbers == list(range(20, 25))
        assert sorted(book.numbers) == list(range(20))

    async def test_redriven_records_return_at_their_first_place(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("redriven")
        book = Notebook(failures={1: [RejectedError("not yet")] * 2})
        stage = Stage(harness.stage("redriven"), topic, book.handle)
        places = await bus.publish(topic, noted([0, 1, 2]))
        await bus.run([stage], until_idle=True)
        assert await bus.depth(topic.dead_letters) == 1
        assert await bus.redrive(topic.name) == 1
        assert await bus.redrive(topic.name) == 0
        assert await bus.dead_letters(topic.name) == []
        assert await bus.depth(topic.dead_letters) == 0
        await bus.run([stage], until_idle=True)
        again = book.records[-1]
        assert (again.event.number, Position(again.partition, again.offset)) == (1, places[1])
        assert again.headers["redriven-offset"] == "1"

    async def test_what_is_parked_again_keeps_its_origin(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("stubborn")
        book = Notebook(failures={1: [RejectedError("never")] * 10})
        stage = Stage(harness.stage("stubborn"), topic, book.handle)
        await bus.publish(topic, noted([1, 2]))
        await bus.run([stage], until_idle=True)
        first = await bus.dead_letters(topic.name)
        await bus.redrive(topic.name)
        await bus.run([stage], until_idle=True)
        second = await bus.dead_letters(topic.name)
        assert [letter.origin for letter in second] == [letter.origin for letter in first]
        assert second[0].record.value == first[0].record.value

    async def test_dead_letters_are_listed_and_given_back_up_to_a_limit(self, harness: Harness) -> None:
        bus, topic = await harness.open(), harness.topic("limit")
        book = Notebook(failures={number: [RejectedError("no")] * 10 for number in range(6)})
        await bus.publish(topic, spread(6))
        await bus.run([Stage(harness.stage("limit"), topic, book.handle)], until_idle=True)
        assert len(await bus.dead_letters(topic.name)) == 6
        listed = await bus.dead_letters(topic.name, limit=4)
        assert len(listed) == 4
        assert await bus.redrive(topic.name, limit=4) == 4
        left = await bus.dead_letters(topic.name)
        assert len(left) == 2
        assert not {letter.origin for letter in left} & {letter.origin for letter in listed}
