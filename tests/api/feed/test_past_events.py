"""Past records: their order, whatever the clocks of the processes that wrote them say, and each of them once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.feed.feed_sources import EXTRACTED, FEED_SOURCES
from api.feed.log_blocks import LogBlocks
from api.feed.past_events import read_past_records
from api.feed.repeated_records import read_lookback
from pipeline.bus.records import decode
from pipeline.bus.sqlite.bus import SqliteBus
from schemas.events import Content, DocumentExtracted, DocumentSubmitted
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio
NAMESPACE = "alice#1"
DOCUMENTS = 300


@pytest.fixture
async def clock_and_bus(tmp_path: Path) -> AsyncIterator[tuple[FixedClock, SqliteBus]]:
    """A log and the clock of those who write it."""
    clock = FixedClock()
    bus = await SqliteBus.open(tmp_path, partitions=1, clock=clock)
    yield clock, bus
    await bus.close()


def _submitted(clock: FixedClock) -> list[DocumentSubmitted]:
    documents = [f"{NAMESPACE}/{number}" for number in range(DOCUMENTS)]
    return [
        DocumentSubmitted(operation="add", incarnation=NAMESPACE, document=key, id=key, at=clock.now())
        for key in documents
    ]


def _extracted(submitted: list[DocumentSubmitted], clock: FixedClock) -> list[DocumentExtracted]:
    return [
        DocumentExtracted(
            incarnation=NAMESPACE,
            document=event.document,
            id=event.id,
            seq=seq,
            at=clock.now(),
            text=Content(text="A line."),
            type="text",
        )
        for seq, event in enumerate(submitted)
    ]


async def _read(bus: SqliteBus, **starts: int) -> dict[str, list[str]]:
    """Names of the sources of each document's records, in order."""
    end = {(source.name, 0): (await bus.end_offsets(source.topic.name)).get(0, 0) for source in FEED_SOURCES}
    start = {(source.name, 0): starts.get(source.name, 0) for source in FEED_SOURCES}
    steps: dict[str, list[str]] = {}
    async for past in read_past_records(LogBlocks(bus), 1, (NAMESPACE,), start, end):
        steps.setdefault(past.record.event.document, []).append(past.source.name)
    return steps


async def test_a_text_comes_after_its_submission_and_before_its_document_is_done(
    clock_and_bus: tuple[FixedClock, SqliteBus],
) -> None:
    clock, bus = clock_and_bus
    submitted = _submitted(clock)
    await bus.publish(DOCUMENTS_SUBMITTED, [(event.document, event) for event in submitted])
    clock.advance(-300.0)  # the clock of the process that reads texts is behind
    texts = _extracted(submitted, clock)
    await bus.publish(DOCUMENTS_EXTRACTED, [(event.document, event) for event in texts])
    steps = await _read(bus)
    assert set(steps) == {event.document for event in submitted}
    assert all(step == ["submitted", "extracted", "processed"] for step in steps.values())


async def test_what_a_stage_published_again_comes_once_also_for_a_listener_that_resumes_between(
    clock_and_bus: tuple[FixedClock, SqliteBus],
) -> None:
    clock, bus = clock_and_bus
    submitted = _submitted(clock)
    await bus.publish(DOCUMENTS_SUBMITTED, [(event.document, event) for event in submitted])
    texts = _extracted(submitted, clock)
    for _ in range(2):
        await bus.publish(DOCUMENTS_EXTRACTED, [(event.document, event) for event in texts])
    steps = await _read(bus)
    assert all(step.count("extracted") == 1 for step in steps.values())
    resumed = await _read(bus, submitted=DOCUMENTS, extracted=DOCUMENTS + 1, processed=DOCUMENTS)
    assert resumed == {}
    live = await read_lookback(bus, EXTRACTED, 0, DOCUMENTS)
    async for raw in bus.read(DOCUMENTS_EXTRACTED.name, 0, DOCUMENTS):
        assert live.is_repeated(decode(DOCUMENTS_EXTRACTED, raw))


async def test_a_text_published_again_for_its_memories_is_no_news(clock_and_bus: tuple[FixedClock, SqliteBus]) -> None:
    clock, bus = clock_and_bus
    submitted = _submitted(clock)
    await bus.publish(DOCUMENTS_SUBMITTED, [(event.document, event) for event in submitted])
    texts = _extracted(submitted, clock)
    again = [text.model_copy(update={"is_repeated": True}) for text in texts * 2]
    await bus.publish(DOCUMENTS_EXTRACTED, [(event.document, event) for event in texts + again])
    steps = await _read(bus)
    assert all(step == ["submitted", "extracted", "processed"] for step in steps.values())
