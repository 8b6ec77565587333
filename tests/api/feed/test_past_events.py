"""Order of past records, whatever the clocks of the processes that wrote them say."""

from pathlib import Path

import pytest

from api.feed.feed_sources import EXTRACTED, FEED_SOURCES, PROCESSED, SUBMITTED
from api.feed.past_events import read_past_records
from pipeline.bus.sqlite.bus import SqliteBus
from schemas.events import Content, DocumentExtracted, DocumentSubmitted
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio
NAMESPACE = "alice#1"


async def test_a_text_comes_after_its_submission_and_before_its_document_is_done(tmp_path: Path) -> None:
    clock = FixedClock()
    bus = await SqliteBus.open(tmp_path, partitions=1, clock=clock)
    try:
        documents = [f"{NAMESPACE}/{number}" for number in range(300)]
        submissions = [
            DocumentSubmitted(operation="add", incarnation=NAMESPACE, document=key, id=key, at=clock.now())
            for key in documents
        ]
        await bus.publish(DOCUMENTS_SUBMITTED, [(event.document, event) for event in submissions])
        clock.advance(-300.0)  # the clock of the process that reads texts is behind
        texts = [
            DocumentExtracted(
                incarnation=NAMESPACE,
                document=key,
                id=key,
                seq=seq,
                at=clock.now(),
                text=Content(text="A line."),
                type="text",
            )
            for seq, key in enumerate(documents)
        ]
        await bus.publish(DOCUMENTS_EXTRACTED, [(event.document, event) for event in texts])
        start = {(source.name, 0): 0 for source in FEED_SOURCES}
        end = start | dict.fromkeys([(source.name, 0) for source in (SUBMITTED, EXTRACTED, PROCESSED)], 300)
        told: dict[str, list[str]] = {}
        async for past in read_past_records(bus, (NAMESPACE,), start, end):
            told.setdefault(past.record.event.document, []).append(past.source.name)
    finally:
        await bus.close()
    assert set(told) == set(documents)
    assert all(steps == ["submitted", "extracted", "processed"] for steps in told.values())
