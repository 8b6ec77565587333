"""Tables are made again from the log while the service goes on."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.replay import replay_run
from tests.service.test_random_histories import DOCUMENTS, SAID, SPACES, STEPS, ServiceHistory
from tests.support.generation_rows import (
    SAMPLE_QUERY,
    fill_with_samples,
    read_all_rows,
    row_differences,
    run_replay,
    search_scores,
)
from tests.support.service_world import RunningService, running_service

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MORE = st.one_of(
    st.tuples(st.just("instant"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("superrag"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("fail"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("wait_idle"), st.sampled_from(SPACES)),
)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    """A service with small chunks and several of everything."""
    folder = tmp_path_factory.mktemp("replays")
    async with running_service(folder, chunk_size=100, log_partitions=3, shards=2) as opened:
        yield opened


class ReplayHistory(ServiceHistory):
    """Histories with documents of every kind; what comes out is compared with itself."""

    async def instant(self, incarnation: str, document: str, said: str) -> None:
        await self.service.add_document(self.namespace_name(incarnation), said, id=document)

    async def superrag(self, incarnation: str, document: str, said: str) -> None:
        await self.service.add_document(self.namespace_name(incarnation), said, id=document, taskType="superrag")

    async def fail(self, incarnation: str, document: str) -> None:
        files = {"file": ("note.pdf", b"%PDF-1.7 broken", "application/pdf")}
        path = f"/ns/{self.namespace_name(incarnation)}/document/file/{document}"
        await self.service.client("POST", path, files=files)

    async def wait_idle(self, incarnation: str) -> None:
        await self.service.wait_idle()

    async def delete(self, incarnation: str, document: str) -> None:
        await self.service.delete_documents(self.namespace_name(incarnation), document)

    async def patch(self, incarnation: str, document: str, said: str) -> None:
        path = f"/ns/{self.namespace_name(incarnation)}/document/{document}"
        await self.service.client("PATCH", path, {"content": said})

    async def patch_metadata(self, incarnation: str, document: str, number: int) -> None:
        path = f"/ns/{self.namespace_name(incarnation)}/document/{document}"
        await self.service.client("PATCH", path, {"metadata": {"n": number}})

    async def upload(self, incarnation: str, document: str, said: str) -> None:
        files = {"file": ("note.txt", said.encode(), "text/plain")}
        path = f"/ns/{self.namespace_name(incarnation)}/document/file/{document}"
        await self.service.client("POST", path, files=files)

    async def end_namespace(self, incarnation: str) -> None:
        await self.service.client("DELETE", f"/ns/{self.namespace_name(incarnation)}")

    async def move(self, incarnation: str) -> None:
        other = next(item for item in SPACES if item != incarnation)
        await self.service.client(
            "DELETE", f"/ns/{self.namespace_name(incarnation)}?moveTo={self.namespace_name(other)}"
        )


async def test_a_replay_makes_every_row_again(tmp_path: Path) -> None:
    async with running_service(tmp_path, chunk_size=100, log_partitions=3, shards=2) as service:
        await fill_with_samples(service)
        before, found = await read_all_rows(service.pipeline.store), await search_scores(service)
        answer = await run_replay(service)
        assert (answer["state"], answer["differences"], answer["generation"]) == ("done", [], 1)
        assert answer["read"] == answer["total"] > 0
        assert service.pipeline.generation.number == 1
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        assert await search_scores(service) == found
    async with running_service(tmp_path, chunk_size=100, log_partitions=3, shards=2) as service:
        assert service.pipeline.generation.number == 1
        await service.wait_idle()
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(steps=st.lists(st.one_of(STEPS, STEPS, MORE), min_size=3, max_size=20))
async def test_after_any_history_a_replay_makes_every_row_again(
    service: RunningService, steps: list[tuple[Any, ...]]
) -> None:
    history = ReplayHistory()
    history.service = service
    for step, *values in steps:
        await getattr(history, step)(*values)
    await service.wait_idle()
    before = await read_all_rows(service.pipeline.store)
    answer = await run_replay(service)
    assert (answer["state"], answer["error"]) == ("done", None)
    assert row_differences(before, await read_all_rows(service.pipeline.store)) == []


async def test_after_a_replay_the_service_goes_on_as_before(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        await run_replay(service)
        await service.add_document("home", "Cleo lives in Oslo.", id="cleo")
        await service.delete_documents("home", "tea")
        await service.wait_idle()
        found = {result["included"]["document"]["id"] for result in await service.search("home", "Cleo")}
        assert found == {"ada", "moved", "cleo"}
        before = await read_all_rows(service.pipeline.store)
        assert (await run_replay(service))["generation"] == 2
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []


async def test_a_search_all_through_a_replay_sees_neither_a_failure_nor_a_mixture(tmp_path: Path) -> None:
    async with running_service(tmp_path, chunk_size=100) as service:
        await fill_with_samples(service)
        small, stop = await search_scores(service, "new"), asyncio.Event()
        seen: list[list[Any]] = []

        async def searches() -> None:
            while not stop.is_set():
                seen.append(await search_scores(service, "new"))
                await asyncio.sleep(0)

        searching = asyncio.create_task(searches())
        await run_replay(service, chunkSize=800)
        large = await search_scores(service, "new")
        stop.set()
        await searching
        switched = seen.index(large) if large in seen else len(seen)
        assert len(large) < len(small)
        assert all(item == small for item in seen[:switched])
        assert all(item == large for item in seen[switched:])
        assert len(seen) > 2


async def test_what_is_written_all_through_a_replay_is_read_at_once_and_is_there_afterwards(
    tmp_path: Path,
) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        stop, added = asyncio.Event(), 0

        async def writes() -> int:
            number = 0
            while not stop.is_set():
                name = f"d{number}"
                await service.add_document("busy", f"Ada has {number} cats.", id=name)
                await service.patch_document("busy", name, metadata={"n": number})
                assert (await service.read_document("busy", name))["metadata"] == {"n": number}
                if number % 5 == 4:
                    await service.delete_documents("busy", name)
                    await service.client.fails(404, "GET", f"/ns/busy/document/{name}")
                    await service.wait_idle()  # else each replay would read many times what the one before it read
                number += 1
            return number

        writing = asyncio.create_task(writes())
        for number in range(3):
            answer = await run_replay(service)
            assert (answer["state"], answer["generation"]) == ("done", number + 1)
        stop.set()
        added = await writing
        await service.wait_idle()
        documents = await service.official.list("busy", "documents", limit=1)
        assert documents.pagination.total_items == added - added // 5
        before = await read_all_rows(service.pipeline.store)
        await run_replay(service)
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []


async def test_another_embedder_takes_over_without_a_pause(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        assert (await run_replay(service, embedder="none"))["state"] == "done"
        assert service.pipeline.embedder.name != "wordllama-256"
        assert {item for item, _ in await search_scores(service)}
    async with running_service(tmp_path) as service:
        recipe = service.pipeline.resources.index_config(service.pipeline.generation)
        assert recipe.embedder == "none", "the tables say what they were made with, whatever the settings say"
        await service.add_document("home", "Cleo lives in Oslo.", id="cleo")
        await service.wait_idle()
        assert any(result["included"]["document"]["id"] == "cleo" for result in await service.search("home", "Oslo"))


@pytest.mark.parametrize("body", [{"from": "memories"}, {"stage": "embed"}], ids=["memories", "embed"])
async def test_what_is_not_made_anew_is_copied_and_every_row_is_the_same(tmp_path: Path, body: dict[str, str]) -> None:
    async with running_service(tmp_path, chunk_size=100, log_partitions=3, shards=2) as service:
        await fill_with_samples(service)
        await service.add_document("home", "Dora waits.", id="dora", dreaming="dynamic")
        answer = await run_replay(service, **body)
        assert (answer["state"], answer["error"]) == ("done", None)
        await service.wait_idle()
        before = await read_all_rows(service.pipeline.store)
        assert (await run_replay(service))["state"] == "done"
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        answer = await run_replay(service, **body)
        assert (answer["state"], answer["error"]) == ("done", None)
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []


async def test_only_the_vectors_are_made_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    async with running_service(tmp_path, chunk_size=100) as service:
        await fill_with_samples(service)
        before = await read_all_rows(service.pipeline.store)
        assert (await run_replay(service, stage="embed", embedder="none"))["state"] == "done"
        after = await read_all_rows(service.pipeline.store)
        assert before.keys() == after.keys()
        assert {wrong.partition(":")[0].rpartition(".")[2] for wrong in row_differences(before, after)} == {"vector"}


async def test_what_is_copied_can_not_be_cut_or_embedded_otherwise(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for body in (
            {"from": "memories", "chunkSize": 300},
            {"stage": "embed", "chunkSize": 300},
            {"from": "memories", "embedder": "none"},
            {"from": "memories", "stage": "embed"},
        ):
            await service.client.fails(409, "POST", "/admin/replay/plan", body)
            assert (await run_replay(service, **body))["state"] == "failed"


async def test_a_rollback_serves_what_was_before_with_what_came_since(tmp_path: Path) -> None:
    async with running_service(tmp_path, chunk_size=100) as service:
        await fill_with_samples(service)
        before = await read_all_rows(service.pipeline.store)
        await asyncio.gather(
            *(service.add_document("late", f"Dora has {number} cats.", id=f"d{number}") for number in range(9))
        )
        await run_replay(service, chunkSize=800)  # in the middle of the work on these
        await service.add_document("home", "Cleo lives in Oslo.", id="cleo")
        await service.wait_idle()
        assert (await run_replay(service, "/admin/replay/rollback"))["state"] == "done"
        await service.wait_idle()
        late = await service.list_items("late", "documents")
        assert [item["system"]["status"] for item in late] == ["done"] * 9
        assert len(await service.list_items("late", "chunks")) == 9
        assert service.pipeline.generation.number == 0
        after = await read_all_rows(service.pipeline.store)
        assert before.keys() < after.keys()
        assert row_differences(before, {item: after[item] for item in before}) == []
        assert any(result["included"]["document"]["id"] == "cleo" for result in await service.search("home", "Oslo"))


async def test_what_is_older_than_the_previous_generation_goes(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="ada")
        await service.wait_idle()
        tables = tmp_path / "tables"
        await run_replay(service)
        assert list(tables.glob("*.lance"))
        await run_replay(service)
        assert list(tables.glob("*.lance")) == []
        assert {entry.name for entry in tables.iterdir()} == {"current", "g1", "g2", "lock"}
        assert (await service.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]
        assert {entry.name for entry in tables.iterdir()} == {"current", "g2", "lock"}
        failed = await run_replay(service, "/admin/replay/rollback")
        assert "no previous generation" in failed["error"]
        assert await service.search("home", SAMPLE_QUERY)


async def test_a_replay_that_is_cancelled_before_its_tables_are_open_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = asyncio.Event()

    async def slowly(*_: object, **__: object) -> None:
        (tmp_path / "tables" / "g1").mkdir()
        opening.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(replay_run, "open_pipeline", slowly)
    async with running_service(tmp_path) as service:
        await service.client.ok("POST", "/admin/replay", {})
        await opening.wait()
        assert (await service.client.ok("DELETE", "/admin/replay"))["state"] == "cancelled"
        assert not (tmp_path / "tables" / "g1").exists()


async def test_a_replay_that_is_cancelled_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        before = await read_all_rows(service.pipeline.store)
        await service.client.ok("POST", "/admin/replay", {})
        refused = await service.client.fails(409, "POST", "/admin/replay", {})
        assert "A replay is running" in refused["details"]
        assert (await service.client.ok("DELETE", "/admin/replay"))["state"] == "cancelled"
        assert service.pipeline.generation.number == 0
        assert {folder.name for folder in (tmp_path / "tables").iterdir() if folder.name.startswith("g")} == set()
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        assert (await run_replay(service))["state"] == "done"


async def test_a_replay_that_fails_says_why_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        found = await search_scores(service)
        answer = await run_replay(service, embedder="openai")
        assert (answer["state"], service.pipeline.generation.number) == ("failed", 0)
        assert "RECOLLECT_EMBEDDER_BASE_URL" in answer["error"]
        assert await search_scores(service) == found


async def test_tables_that_no_replay_finished_are_gone_after_the_next_start(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="ada")
        await service.wait_idle()
    (tmp_path / "tables" / "g1" / "documents.lance").mkdir(parents=True)
    async with running_service(tmp_path) as service:
        assert not (tmp_path / "tables" / "g1").exists()
        assert await service.search("home", SAMPLE_QUERY)


async def test_the_pointer_says_what_the_tables_were_made_with_and_how_far_they_had_read(
    tmp_path: Path,
) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="ada")
        await service.wait_idle()
        await run_replay(service, chunkSize=300)
    pointer = json.loads((tmp_path / "tables" / "current").read_text())
    assert (pointer["current"]["number"], pointer["previous"]["number"]) == (1, 0)
    assert pointer["current"]["index_config"]["chunk_size"] == 300
    assert sum(pointer["current"]["offsets"]["documents.submitted.v1"].values()) == 1


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        plan = await service.client.ok("POST", "/admin/replay/plan", {"chunkSize": 300})
        assert (plan["current"], plan["previous"], plan["documents"]) == (0, None, 4)
        assert plan["indexConfig"]["chunkSize"] == 300
        assert plan["records"]["documents.submitted.v1"] >= 6
        assert plan["bytes"] > 0
        assert (await service.client.ok("GET", "/admin/replay"))["state"] == "idle"


async def test_only_operators_may_replay(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        body = {"name": "of tests", "role": "write"}
        writer = service.client.as_key((await service.client.ok("POST", "/admin/keys", body))["key"])
        await writer.fails(403, "POST", "/admin/replay", {})
        await writer.fails(403, "DELETE", "/admin/replay")
