"""Deferred extraction: the schedule survives a restart, and slow or failing documents hold up no others."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.fact_extractor import ExtractionDelay, ExtractionResult, RuleBasedExtractor
from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.memory.scheduling.deferred_extraction_worker import MAX_CONCURRENT_NAMESPACES
from pipeline.rows import DocumentRow, NamespaceRow
from schemas.topics import MEMORIES_FORMED
from tests.support.fakes import EPOCH
from tests.support.memory_harness import QUIET_SECONDS, MemoryHarness

pytestmark = pytest.mark.anyio


class FlakyExtractor(RuleBasedExtractor):
    """Delays the first requests; documents named `slow` are extracted once released."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[ExtractionDelay] = []
        self.requests: list[list[str]] = []
        self.slow_texts: set[str] = set()
        self.running = 0
        self.released = asyncio.Event()

    async def extract(self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob]) -> Sequence[ExtractionResult]:
        self.requests.append([work.text for work in jobs])
        if self.delays:
            return [self.delays.pop(0)] * len(jobs)
        if any(work.text in self.slow_texts for work in jobs):
            self.running += 1
            await self.released.wait()
        return await super().extract(namespace, jobs)


class SimulatedTimeHarness(MemoryHarness):
    """A harness whose clock jumps to the next moment at which a task waits."""

    def __init__(self) -> None:
        self.extractor = FlakyExtractor()
        self.sleeps: list[float] = []
        super().__init__()
        self.fact_extractor = self.extractor
        self.restart()

    def restart(self) -> None:
        super().restart()
        self.deferred_extraction._sleep = self.sleep

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.clock.advance(seconds)

    async def write_pending(self, name: str, text: str, incarnation: str = "alice#0") -> DocumentRow:
        """Write a document that is pending from now on."""
        self.seq = round((self.clock.now() - EPOCH) / timedelta(seconds=1))
        return await self.write_document(name, text, incarnation=incarnation)

    @property
    def formed_texts(self) -> list[str]:
        return [memory.text for event in self.publisher.events(MEMORIES_FORMED) for memory in event.memories]

    async def wait_for_count(self, count: int) -> None:
        while len(self.formed_texts) < count:  # noqa: ASYNC110 - the work runs in this loop and in a thread
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running_worker(harness: SimulatedTimeHarness) -> AsyncIterator[None]:
    task = asyncio.create_task(harness.deferred_extraction.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_restart_postpones_nothing() -> None:
    world = SimulatedTimeHarness()
    row = await world.write_pending("a", "I live in Rome.")
    world.clock.moment = row.updated_at + timedelta(seconds=QUIET_SECONDS - 2)
    world.restart()
    async with running_worker(world):
        await world.wait_for_count(1)
    assert world.sleeps == [2.0]


async def test_overdue_documents_are_extracted_right_after_a_restart() -> None:
    world = SimulatedTimeHarness()
    row = await world.write_pending("a", "I live in Rome.")
    world.clock.moment = row.updated_at + timedelta(days=1)
    world.restart()
    async with running_worker(world):
        await world.wait_for_count(1)
    assert world.sleeps == []


async def test_documents_of_a_quiet_namespace_are_extracted_together() -> None:
    world = SimulatedTimeHarness()
    for name, town in (("a", "Rome"), ("b", "Oslo"), ("c", "Paris")):
        await world.write_pending(name, f"I live in {town}.")
    async with running_worker(world):
        await world.wait_for_count(3)
    assert [len(texts) for texts in world.extractor.requests] == [3]


async def test_a_delayed_document_records_the_reason_and_is_retried_in_time() -> None:
    world = SimulatedTimeHarness()
    row = await world.write_pending("a", "I live in Rome.")
    world.extractor.delays = [
        ExtractionDelay("the model is away", 30.0),
        ExtractionDelay("it is still away", 60.0),
    ]
    reasons: list[str | None] = []
    world.documents.listeners.append(
        lambda groups: reasons.extend(row.extraction_error for rows in groups.values() for row in rows)
    )
    async with running_worker(world):
        await world.wait_for_count(2)
    assert reasons == ["the model is away", "it is still away"]
    assert world.sleeps[-2:] == [30.0, 60.0]
    provisional, final = world.publisher.records(MEMORIES_FORMED)
    assert (provisional.event.is_provisional, final.event.is_provisional) == (True, False)
    await world.relate.handle([provisional])
    assert world.documents.rows_by_key[row.key][0].extraction_pending, "the model is asked again"
    await world.relate.handle([final])
    [after] = world.documents.rows_by_key[row.key]
    assert (after.extraction_pending, after.extraction_error) == (False, None)


async def test_a_delayed_instant_document_does_not_block_its_stage() -> None:
    world = SimulatedTimeHarness()
    world.extractor.delays = [ExtractionDelay("the model is away", 30.0)]
    row = await world.write_pending("a", "I live in Rome.")
    await world.form.handle([world.extracted_record(row, dreaming="instant")])
    assert world.formed_texts == ["User lives in Rome"], "rules fill in"
    assert world.documents.rows_by_key[row.key][0].extraction_error == "the model is away"
    async with running_worker(world):
        await world.wait_for_count(2)
    assert sum(world.sleeps) == 30.0


async def test_a_slow_namespace_does_not_delay_others() -> None:
    world = SimulatedTimeHarness()
    world.catalog.create("bob")
    await world.write_pending("slow", "I live in Rome.")
    await world.write_pending("quick", "I live in Oslo.", incarnation="bob#0")
    world.extractor.slow_texts = {"I live in Rome."}
    async with running_worker(world):
        await world.wait_for_count(1)
        assert world.formed_texts == ["User lives in Oslo"]
        world.extractor.released.set()
        await world.wait_for_count(2)


async def test_a_bounded_number_of_namespaces_is_extracted_at_a_time() -> None:
    world = SimulatedTimeHarness()
    for number in range(MAX_CONCURRENT_NAMESPACES + 3):
        world.catalog.create(f"n{number}")
        await world.write_pending(f"d{number}", f"I live in Town{number}.", incarnation=f"n{number}#0")
    world.extractor.slow_texts = {f"I live in Town{number}." for number in range(MAX_CONCURRENT_NAMESPACES + 3)}
    async with running_worker(world):
        while world.extractor.running < MAX_CONCURRENT_NAMESPACES:  # noqa: ASYNC110 - it runs in this loop
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.extractor.running == MAX_CONCURRENT_NAMESPACES
        world.extractor.released.set()
        await world.wait_for_count(MAX_CONCURRENT_NAMESPACES + 3)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=20), st.floats(0, 60), st.floats(0, 200))
@settings(max_examples=100)
def test_documents_are_due_after_a_quiet_period_or_the_maximum_wait(
    came: list[float], quiet: float, longest: float
) -> None:
    times = [EPOCH + timedelta(seconds=seconds) for seconds in sorted(came)]
    due = DebouncePolicy.from_seconds(quiet, longest).due_at(times[0], times[-1])
    assert due <= times[-1] + timedelta(seconds=quiet)
    assert due <= times[0] + timedelta(seconds=max(quiet, longest))
    assert due >= times[0] + timedelta(seconds=quiet)
