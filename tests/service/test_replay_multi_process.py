"""Tables are made again from the log while processes that share them go on, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_rows import (
    fill_with_samples,
    read_all_rows,
    row_differences,
    run_replay,
    search_scores,
)
from tests.support.service_world import RunningService, running_service, wait_until
from tools.kafka_broker import DockerBroker, LocalBroker
from tools.s3_server import S3Server

pytestmark = [pytest.mark.anyio, pytest.mark.kafka, pytest.mark.slow]


@asynccontextmanager
async def processes(
    folder: Path, kafka: LocalBroker | DockerBroker, **fields: Any
) -> AsyncIterator[tuple[RunningService, RunningService]]:
    """Two processes: the first answers and works, the second only answers."""
    shared: dict[str, Any] = {
        "kafka_bootstrap": kafka.bootstrap,
        "log_partitions": 3,
        "chunk_size": 100,
        "shards": 2,
    }
    async with (
        running_service(folder, **shared, **fields) as here,
        running_service(folder, runs_stages=False, **shared, **fields) as there,
    ):
        yield here, there


async def _wait_serving(service: RunningService, number: int) -> None:
    """The process noticed by itself."""

    async def noticed() -> bool:
        return service.pipeline.generation.number == number

    await wait_until(noticed, f"generation {number}")


async def _wait_found(service: RunningService, document: str) -> None:
    """The process has heard of it, from whichever made its rows."""

    async def heard() -> bool:
        results = await service.search("home", "Oslo")
        return any(result["included"]["document"]["id"] == document for result in results)

    await wait_until(heard, f"{document} found")


async def test_every_process_goes_over_to_tables_that_hold_every_row_and_back(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill_with_samples(here)
        before, said = await read_all_rows(here.pipeline.store), await search_scores(there)
        for number, replaying in enumerate((there, here), 1):
            ended = await run_replay(replaying)
            assert (ended["state"], ended["error"], ended["differences"]) == ("done", None, [])
            for service in (here, there):
                await _wait_serving(service, number)
                await service.wait_idle()
                assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
                assert await search_scores(service) == said
        await there.add_document("home", "Cleo lives in Oslo.", id="cleo")
        await there.wait_idle()
        assert (await run_replay(here, "/admin/replay/rollback"))["state"] == "done"
        await _wait_serving(there, 1)
        await there.wait_idle()
        rows = await read_all_rows(there.pipeline.store)
        assert row_differences(before, {item: rows[item] for item in before}) == []
        await _wait_found(there, "cleo")
        assert (await here.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [2]
        assert not (tmp_path / "tables" / "g2").exists()
        groups = {group for group in await here.pipeline.bus.lag() if ".g2." in group}
        assert groups == set()


async def test_what_one_process_acknowledges_all_through_a_replay_the_other_shows_at_once(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill_with_samples(here)
        small, stop = await search_scores(here, "new"), asyncio.Event()
        seen: dict[int, list[Any]] = {0: [], 1: []}

        async def writes() -> int:
            number = 0
            first, second = here, there
            while not stop.is_set():
                name = f"d{number}"
                await first.add_document("busy", f"Ada has {number} cats.", id=name)
                await second.patch_document("busy", name, metadata={"n": number})
                assert (await first.read_document("busy", name))["metadata"] == {"n": number}
                if number % 5 == 4:
                    await first.delete_documents("busy", name)
                    await second.client.fails(404, "GET", f"/ns/busy/document/{name}")
                number += 1
                first, second = second, first
            return number

        async def searches(which: int, service: RunningService) -> None:
            while not stop.is_set():
                seen[which].append(await search_scores(service, "new"))
                await asyncio.sleep(0.01)

        busy = [asyncio.create_task(work) for work in (writes(), searches(0, here), searches(1, there))]
        for number, service in enumerate((here, there), 1):
            ended = await run_replay(service, chunkSize=800)
            assert (ended["state"], ended["error"]) == ("done", None)
            for process in (here, there):
                await _wait_serving(process, number)
        large = await search_scores(here, "new")
        stop.set()
        added, *_ = await asyncio.gather(*busy)
        assert len(large) < len(small)
        for answered in seen.values():
            switched = answered.index(large)
            assert all(item == small for item in answered[:switched])
            assert all(item == large for item in answered[switched:])
        await here.wait_idle()
        listed = await there.official.list("busy", "documents", limit=1)
        assert listed.pagination.total_items == int(added or 0) - int(added or 0) // 5
        before = await read_all_rows(there.pipeline.store)
        await run_replay(there)
        assert row_differences(before, await read_all_rows(there.pipeline.store)) == []


async def test_at_an_object_store_other_vectors_take_over_in_every_process(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker, s3: S3Server
) -> None:
    async with processes(tmp_path, own_kafka, **s3.service_settings()) as (here, there):
        await here.add_document("home", "Ada lives in Berlin. She plays the cello.", id="ada")
        await here.wait_idle()
        ended = await run_replay(there, embedder="none")
        assert (ended["state"], ended["error"]) == ("done", None)
        for service in (here, there):
            await _wait_serving(service, 1)
            assert service.pipeline.embedder.name != "wordllama-256"
            assert await search_scores(service)
        await there.add_document("home", "Cleo lives in Oslo.", id="cleo")
        await there.wait_idle()
        for service in (here, there):
            await _wait_found(service, "cleo")
        assert (await run_replay(here, "/admin/replay/rollback"))["state"] == "done"
        await _wait_serving(there, 0)
        await there.wait_idle()
        await _wait_found(there, "cleo")
        assert (await there.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]


async def test_a_replay_is_seen_refused_and_cancelled_from_another_process(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill_with_samples(here)
        async with here.supervisor.resources.locks.acquire("replay"):
            await here.client.ok("POST", "/admin/replay", {})

            async def seen() -> bool:
                return bool((await there.client.ok("GET", "/admin/replay"))["state"] == "running")

            await wait_until(seen, "the replay seen from the other process")
            await there.client.ok("DELETE", "/admin/replay")
            await here.replays.wait_finished()
        for service in (here, there):
            assert (await service.client.ok("GET", "/admin/replay"))["state"] == "cancelled"
            assert service.pipeline.generation.number == 0


async def test_a_process_that_can_not_open_the_new_tables_says_so_and_refuses_writes(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await here.add_document("home", "Ada lives in Berlin.", id="ada")
        await here.wait_idle()
        generations = here.supervisor.resources.generations
        served = await generations.read_active()
        recipe = here.supervisor.resources.index_config(served.current).model_copy(update={"embedder": "openai"})
        unknown = served.current.model_copy(update={"number": 7, "index_config": recipe})
        await generations.activate(unknown, served.current)
        await there.client.fails(503, "POST", "/ns/home/document", {"content": "Bob"})

        async def told() -> bool:
            reasons = (await there.client("GET", "/ready")).json()["reasons"]
            return any("RECOLLECT_EMBEDDER_BASE_URL" in reason["reason"] for reason in reasons)

        await wait_until(told, "the reason in /ready")
        await generations.activate(served.current, None)
        await there.add_document("home", "Bob bakes bread.", id="bob")
