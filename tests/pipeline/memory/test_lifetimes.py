"""Memories that say their own end are forgotten after it, and only those."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.locks import LocalLocks
from pipeline.memory.drafts import drafts
from pipeline.memory.expiry import Expiry
from pipeline.memory.lifetimes import end
from schemas.topics import MEMORIES_FORGOTTEN
from tests.pipeline.memory.world import World

SAID = datetime(2026, 11, 22, 18, tzinfo=UTC)


def _end(said: str) -> date | None:
    (draft,) = drafts(said, SAID.date())
    over = end(draft.text, draft.dates, SAID)
    return None if over is None else over.date()


@pytest.mark.parametrize(
    ("said", "over"),
    [
        ("I'm on vacation until Friday.", date(2026, 11, 28)),
        ("I have an exam tomorrow.", date(2026, 11, 24)),
        ("The exam is tomorrow.", date(2026, 11, 24)),
        ("I have a dentist appointment on Monday at 3 pm.", date(2026, 11, 24)),
        ("I'm off sick today.", date(2026, 11, 23)),
        ("The road is closed until 2 December.", date(2026, 12, 3)),
        ("I'm on parental leave until September 2027.", date(2027, 10, 1)),
        ("I was on vacation until Friday.", None),
        ("I worked at Acme until 2019.", None),
        ("I have a class every Monday until 2027.", None),
        ("I moved to Rome on 3 May 2026.", None),
        ("I live in Rome.", None),
        ("My birthday is on 3 May.", None),
    ],
)
def test_a_memory_is_over_when_it_says_so(said: str, over: date | None) -> None:
    assert _end(said) == over


@given(st.text(), st.lists(st.one_of(st.text(max_size=12), st.dates().map(str)), max_size=3), st.datetimes())
def test_whatever_dates_are_written_an_end_is_after_it_was_said(
    text: str, dates: list[str], said: datetime
) -> None:
    over = end(f"{text} is valid until 3 May", dates, said.replace(tzinfo=UTC))
    assert over is None or over > said.replace(tzinfo=UTC)


def _expiry(world: World) -> Expiry:
    return Expiry(
        memories=world.memories,
        catalog=world.catalog,
        publisher=world.publisher,
        clock=world.clock,
        locks=LocalLocks(),
    )


async def _passed(world: World, expiry: Expiry) -> int:
    before = len(world.publisher.events(MEMORIES_FORGOTTEN))
    found = await expiry.look()
    await world.forget.handle(world.publisher.records(MEMORIES_FORGOTTEN, since=before))
    return found


@pytest.mark.anyio
async def test_what_is_over_is_forgotten_once_and_says_why() -> None:
    world = World()
    await world.say("a", "I have an exam on 3 January 2026. I like tea.", date="2026-01-01")
    expiry = _expiry(world)
    assert await _passed(world, expiry) == 0
    world.clock.advance(3.5 * 86_400)
    assert await _passed(world, expiry) == 1
    assert world.latest() == {"User likes tea"}
    (row,) = [row for row in world.memories.rows if row.forgotten_at is not None]
    assert (row.is_latest, row.forget_reason) == (False, "its own end has passed")
    assert await _passed(world, expiry) == 0


@pytest.mark.anyio
async def test_what_was_over_before_it_came_in_is_never_recalled() -> None:
    world = World()
    await world.say("a", "I'm on vacation until 7 August 2020.", date="2020-08-01")
    assert world.latest() == set()
    assert [row.forget_reason for row in world.memories.rows] == ["its own end has passed"]


@pytest.mark.anyio
async def test_the_version_before_does_not_come_back() -> None:
    world = World()
    await world.say("a", "The exam is on 5 January 2026.", date="2026-01-01")
    await world.say("b", "The exam was moved to 9 January 2026.", date="2026-01-02")
    world.clock.advance(30 * 86_400)
    await _passed(world, _expiry(world))
    assert world.latest() <= {"The exam was moved to 9 January 2026"}


@pytest.mark.anyio
async def test_what_nobody_owns_any_more_is_left_alone() -> None:
    world = World()
    await world.say("a", "I have an exam on 3 January 2026.", date="2026-01-01")
    world.clock.advance(30 * 86_400)
    world.catalog.names.clear()
    assert await _expiry(world).look() == 0
