import asyncio

import pytest

from pipeline.changes import Changes
from pipeline.errors import OutageError

pytestmark = pytest.mark.anyio


class Log:
    """Settings in a log that others write, and what this process knows of them."""

    def __init__(self) -> None:
        self.published = 0
        self.known = 0
        self.asked = 0
        self.being_asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def current(self) -> None:
        self.asked += 1
        self.being_asked.set()
        seen = self.published
        await self.open.wait()
        self.known = max(self.known, seen)


async def test_whoever_has_the_turn_knows_what_was_changed_before() -> None:
    log = Log()
    changes = Changes(current=log.current)
    log.published = 3
    async with changes.turn():
        assert log.known == 3


async def test_changes_that_each_add_one_lose_none() -> None:
    log = Log()
    changes = Changes(current=log.current)

    async def add() -> None:
        async with changes.turn():
            value = log.known
            await asyncio.sleep(0)
            log.published = value + 1

    await asyncio.gather(*(add() for _ in range(20)))
    await changes.current()
    assert log.known == 20


async def test_who_asks_while_an_answer_is_under_way_gets_one_that_began_after_the_question() -> None:
    log = Log()
    changes = Changes(current=log.current)
    log.open.clear()
    first = asyncio.create_task(changes.current())
    await log.being_asked.wait()
    log.published = 7
    later = [asyncio.create_task(changes.current()) for _ in range(50)]
    await asyncio.sleep(0)
    log.open.set()
    await asyncio.gather(first, *later)
    assert log.known == 7
    assert log.asked == 2


async def test_an_answer_that_nobody_waits_for_any_more_is_still_the_others() -> None:
    log = Log()
    changes = Changes(current=log.current)
    log.open.clear()
    impatient, patient = asyncio.create_task(changes.current()), asyncio.create_task(changes.current())
    await asyncio.sleep(0)
    impatient.cancel()
    log.open.set()
    await patient
    assert log.asked == 1


async def test_a_reader_does_without_when_the_bus_is_away_and_a_writer_is_told() -> None:
    async def away() -> None:
        raise OutageError("the bus is away")

    changes = Changes(current=away)
    await changes.glance()
    with pytest.raises(OutageError):
        async with changes.turn():
            pass


async def test_a_line_of_writers_ends_when_nobody_can_know_the_settings() -> None:
    """Each would wait in vain; none waits for what those before it wait."""
    log = Log()
    log.open.clear()
    changes = Changes(current=log.current, seconds=0.01)

    async def change() -> None:
        async with changes.turn():
            pass

    ended = await asyncio.gather(*(change() for _ in range(20)), return_exceptions=True)
    assert {type(one) for one in ended} == {OutageError}
    log.open.set()
    async with Changes(current=log.current).turn():
        assert log.known == 0


async def test_a_process_that_has_the_log_to_itself_asks_nobody() -> None:
    changes = Changes()
    await changes.glance()
    async with changes.turn():
        await changes.current()
