"""A document that a stage fails on, without anybody having foreseen why."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import StageFaultError
from pipeline.live import Live
from pipeline.memory.dreamer import Dreamer
from pipeline.stage import Record, Stage
from pipeline.worker import Pipeline
from tests.service.world import World, until, world

pytestmark = pytest.mark.anyio


def _failing(stage: Stage[Any], poison: str) -> Stage[Any]:
    """The stage, but with a bug that shows on records that are about one document."""

    async def handle(batch: Sequence[Record[Any]]) -> None:
        if any(getattr(one.event, "document", "").endswith(poison) for one in batch):
            raise KeyError("a bug")
        await stage.handle(batch)

    return replace(stage, handle=handle)


@asynccontextmanager
async def _running(pipeline: Pipeline, stages: Sequence[Stage[Any]]) -> AsyncIterator[asyncio.Task[None]]:
    live = Live(pipeline.foundation, replace(pipeline, stages=stages))
    task = asyncio.create_task(live.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await task


async def _poisoned(service: World, name: str) -> list[Stage[Any]]:
    """Two documents, and the stages with one that fails on the second."""
    await service.add("home", "Ada lives in Berlin.", id="good")
    await service.add("home", "Ada likes tea.", id="bad")
    rows = await service.pipeline.store.documents.find(["home#0"], ["bad"])
    stages = service.pipeline.stages
    return [_failing(one, rows["bad"].key) if one.name == name else one for one in stages]


@pytest.mark.parametrize("name", ["extract", "chunk", "embed", "form", "relate"])
async def test_a_document_that_a_stage_fails_on_says_so_and_is_done_when_it_is_given_back(
    tmp_path: Path, name: str
) -> None:
    async with world(tmp_path, running=False) as service:
        async with _running(service.pipeline, await _poisoned(service, name)):
            await service.settled()
            good, bad = await service.read("home", "good"), await service.read("home", "bad")
            assert (good["system"]["status"], good["system"]["dreamingStatus"]) == ("done", "done")
            assert (bad["system"]["status"], bad["system"]["dreamingStatus"]) == ("failed", "done")
            (failed,) = (await service.client.ok("GET", "/admin/failed"))["documents"]
            assert failed["id"] == "bad"
            assert "unforeseen error" in failed["error"]
            (letter,) = (await service.client.ok("GET", "/admin/dlq"))["letters"]
            assert letter["stage"] == name
            assert letter["error"].startswith("KeyError: 'a bug' [handle (test_poison.py:")
        async with _running(service.pipeline, service.pipeline.stages):
            await service.client.ok("POST", "/admin/dlq/replay")
            await service.settled()
            bad = await service.read("home", "bad")
            assert (bad["system"]["status"], bad["system"]["dreamingStatus"]) == ("done", "done")
            assert [one["memory"] for one in bad["memories"]] == ["Ada likes tea"]
            assert [one["content"] for one in bad["chunks"]] == ["Ada likes tea."]
            assert (await service.client.ok("GET", "/admin/failed"))["documents"] == []


async def test_a_document_that_dreaming_fails_on_keeps_no_other_from_it(tmp_path: Path) -> None:
    async with world(tmp_path, running=False) as service:
        for number, name in enumerate(("Ada", "Bob", "Cleo")):
            await service.add("home", f"{name} plays the cello.", id=f"d{number}", dreaming="dynamic")
        rows = await service.pipeline.store.documents.find(["home#0"], ["d1"])
        dreamer = service.pipeline.dreamer
        assert isinstance(dreamer, Dreamer)
        former = dreamer._former
        form = former._form

        async def failing(works: Any) -> Any:
            if any(work.document == rows["d1"].key for work in works):
                raise KeyError("a bug")
            return await form(works)

        former._form = failing  # type: ignore[method-assign]
        async with _running(service.pipeline, service.pipeline.stages):
            await service.settled()
            read = [await service.read("home", f"d{number}") for number in range(3)]
            assert [one["system"]["status"] for one in read] == ["done", "failed", "done"]
            assert [len(one["memories"]) for one in read] == [1, 0, 1]
            former._form = form  # type: ignore[method-assign]
            await service.client.ok("POST", "/admin/dlq/replay")
            await service.settled()
            again = await service.read("home", "d1")
            assert (again["system"]["status"], len(again["memories"])) == ("done", 1)


async def test_a_stage_that_fails_on_everything_ends_the_service_and_says_why(tmp_path: Path) -> None:
    async with world(tmp_path, running=False, partitions=1) as service:
        for number in range(45):
            await service.add("home", f"Ada has {number} cats.", id=f"d{number}")
        stages = [_failing(one, "") if one.name == "chunk" else one for one in service.pipeline.stages]
        async with _running(service.pipeline, stages) as task:
            with pytest.raises(BaseExceptionGroup) as ended:
                await task
        assert ended.group_contains(StageFaultError, match="chunk failed on 20 records in a row")
        async with _running(service.pipeline, service.pipeline.stages):
            await service.settled()
            failed = (await service.client.ok("GET", "/admin/failed"))["documents"]
            assert len(failed) == 20
            await service.client.ok("POST", "/admin/dlq/replay")

            async def done() -> bool:
                states = [one["system"]["status"] for one in await service.listed("home", "documents")]
                return states == ["done"] * 45

            await until(done, "all done")
