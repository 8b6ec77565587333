"""Tables are made again from the log while processes that share them go on, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.pipeline_factory import open_pipeline
from app.replay.divided_fill import DividedFill
from app.replay.division import ReplayWork, division_of
from app.replay.generation_rebuild import TOPICS_EFFECTS_FIRST
from app.replay.replay_reports import HEARTBEAT_TIMEOUT
from pipeline.store.generations.generation_registry import Generation
from pipeline.store.generations.replay_request import ReplayProgress, ReplayRequest
from tests.support.generation_rows import (
    Rows,
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
    folder: Path, kafka: LocalBroker | DockerBroker, *, both_work: bool = False, **fields: Any
) -> AsyncIterator[tuple[RunningService, RunningService]]:
    """Two processes: the first answers and works, the second only answers unless both work."""
    shared: dict[str, Any] = {
        "kafka_bootstrap": kafka.bootstrap,
        "log_partitions": 3,
        "chunk_size": 100,
        "shards": 2,
        **fields,
    }
    async with (
        running_service(folder, **shared) as here,
        running_service(folder, runs_stages=both_work, **shared) as there,
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


async def test_divisions_filled_by_two_processes_hold_every_row_also_of_namespaces_that_lie_in_several(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka, both_work=True, log_partitions=4, shards=4) as (here, there):
        await fill_with_samples(here)
        await _spread_over_divisions(here, 4)
        before = await read_all_rows(here.pipeline.store)
        for replaying in (here, there):
            ended = await run_replay(replaying)
            assert (ended["state"], ended["error"], ended["differences"]) == ("done", None, [])
            assert ended["read"] == ended["total"]
            await here.wait_idle()
            assert row_differences(before, await read_all_rows(replaying.pipeline.store)) == []
        ended = await run_replay(here, stage="embed", embedder="none")
        assert (ended["state"], ended["error"]) == ("done", None)
        after = await read_all_rows(here.pipeline.store)
        assert after.keys() == before.keys()


async def _spread_over_divisions(service: RunningService, count: int) -> None:
    """A namespace that holds incarnations of every division, with memories that replace each other."""
    names = {division_of(f"part{number}#0", count): f"part{number}" for number in range(40)}
    cities = iter(("Rome", "Paris", "Vienna", "Madrid"))
    for name in names.values():
        await service.add_document(name, f"Dora lives in {next(cities)}.")
        await service.wait_idle()
        await service.client.ok("DELETE", f"/ns/{name}?moveTo=joined")
        await service.wait_idle()
    await service.add_document("joined", "Dora lives in Prague.")
    await service.wait_idle()
    held = service.pipeline.store.catalog.namespace("joined")
    assert held is not None
    assert {division_of(incarnation, count) for incarnation in held.incarnations} == set(range(count))


async def test_a_division_is_begun_anew_where_its_process_died(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka, log_partitions=4, shards=4) as (here, _):
        await fill_with_samples(here)
        work = await _work_on_everything(here, divisions=4)
        resources, fill = here.supervisor.resources, DividedFill(here.supervisor, work)
        await (await open_pipeline(resources, work.generation, bulk_load=True)).close()
        await fill.run()
        first = await _rows_of(here, work.generation)
        assert first
        assert row_differences(await read_all_rows(here.pipeline.store), first) == []
        for number, report in enumerate(await fill.reports()):
            died = report.model_copy(update={"is_filled": False})
            await resources.generations.write_note(f"replay.division{number}", died.model_dump_json().encode())
        await fill.run()
        assert row_differences(first, await _rows_of(here, work.generation)) == []


async def test_another_process_goes_on_with_a_replay_whose_starter_died(
    tmp_path: Path, own_kafka: LocalBroker | DockerBroker
) -> None:
    async with processes(tmp_path, own_kafka, both_work=True, log_partitions=4, shards=4) as (here, there):
        await fill_with_samples(here)
        before = await read_all_rows(here.pipeline.store)
        notes = here.supervisor.resources.generations
        died_at = here.supervisor.resources.clock.now() - 2 * HEARTBEAT_TIMEOUT
        progress = ReplayProgress(state="running", started_at=died_at, reported_at=died_at, generation=1)
        work = await _work_on_everything(here, divisions=4)
        await notes.write_note("replay", progress.to_bytes())
        await notes.write_note(
            "replay.work", work.model_copy(update={"replay_id": progress.replay_id.decode()}).model_dump_json().encode()
        )
        for service in (here, there):
            await _wait_serving(service, 1)
            await service.wait_idle()
            assert row_differences(before, await read_all_rows(service.pipeline.store)) == []

        async def told() -> bool:
            return bool((await there.client.ok("GET", "/admin/replay"))["state"] == "done")

        await wait_until(told, "the end of the replay told")
        assert not await notes.read_note("replay.work")


async def _work_on_everything(service: RunningService, divisions: int) -> ReplayWork:
    resources = service.supervisor.resources
    config = resources.index_config(service.pipeline.generation)
    topics = [topic for topic in TOPICS_EFFECTS_FIRST if not topic.single_partition]
    return ReplayWork(
        replay_id="1",
        generation=Generation(number=1, index_config=config),
        request=ReplayRequest(),
        divisions=divisions,
        starts={},
        ends={topic.name: dict(await resources.bus.end_offsets(topic.name)) for topic in topics},
        undivided=frozenset(),
    )


async def _rows_of(service: RunningService, generation: Generation) -> Rows:
    """Every row of a generation that is not served."""
    pipeline = await open_pipeline(service.supervisor.resources, generation, bulk_load=True)
    try:
        return await read_all_rows(pipeline.store)
    finally:
        await pipeline.close()
