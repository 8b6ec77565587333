"""Tables are made again from the log while processes that share them go on, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.s3 import S3
from tests.service.generations import answers, differences, fill, replayed, rows_of
from tests.service.world import World, until, world
from tools.kafka import Broker, Container

pytestmark = [pytest.mark.anyio, pytest.mark.kafka, pytest.mark.slow]


@asynccontextmanager
async def processes(
    folder: Path, kafka: Broker | Container, **fields: Any
) -> AsyncIterator[tuple[World, World]]:
    """One that answers and works, and one that only answers."""
    shared: dict[str, Any] = {
        "kafka_bootstrap": kafka.bootstrap,
        "kafka_partitions": 3,
        "chunk_size": 100,
        "shards": 2,
    }
    async with (
        world(folder, **shared, **fields) as here,
        world(folder, working=False, **shared, **fields) as there,
    ):
        yield here, there


async def _serves(service: World, number: int) -> None:
    """The process noticed by itself."""

    async def noticed() -> bool:
        return service.pipeline.generation.number == number

    await until(noticed, f"generation {number}")


async def _finds(service: World, document: str) -> None:
    """The process has heard of it, from whichever made its rows."""

    async def heard() -> bool:
        results = await service.search("home", "Oslo")
        return any(one["included"]["document"]["id"] == document for one in results)

    await until(heard, f"{document} found")


async def test_every_process_goes_over_to_tables_that_hold_every_row_and_back(
    tmp_path: Path, own_kafka: Broker | Container
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill(here)
        before, said = await rows_of(here.pipeline.store), await answers(there)
        for number, replaying in enumerate((there, here), 1):
            ended = await replayed(replaying)
            assert (ended["state"], ended["error"], ended["differences"]) == ("done", None, [])
            for service in (here, there):
                await _serves(service, number)
                await service.settled()
                assert differences(before, await rows_of(service.pipeline.store)) == []
                assert await answers(service) == said
        await there.add("home", "Cleo lives in Oslo.", id="cleo")
        await there.settled()
        assert (await replayed(here, "/admin/replay/rollback"))["state"] == "done"
        await _serves(there, 1)
        await there.settled()
        rows = await rows_of(there.pipeline.store)
        assert differences(before, {one: rows[one] for one in before}) == []
        await _finds(there, "cleo")
        assert (await here.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [2]
        assert not (tmp_path / "tables" / "g2").exists()
        groups = {group for group in await here.pipeline.bus.lag() if ".g2." in group}
        assert groups == set()


async def test_what_one_process_acknowledges_all_through_a_replay_the_other_shows_at_once(
    tmp_path: Path, own_kafka: Broker | Container
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill(here)
        small, stop = await answers(here, "new"), asyncio.Event()
        seen: dict[int, list[Any]] = {0: [], 1: []}

        async def writes() -> int:
            number = 0
            one, other = here, there
            while not stop.is_set():
                name = f"d{number}"
                await one.add("busy", f"Ada has {number} cats.", id=name)
                await other.patch("busy", name, metadata={"n": number})
                assert (await one.read("busy", name))["metadata"] == {"n": number}
                if number % 5 == 4:
                    await one.delete("busy", name)
                    await other.client.refused(404, "GET", f"/ns/busy/document/{name}")
                number += 1
                one, other = other, one
            return number

        async def searches(which: int, service: World) -> None:
            while not stop.is_set():
                seen[which].append(await answers(service, "new"))
                await asyncio.sleep(0.01)

        busy = [asyncio.create_task(one) for one in (writes(), searches(0, here), searches(1, there))]
        for number, service in enumerate((here, there), 1):
            ended = await replayed(service, chunkSize=800)
            assert (ended["state"], ended["error"]) == ("done", None)
            for one in (here, there):
                await _serves(one, number)
        large = await answers(here, "new")
        stop.set()
        added, *_ = await asyncio.gather(*busy)
        assert len(large) < len(small)
        for answered in seen.values():
            switched = answered.index(large)
            assert all(one == small for one in answered[:switched])
            assert all(one == large for one in answered[switched:])
        await here.settled()
        listed = await there.official.list("busy", "documents", limit=1)
        assert listed.pagination.total_items == int(added or 0) - int(added or 0) // 5
        before = await rows_of(there.pipeline.store)
        await replayed(there)
        assert differences(before, await rows_of(there.pipeline.store)) == []


async def test_at_an_object_store_other_vectors_take_over_in_every_process(
    tmp_path: Path, own_kafka: Broker | Container, s3: S3
) -> None:
    async with processes(tmp_path, own_kafka, **s3.settings()) as (here, there):
        await here.add("home", "Ada lives in Berlin. She plays the cello.", id="ada")
        await here.settled()
        ended = await replayed(there, embedder="none")
        assert (ended["state"], ended["error"]) == ("done", None)
        for service in (here, there):
            await _serves(service, 1)
            assert service.pipeline.embedder.name != "wordllama-256"
            assert await answers(service)
        await there.add("home", "Cleo lives in Oslo.", id="cleo")
        await there.settled()
        for service in (here, there):
            await _finds(service, "cleo")
        assert (await replayed(here, "/admin/replay/rollback"))["state"] == "done"
        await _serves(there, 0)
        await there.settled()
        await _finds(there, "cleo")
        assert (await there.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]


async def test_a_replay_is_seen_refused_and_cancelled_from_another_process(
    tmp_path: Path, own_kafka: Broker | Container
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await fill(here)
        async with here.live.foundation.locks.hold("replay"):
            await here.client.ok("POST", "/admin/replay", {})

            async def seen() -> bool:
                return bool((await there.client.ok("GET", "/admin/replay"))["state"] == "running")

            await until(seen, "the replay seen from the other process")
            await there.client.ok("DELETE", "/admin/replay")
            await here.replays.finished()
        for service in (here, there):
            assert (await service.client.ok("GET", "/admin/replay"))["state"] == "cancelled"
            assert service.pipeline.generation.number == 0


async def test_a_process_that_can_not_open_the_new_tables_says_so_and_refuses_writes(
    tmp_path: Path, own_kafka: Broker | Container
) -> None:
    async with processes(tmp_path, own_kafka) as (here, there):
        await here.add("home", "Ada lives in Berlin.", id="ada")
        await here.settled()
        generations = here.live.foundation.generations
        served = await generations.served()
        recipe = here.live.foundation.recipe(served.current).model_copy(update={"embedder": "openai"})
        unknown = served.current.model_copy(update={"number": 7, "recipe": recipe})
        await generations.serve(unknown, served.current)
        await there.client.refused(503, "POST", "/ns/home/document", {"content": "Bob"})

        async def told() -> bool:
            reasons = (await there.client("GET", "/ready")).json()["reasons"]
            return any("RECOLLECT_EMBEDDER_BASE_URL" in one["reason"] for one in reasons)

        await until(told, "the reason in /ready")
        await generations.serve(served.current, None)
        await there.add("home", "Bob bakes bread.", id="bob")
