"""Group commit: queued jobs share a transaction, and a failing job fails alone."""

import threading
from asyncio import Future, gather, to_thread
from collections.abc import AsyncIterator
from pathlib import Path
from sqlite3 import OperationalError

import pytest

from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite.log_database import LogDatabase, LogTransaction
from pipeline.bus.sqlite.log_writer import LogWriteError, LogWriter
from pipeline.ports import Position

pytestmark = pytest.mark.anyio


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[LogWriter]:
    database = LogDatabase(tmp_path / "log.db", 4)
    writer = LogWriter(database, lambda _: None)
    yield writer
    await writer.close()
    database.close()


def append_note(log: LogTransaction) -> list[Position]:
    return log.append("test.notes.v1", 0, [ProducerRecord(b"key", b"value", {})])


def fail(_: LogTransaction) -> None:
    raise OperationalError("nonsense")


async def block(writer: LogWriter) -> tuple[threading.Event, Future[None]]:
    """Keep the writer's thread busy until the event is set; returns once it is busy."""
    started, may_finish = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        may_finish.wait()

    blocking = writer.run_between_transactions(wait)
    await to_thread(started.wait)
    return may_finish, blocking


async def test_jobs_that_wait_together_share_a_transaction(writer: LogWriter) -> None:
    may_finish, blocking = await block(writer)
    jobs = [writer.submit(append_note) for _ in range(200)]
    before = writer.transaction_count
    may_finish.set()
    await blocking
    results = await gather(*jobs)
    assert writer.transaction_count == before + 1
    assert [position.offset for (position,) in results] == list(range(200))


async def test_a_failing_job_does_not_fail_the_others_of_its_transaction(writer: LogWriter) -> None:
    may_finish, blocking = await block(writer)
    failing, succeeding = writer.submit(fail), writer.submit(append_note)
    may_finish.set()
    await blocking
    with pytest.raises(LogWriteError, match="nonsense"):
        await failing
    assert [position.offset for position in await succeeding] == [0]
