"""A document that a stage fails on, without anybody having foreseen why."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.generation_pipeline import Pipeline
from app.pipeline_supervisor import PipelineSupervisor
from pipeline.errors import StageFaultError
from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtractionWorker
from pipeline.stage import Record, Stage
from tests.support.service_world import RunningService, running_service, wait_until

pytestmark = pytest.mark.anyio


def _failing_stage(stage: Stage[Any], poison: str) -> Stage[Any]:
    """The stage, but with a bug that shows on records that are about one document."""

    async def handle(batch: Sequence[Record[Any]]) -> None:
        if any(getattr(item.event, "document", "").endswith(poison) for item in batch):
            raise KeyError("a bug")
        await stage.handle(batch)

    return replace(stage, handle=handle)


@asynccontextmanager
async def _running(pipeline: Pipeline, stages: Sequence[Stage[Any]]) -> AsyncIterator[asyncio.Task[None]]:
    live = PipelineSupervisor(pipeline.resources, replace(pipeline, stages=stages))
    task = asyncio.create_task(live.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await task


async def _service_with_poison_record(service: RunningService, name: str) -> list[Stage[Any]]:
    """Two documents, and the stages with one that fails on the second."""
    await service.add_document("home", "Ada lives in Berlin.", id="good")
    await service.add_document("home", "Ada likes tea.", id="bad")
    rows = await service.pipeline.store.documents.find_by_public_id(["home#0"], ["bad"])
    stages = service.pipeline.stages
    return [_failing_stage(stage, rows["bad"].key) if stage.name == name else stage for stage in stages]


@pytest.mark.parametrize("name", ["extract", "chunk", "embed", "form_memories", "project_memories"])
async def test_a_document_that_a_stage_fails_on_says_so_and_is_done_when_it_is_given_back(
    tmp_path: Path, name: str
) -> None:
    async with running_service(tmp_path, run_stages_here=False) as service:
        async with _running(service.pipeline, await _service_with_poison_record(service, name)):
            await service.wait_idle()
            good, bad = (
                await service.read_document("home", "good"),
                await service.read_document("home", "bad"),
            )
            assert (good["system"]["status"], good["system"]["dreamingStatus"]) == ("done", "done")
            assert (bad["system"]["status"], bad["system"]["dreamingStatus"]) == ("failed", "done")
            (failed,) = (await service.client.ok("GET", "/admin/failed"))["documents"]
            assert failed["id"] == "bad"
            assert "unexpected error" in failed["error"]
            (letter,) = (await service.client.ok("GET", "/admin/dlq"))["deadLetters"]
            assert letter["stage"] == name
            assert letter["error"].startswith("KeyError: 'a bug' [handle (test_poison_records.py:")
        async with _running(service.pipeline, service.pipeline.stages):
            await service.client.ok("POST", "/admin/dlq/redrive")
            await service.wait_idle()
            bad = await service.read_document("home", "bad")
            assert (bad["system"]["status"], bad["system"]["dreamingStatus"]) == ("done", "done")
            assert [memory["memory"] for memory in bad["memories"]] == ["Ada likes tea"]
            assert [chunk["content"] for chunk in bad["chunks"]] == ["Ada likes tea."]
            assert (await service.client.ok("GET", "/admin/failed"))["documents"] == []


async def test_a_document_that_dreaming_fails_on_keeps_no_other_from_it(tmp_path: Path) -> None:
    async with running_service(tmp_path, run_stages_here=False) as service:
        for number, name in enumerate(("Ada", "Bob", "Cleo")):
            await service.add_document("home", f"{name} plays the cello.", id=f"d{number}", dreaming="dynamic")
        rows = await service.pipeline.store.documents.find_by_public_id(["home#0"], ["d1"])
        dreamer = service.pipeline.deferred_extraction
        assert isinstance(dreamer, DeferredExtractionWorker)
        former = dreamer._memory_extractor
        form = former.extract

        async def failing(works: Any) -> Any:
            if any(work.document == rows["d1"].key for work in works):
                raise KeyError("a bug")
            return await form(works)

        former.extract = failing  # type: ignore[method-assign, assignment]
        async with _running(service.pipeline, service.pipeline.stages):
            await service.wait_idle()
            read = [await service.read_document("home", f"d{number}") for number in range(3)]
            assert [item["system"]["status"] for item in read] == ["done", "failed", "done"]
            assert [len(item["memories"]) for item in read] == [1, 0, 1]
            former.extract = form  # type: ignore[method-assign]
            await service.client.ok("POST", "/admin/dlq/redrive")
            await service.wait_idle()
            again = await service.read_document("home", "d1")
            assert (again["system"]["status"], len(again["memories"])) == ("done", 1)


async def test_a_stage_that_fails_on_everything_ends_the_service_and_says_why(tmp_path: Path) -> None:
    async with running_service(tmp_path, run_stages_here=False, log_partitions=1) as service:
        for number in range(45):
            await service.add_document("home", f"Ada has {number} cats.", id=f"d{number}")
        stages = [_failing_stage(stage, "") if stage.name == "chunk" else stage for stage in service.pipeline.stages]
        async with _running(service.pipeline, stages) as task:
            with pytest.raises(BaseExceptionGroup) as ended:
                await task
        assert ended.group_contains(StageFaultError, match="chunk failed on 20 records in a row")
        async with _running(service.pipeline, service.pipeline.stages):
            await service.wait_idle()
            failed = (await service.client.ok("GET", "/admin/failed"))["documents"]
            assert len(failed) == 20
            await service.client.ok("POST", "/admin/dlq/redrive")

            async def done() -> bool:
                states = [document["system"]["status"] for document in await service.list_items("home", "documents")]
                return states == ["done"] * 45

            await wait_until(done, "all done")
