"""The follower of submissions: what was acknowledged is shown to every later reader."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app import submission_follower
from app.submission_follower import SubmissionFollower
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.ports import Position
from pipeline.stage import Record, Stage
from schemas.events import DocumentSubmitted
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.fakes import EPOCH, FixedClock

pytestmark = pytest.mark.anyio


class SlowReaders:
    """Readers that see submissions once they may."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.may_see = asyncio.Event()

    async def show(self, batch: Sequence[Record[DocumentSubmitted]]) -> None:
        await self.may_see.wait()
        self.shown += [record.event.id for record in batch]


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[SqliteBus]:
    bus = await SqliteBus.open(tmp_path, partitions=4, clock=FixedClock())
    yield bus
    await bus.close()


async def submit(bus: SqliteBus, id_: str) -> list[Position]:
    key = document_key("alice#0", id_)
    event = DocumentSubmitted(operation="add", incarnation="alice#0", document=key, id=id_, at=EPOCH)
    return await bus.publish(DOCUMENTS_SUBMITTED, [("alice#0", event)])


async def test_a_read_waits_for_what_was_acknowledged_before_it_was_shown(
    bus: SqliteBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission_follower, "APPLY_TIMEOUT_SECONDS", 0.01)
    readers = SlowReaders()
    follower = SubmissionFollower(bus, Stage("extract", DOCUMENTS_SUBMITTED, readers.show), readers.show)
    assert not await follower.wait_until_shown(await submit(bus, "late"))
    reading = asyncio.create_task(follower.refresh_if_available())
    done, _ = await asyncio.wait([reading], timeout=0.05)
    assert not done
    readers.may_see.set()
    await reading
    assert readers.shown == ["late"]
    await follower.close()


async def test_a_read_waits_for_nothing_else_where_one_process_owns_the_tables(bus: SqliteBus) -> None:
    readers = SlowReaders()
    follower = SubmissionFollower(bus, Stage("extract", DOCUMENTS_SUBMITTED, readers.show), readers.show)
    await submit(bus, "not acknowledged yet")
    await follower.refresh_if_available()
    assert readers.shown == []
    await follower.close()
