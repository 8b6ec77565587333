"""Dreaming where several processes share the tables."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.memory.scheduling.deferred_extraction_poller import (
    INITIAL_RETRY_DELAY,
    REDELIVERY_DELAY,
    DeferredExtractionPoller,
)
from pipeline.rows import DocumentRow
from pipeline.runtime.local_locks import LocalLocks
from tests.support.memory_harness import MAX_WAIT_SECONDS, QUIET_SECONDS, MemoryHarness

pytestmark = pytest.mark.anyio


class PollerHarness(MemoryHarness):
    """A harness whose documents are polled by one process or two."""

    def __init__(self) -> None:
        super().__init__()
        self.locks = LocalLocks()
        self.enqueued: list[str] = []
        self.polled = asyncio.Event()
        self.clock.moment = self.now()

    def poller(self) -> DeferredExtractionPoller:
        return DeferredExtractionPoller(
            documents=self.documents,
            catalog=self.catalog,
            clock=self.clock,
            locks=self.locks,
            debounce_policy=DebouncePolicy.from_seconds(QUIET_SECONDS, MAX_WAIT_SECONDS),
            enqueue=self.enqueue,
            sleep=self.sleep,
        )

    async def enqueue(self, row: DocumentRow) -> None:
        self.enqueued.append(row.id)

    async def sleep(self, seconds: float) -> None:
        self.polled.set()
        await asyncio.get_running_loop().create_future()

    async def write_pending(self, name: str) -> DocumentRow:
        """Write a document that is pending from now on."""
        row = await self.write_document(name, f"{name} lives in Rome.")
        row = replace(row, updated_at=self.clock.now())
        await self.documents.update([row.key], lambda _, __: [row])
        return row


async def test_nothing_is_enqueued_before_the_namespace_is_quiet() -> None:
    world = PollerHarness()
    watch = world.poller()
    await world.write_pending("a")
    world.clock.advance(QUIET_SECONDS - 1)
    await world.write_pending("b")
    world.clock.advance(QUIET_SECONDS - 1)
    assert await watch.poll() == 0
    world.clock.advance(1)
    assert await watch.poll() == 2
    assert world.enqueued == ["a", "b"]


async def test_a_busy_namespace_is_enqueued_after_the_maximum_wait() -> None:
    world = PollerHarness()
    watch = world.poller()
    for number in range(round(2 * MAX_WAIT_SECONDS / QUIET_SECONDS)):
        await world.write_pending(f"d{number}")
        assert await watch.poll() == 0
        world.clock.advance(QUIET_SECONDS / 2)
    assert await watch.poll() == round(2 * MAX_WAIT_SECONDS / QUIET_SECONDS)


async def test_an_enqueued_document_is_redelivered_only_after_the_redelivery_delay() -> None:
    world = PollerHarness()
    watch = world.poller()
    await world.write_pending("a")
    world.clock.advance(QUIET_SECONDS)
    assert await watch.poll() == 1
    assert await watch.poll() == 0
    world.clock.advance(REDELIVERY_DELAY / timedelta(seconds=1))
    assert await watch.poll() == 1


async def test_a_new_text_of_a_document_is_enqueued_again() -> None:
    world = PollerHarness()
    watch = world.poller()
    for _ in range(2):
        await world.write_pending("a")
        world.clock.advance(QUIET_SECONDS)
        assert await watch.poll() == 1


async def test_a_failed_document_is_retried_with_growing_delays() -> None:
    world = PollerHarness()
    watch = world.poller()
    row = await world.write_pending("a")
    delayed = replace(row, extraction_mode="instant", extraction_error="the model is away")
    await world.documents.update([row.key], lambda _, __: [delayed])
    assert await watch.poll() == 1, "its stage has tried it, so it need not be quiet"
    for pause in (INITIAL_RETRY_DELAY, 2 * INITIAL_RETRY_DELAY, 4 * INITIAL_RETRY_DELAY):
        world.clock.advance(pause / timedelta(seconds=1) - 1)
        assert await watch.poll() == 0
        world.clock.advance(1)
        assert await watch.poll() == 1


async def test_an_instant_document_is_left_to_its_stage() -> None:
    world = PollerHarness()
    row = await world.write_pending("a")
    await world.documents.update([row.key], lambda _, __: [replace(row, extraction_mode="instant")])
    world.clock.advance(QUIET_SECONDS)
    assert await world.poller().poll() == 0


async def test_a_time_in_the_future_counts_as_now() -> None:
    world = PollerHarness()
    watch = world.poller()
    await world.write_pending("a")
    world.clock.advance(-3600)
    assert await watch.poll() == 0
    world.clock.advance(3600 + QUIET_SECONDS)
    assert await watch.poll() == 1


async def test_one_process_polls_and_another_takes_over_when_it_ends() -> None:
    world = PollerHarness()
    await world.write_pending("a")
    world.clock.advance(QUIET_SECONDS)
    first = asyncio.create_task(world.poller().run())
    await world.polled.wait()
    second = asyncio.create_task(world.poller().run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert world.enqueued == ["a"]
    world.polled.clear()
    first.cancel()
    await world.polled.wait()
    assert world.enqueued == ["a", "a"]
    second.cancel()
    await asyncio.wait([first, second])
