"""Blocks of the log: every record of a range, each block read once for all who come to it together."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from api.feed.log_blocks import BLOCK_RECORDS, LogBlocks
from pipeline.bus.port import Bus
from pipeline.bus.records import RawRecord
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.errors import OutageError
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio
TOPIC = DOCUMENTS_SUBMITTED.name
RECORDS = BLOCK_RECORDS + 100


class _CountingBus:
    """Bus that counts what it is asked to read, and may be away."""

    def __init__(self, bus: SqliteBus) -> None:
        self._bus = bus
        self.readings: list[tuple[int, int | None]] = []
        self.is_away = False

    async def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        self.readings.append((start, end))
        if self.is_away:
            raise OutageError("away")
        async for record in self._bus.read(topic, partition, start, end):
            yield record


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[_CountingBus]:
    """A log with more than a block of records."""
    clock = FixedClock()
    stored = await SqliteBus.open(tmp_path, partitions=1, clock=clock)
    ids = [f"alice#1/{number}" for number in range(RECORDS)]
    events = [
        DocumentSubmitted(operation="add", incarnation="alice#1", document=key, id=key, at=clock.now()) for key in ids
    ]
    await stored.publish(DOCUMENTS_SUBMITTED, [(event.document, event) for event in events])
    yield _CountingBus(stored)
    await stored.close()


async def _offsets(log: LogBlocks, start: int, end: int) -> list[int]:
    return [record.offset async for record in log.read(TOPIC, 0, start, end)]


async def test_a_range_is_read_whole_whatever_blocks_it_touches(bus: _CountingBus) -> None:
    log = LogBlocks(cast("Bus", bus))
    for start, end in ((0, RECORDS), (5, 9), (BLOCK_RECORDS - 1, BLOCK_RECORDS + 1), (RECORDS - 1, RECORDS), (7, 7)):
        assert await _offsets(log, start, end) == list(range(start, end))


async def test_listeners_that_come_together_share_a_reading(bus: _CountingBus) -> None:
    log = LogBlocks(cast("Bus", bus))
    read = await asyncio.gather(*(_offsets(log, start, RECORDS) for start in range(50)))
    assert read == [list(range(start, RECORDS)) for start in range(50)]
    assert len(bus.readings) == 2


async def test_a_block_is_read_again_when_more_of_it_is_wanted_or_something_was_taken_back(bus: _CountingBus) -> None:
    log = LogBlocks(cast("Bus", bus))
    await _offsets(log, 0, 10)
    assert await _offsets(log, 0, 20) == list(range(20))
    log.clear()
    await _offsets(log, 0, 20)
    assert bus.readings == [(0, 10), (0, 20), (0, 20)]


async def test_an_outage_is_told_and_the_next_reader_tries_again(bus: _CountingBus) -> None:
    log = LogBlocks(cast("Bus", bus))
    bus.is_away = True
    with pytest.raises(OutageError):
        await _offsets(log, 0, 10)
    bus.is_away = False
    assert await _offsets(log, 0, 10) == list(range(10))
