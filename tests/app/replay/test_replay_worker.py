"""The part of a process in replays of others: what goes wrong there never ends the process."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.replay import replay_worker
from app.replay.replay_worker import ReplayWorker
from pipeline.errors import LockLostError, OutageError
from pipeline.store.generations.generation_registry import REPLAY_WORK, open_generations
from pipeline.store.generations.replay_request import ReplayProgress

pytestmark = pytest.mark.anyio


class NotesOf:
    """Storage of generations whose note of a replay's work reads as given, once each, and then never again."""

    def __init__(self, answers: list[bytes | Exception]) -> None:
        self._answers: Iterator[bytes | Exception] = iter(answers)
        self.all_read = asyncio.Event()

    async def read_note(self, name: str) -> bytes | None:
        assert name == REPLAY_WORK
        answer = next(self._answers, None)
        if answer is None:
            self.all_read.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_an_outage_a_lost_lock_or_work_of_another_version_ends_no_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replay_worker, "POLL_SECONDS", 0.0)
    unknown = b'{"format": 9}'
    notes = NotesOf([OutageError("away"), LockLostError("lost"), unknown, unknown, b"not even JSON"])
    supervisor: Any = SimpleNamespace(resources=SimpleNamespace(generations=notes))
    replays: Any = SimpleNamespace(progress=ReplayProgress())
    running = asyncio.create_task(ReplayWorker(supervisor, replays).run())
    await asyncio.wait([running, asyncio.create_task(notes.all_read.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert not running.done()
    running.cancel()
    told = [record for record in caplog.records if "Leaving a replay" in record.message]
    assert len(told) == 2, "the same work is told of once"


async def test_a_folder_that_can_not_be_used_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("where a folder should be")
    storage = open_generations(str(tmp_path / "tables"))
    with pytest.raises(OutageError, match="folder of the tables"):
        await storage.read_note("replay.work")
    with pytest.raises(OutageError, match="folder of the tables"):
        await storage.write_note("replay.work", b"")
