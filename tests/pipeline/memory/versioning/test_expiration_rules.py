"""Memories that say their own end are forgotten after it, and only those."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.scheduling.expiration_worker import ExpirationWorker
from pipeline.memory.versioning.expiration_rules import expiration_time, takes_effect
from pipeline.runtime.local_locks import LocalLocks
from schemas.topics import MEMORIES_FORGOTTEN
from tests.support.memory_harness import MemoryHarness

STATED_AT = datetime(2026, 11, 22, 18, tzinfo=UTC)


def _expiration_date(text: str) -> date | None:
    (draft,) = extract_facts(text, STATED_AT.date())
    over = expiration_time(draft.text, draft.dates, STATED_AT)
    return None if over is None else over.date()


@pytest.mark.parametrize(
    ("text", "expired_on"),
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
def test_a_memory_expires_at_its_stated_end(text: str, expired_on: date | None) -> None:
    assert _expiration_date(text) == expired_on


@given(st.text(), st.lists(st.one_of(st.text(max_size=12), st.dates().map(str)), max_size=3), st.datetimes())
def test_an_expiration_is_always_after_the_statement(text: str, dates: list[str], stated_at: datetime) -> None:
    expired_at = expiration_time(f"{text} is valid until 3 May", dates, stated_at.replace(tzinfo=UTC))
    assert expired_at is None or expired_at > stated_at.replace(tzinfo=UTC)


def _expiration_worker(world: MemoryHarness) -> ExpirationWorker:
    return ExpirationWorker(
        memories=world.memories,
        catalog=world.catalog,
        publisher=world.publisher,
        clock=world.clock,
        locks=LocalLocks(),
    )


async def _run_after_expiration(world: MemoryHarness, expiry: ExpirationWorker) -> int:
    before = len(world.publisher.events(MEMORIES_FORGOTTEN))
    forgotten_count = await expiry.forget_expired()
    await world.forget.handle(world.publisher.records(MEMORIES_FORGOTTEN, since=before))
    return forgotten_count


@pytest.mark.anyio
async def test_an_expired_memory_is_forgotten_once_with_a_reason() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I have an exam on 3 January 2026. I like tea.", date="2026-01-01")
    expiry = _expiration_worker(world)
    assert await _run_after_expiration(world, expiry) == 0
    world.clock.advance(3.5 * 86_400)
    assert await _run_after_expiration(world, expiry) == 1
    assert world.latest_texts() == {"User likes tea"}
    (row,) = [row for row in world.memories.rows if row.forgotten_at is not None]
    assert (row.is_latest, row.forget_reason) == (False, "expired")
    assert await _run_after_expiration(world, expiry) == 0


@pytest.mark.anyio
async def test_a_memory_expired_before_arrival_is_never_recalled() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I'm on vacation until 7 August 2020.", date="2020-08-01")
    assert world.latest_texts() == set()
    assert [row.forget_reason for row in world.memories.rows] == ["expired"]


@pytest.mark.anyio
async def test_the_previous_version_does_not_return_after_expiration() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "The exam is on 5 January 2026.", date="2026-01-01")
    await world.write_and_extract("b", "The exam was moved to 9 January 2026.", date="2026-01-02")
    world.clock.advance(30 * 86_400)
    await _run_after_expiration(world, _expiration_worker(world))
    assert world.latest_texts() <= {"The exam was moved to 9 January 2026"}


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("User starts at Pret on 3 March", date(2027, 3, 3)),
        ("User starts at Pret on 3 December 2026", date(2026, 12, 3)),
        ("User is moving to Oslo in January", date(2027, 1, 31)),
        ("User is moving to Oslo in the week of 23 November 2026", date(2026, 11, 29)),
        ("User is moving to Oslo on 30 February", None),
        ("User is moving to Oslo soon", None),
    ],
)
def test_a_plan_takes_effect_once_its_last_day_has_begun_everywhere(text: str, day: date | None) -> None:
    expected = None if day is None else datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    assert takes_effect(text, STATED_AT) == expected


VOLVO, POLESTAR = "User works at Volvo", "User is starting at Polestar on 5 January 2026"


async def _harness_with_plan() -> MemoryHarness:
    world = MemoryHarness()
    await world.write_and_extract("now", "I work at Volvo.", date="2026-01-01")
    await world.write_and_extract("plan", "I'm starting at Polestar on 5 January 2026.", date="2026-01-02")
    return world


@pytest.mark.anyio
async def test_a_plan_ends_what_holds_on_its_day() -> None:
    world = await _harness_with_plan()
    assert world.latest_texts() == {VOLVO, POLESTAR}
    assert world.memory(VOLVO).expires_at == datetime(2026, 1, 5, 12, tzinfo=UTC)
    expiry = _expiration_worker(world)
    world.clock.advance(2 * 86_400)
    assert await _run_after_expiration(world, expiry) == 0
    world.clock.advance(3 * 86_400)
    assert await _run_after_expiration(world, expiry) == 1
    assert world.latest_texts() == {POLESTAR}


@pytest.mark.anyio
@pytest.mark.parametrize("said", ["I'm starting at Saab on 9 January 2026 instead.", ""])
async def test_a_plan_that_is_replaced_or_withdrawn_ends_nothing(said: str) -> None:
    world = await _harness_with_plan()
    await (world.write_and_extract("later", said, date="2026-01-03") if said else world.delete_document("plan"))
    expected = datetime(2026, 1, 9, 12, tzinfo=UTC) if said else None
    assert world.memory(VOLVO).expires_at == expected


@pytest.mark.anyio
async def test_what_is_said_after_the_day_replaces_the_plan() -> None:
    world = await _harness_with_plan()
    await world.write_and_extract("later", "I work at Saab now.", date="2026-01-10")
    assert world.latest_texts() == {"User works at Saab now"}
    assert world.memory("User works at Saab now").expires_at is None


@pytest.mark.anyio
async def test_memories_of_deleted_namespaces_are_left_alone() -> None:
    world = MemoryHarness()
    await world.write_and_extract("a", "I have an exam on 3 January 2026.", date="2026-01-01")
    world.clock.advance(30 * 86_400)
    world.catalog.namespaces_by_name.clear()
    assert await _expiration_worker(world).forget_expired() == 0
