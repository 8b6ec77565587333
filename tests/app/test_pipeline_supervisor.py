"""A switch to another generation ends with its process, however the two meet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.container import open_container
from app.generation_pipeline import Pipeline
from app.pipeline_supervisor import PipelineSupervisor, open_supervisor
from pipeline.errors import OutageError
from pipeline.settings import Settings
from schemas.topics import DOCUMENTS_SUBMITTED

pytestmark = pytest.mark.anyio


class _Stay:
    """A switchover to the pipeline that is active already."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    async def prepare(self) -> Pipeline:
        return self._pipeline

    async def commit(self) -> None:
        """Do nothing."""


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[PipelineSupervisor]:
    async with open_supervisor(Settings(data_dir=tmp_path, embedder="none"), runs_stages=False) as opened:
        yield opened


async def _end(running: "asyncio.Task[None]") -> None:
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_switch_is_refused_once_the_process_ends(supervisor: PipelineSupervisor) -> None:
    running = asyncio.create_task(supervisor.run())
    assert await supervisor.switch(_Stay(supervisor.pipeline)) is supervisor.pipeline
    await _end(running)
    with pytest.raises(OutageError, match="shutting down"):
        await supervisor.switch(_Stay(supervisor.pipeline))


@pytest.mark.parametrize("steps", range(8))
async def test_a_switch_that_meets_the_end_of_the_process_ends_too(supervisor: PipelineSupervisor, steps: int) -> None:
    running = asyncio.create_task(supervisor.run())
    await supervisor.switch(_Stay(supervisor.pipeline))
    switching = asyncio.create_task(supervisor.switch(_Stay(supervisor.pipeline)))
    for _ in range(steps):
        await asyncio.sleep(0)
    await _end(running)
    done, _ = await asyncio.wait([switching], timeout=10)
    assert done


@pytest.mark.parametrize("answers", [True, False])
async def test_only_a_process_that_answers_requests_follows_submissions(tmp_path: Path, answers: bool) -> None:
    async with open_container(Settings(data_dir=tmp_path, embedder="none"), admin_key=None, serves_requests=answers):
        names = {task.get_name() for task in asyncio.all_tasks()}
        assert (f"follow {DOCUMENTS_SUBMITTED.name}" in names) == answers
