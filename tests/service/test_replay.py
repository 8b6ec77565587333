"""Tables are made again from the log while the service goes on."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.replay import job
from tests.service.generations import QUESTION, answers, differences, fill, replayed, rows_of
from tests.service.test_histories import DOCUMENTS, SAID, SPACES, STEPS, History
from tests.service.world import World, world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MORE = st.one_of(
    st.tuples(st.just("instant"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("superrag"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("fail"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("rest"), st.sampled_from(SPACES)),
)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    """A service with small chunks and several of everything."""
    folder = tmp_path_factory.mktemp("replays")
    async with world(folder, chunk_size=100, partitions=3, shards=2) as opened:
        yield opened


class Lived(History):
    """Histories with documents of every kind; what comes out is compared with itself."""

    async def instant(self, space: str, document: str, said: str) -> None:
        await self.service.add(self.name(space), said, id=document)

    async def superrag(self, space: str, document: str, said: str) -> None:
        await self.service.add(self.name(space), said, id=document, taskType="superrag")

    async def fail(self, space: str, document: str) -> None:
        files = {"file": ("note.pdf", b"%PDF-1.7 broken", "application/pdf")}
        path = f"/ns/{self.name(space)}/document/file/{document}"
        await self.service.client("POST", path, files=files)

    async def rest(self, space: str) -> None:
        await self.service.settled()

    async def delete(self, space: str, document: str) -> None:
        await self.service.delete(self.name(space), document)

    async def patch(self, space: str, document: str, said: str) -> None:
        path = f"/ns/{self.name(space)}/document/{document}"
        await self.service.client("PATCH", path, {"content": said})

    async def label(self, space: str, document: str, number: int) -> None:
        path = f"/ns/{self.name(space)}/document/{document}"
        await self.service.client("PATCH", path, {"metadata": {"n": number}})

    async def upload(self, space: str, document: str, said: str) -> None:
        files = {"file": ("note.txt", said.encode(), "text/plain")}
        path = f"/ns/{self.name(space)}/document/file/{document}"
        await self.service.client("POST", path, files=files)

    async def end(self, space: str) -> None:
        await self.service.client("DELETE", f"/ns/{self.name(space)}")

    async def move(self, space: str) -> None:
        other = next(one for one in SPACES if one != space)
        await self.service.client("DELETE", f"/ns/{self.name(space)}?moveTo={self.name(other)}")

    async def settle(self, space: str) -> None:
        await self.service.settled()


async def test_a_replay_makes_every_row_again(tmp_path: Path) -> None:
    async with world(tmp_path, chunk_size=100, partitions=3, shards=2) as service:
        await fill(service)
        before, found = await rows_of(service.pipeline.store), await answers(service)
        answer = await replayed(service)
        assert (answer["state"], answer["differences"], answer["generation"]) == ("done", [], 1)
        assert answer["read"] == answer["total"] > 0
        assert service.pipeline.generation.number == 1
        assert differences(before, await rows_of(service.pipeline.store)) == []
        assert await answers(service) == found
    async with world(tmp_path, chunk_size=100, partitions=3, shards=2) as service:
        assert service.pipeline.generation.number == 1
        await service.settled()
        assert differences(before, await rows_of(service.pipeline.store)) == []


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(steps=st.lists(st.one_of(STEPS, STEPS, MORE), min_size=3, max_size=20))
async def test_after_any_history_a_replay_makes_every_row_again(
    service: World, steps: list[tuple[Any, ...]]
) -> None:
    history = Lived()
    history.service = service
    for step, *values in steps:
        await getattr(history, step)(*values)
    await service.settled()
    before = await rows_of(service.pipeline.store)
    answer = await replayed(service)
    assert (answer["state"], answer["error"]) == ("done", None)
    assert differences(before, await rows_of(service.pipeline.store)) == []


async def test_after_a_replay_the_service_goes_on_as_before(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        await replayed(service)
        await service.add("home", "Cleo lives in Oslo.", id="cleo")
        await service.delete("home", "tea")
        await service.settled()
        found = {one["included"]["document"]["id"] for one in await service.search("home", "Cleo")}
        assert found == {"ada", "moved", "cleo"}
        before = await rows_of(service.pipeline.store)
        assert (await replayed(service))["generation"] == 2
        assert differences(before, await rows_of(service.pipeline.store)) == []


async def test_a_search_all_through_a_replay_sees_neither_a_failure_nor_a_mixture(tmp_path: Path) -> None:
    async with world(tmp_path, chunk_size=100) as service:
        await fill(service)
        small, stop = await answers(service, "new"), asyncio.Event()
        seen: list[list[Any]] = []

        async def searches() -> None:
            while not stop.is_set():
                seen.append(await answers(service, "new"))
                await asyncio.sleep(0)

        searching = asyncio.create_task(searches())
        await replayed(service, chunkSize=800)
        large = await answers(service, "new")
        stop.set()
        await searching
        switched = seen.index(large) if large in seen else len(seen)
        assert len(large) < len(small)
        assert all(one == small for one in seen[:switched])
        assert all(one == large for one in seen[switched:])
        assert len(seen) > 2


async def test_what_is_written_all_through_a_replay_is_read_at_once_and_is_there_afterwards(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        stop, added = asyncio.Event(), 0

        async def writes() -> int:
            number = 0
            while not stop.is_set():
                name = f"d{number}"
                await service.add("busy", f"Ada has {number} cats.", id=name)
                await service.patch("busy", name, metadata={"n": number})
                assert (await service.read("busy", name))["metadata"] == {"n": number}
                if number % 5 == 4:
                    await service.delete("busy", name)
                    await service.client.refused(404, "GET", f"/ns/busy/document/{name}")
                number += 1
            return number

        writing = asyncio.create_task(writes())
        for number in range(3):
            answer = await replayed(service)
            assert (answer["state"], answer["generation"]) == ("done", number + 1)
        stop.set()
        added = await writing
        await service.settled()
        documents = await service.official.list("busy", "documents", limit=1)
        assert documents.pagination.total_items == added - added // 5
        before = await rows_of(service.pipeline.store)
        await replayed(service)
        assert differences(before, await rows_of(service.pipeline.store)) == []


async def test_another_embedder_takes_over_without_a_pause(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        assert (await replayed(service, embedder="none"))["state"] == "done"
        assert service.pipeline.embedder.name != "wordllama-256"
        assert {one for one, _ in await answers(service)}
    async with world(tmp_path) as service:
        recipe = service.pipeline.foundation.recipe(service.pipeline.generation)
        assert recipe.embedder == "none", "the tables say what they were made with, whatever the settings say"
        await service.add("home", "Cleo lives in Oslo.", id="cleo")
        await service.settled()
        assert any(
            one["included"]["document"]["id"] == "cleo" for one in await service.search("home", "Oslo")
        )


@pytest.mark.parametrize("body", [{"from": "memories"}, {"stage": "embed"}], ids=["memories", "embed"])
async def test_what_is_not_made_anew_is_copied_and_every_row_is_the_same(
    tmp_path: Path, body: dict[str, str]
) -> None:
    async with world(tmp_path, chunk_size=100, partitions=3, shards=2) as service:
        await fill(service)
        await service.add("home", "Dora waits.", id="dora", dreaming="dynamic")
        answer = await replayed(service, **body)
        assert (answer["state"], answer["error"]) == ("done", None)
        await service.settled()
        before = await rows_of(service.pipeline.store)
        assert (await replayed(service))["state"] == "done"
        assert differences(before, await rows_of(service.pipeline.store)) == []
        answer = await replayed(service, **body)
        assert (answer["state"], answer["error"]) == ("done", None)
        assert differences(before, await rows_of(service.pipeline.store)) == []


async def test_only_the_vectors_are_made_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    async with world(tmp_path, chunk_size=100) as service:
        await fill(service)
        before = await rows_of(service.pipeline.store)
        assert (await replayed(service, stage="embed", embedder="none"))["state"] == "done"
        after = await rows_of(service.pipeline.store)
        assert before.keys() == after.keys()
        assert {wrong.partition(":")[0].rpartition(".")[2] for wrong in differences(before, after)} == {
            "vector"
        }


async def test_what_is_copied_can_not_be_cut_or_embedded_otherwise(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for body in (
            {"from": "memories", "chunkSize": 300},
            {"stage": "embed", "chunkSize": 300},
            {"from": "memories", "embedder": "none"},
            {"from": "memories", "stage": "embed"},
        ):
            await service.client.refused(409, "POST", "/admin/replay/plan", body)
            assert (await replayed(service, **body))["state"] == "failed"


async def test_a_rollback_serves_what_was_before_with_what_came_since(tmp_path: Path) -> None:
    async with world(tmp_path, chunk_size=100) as service:
        await fill(service)
        before = await rows_of(service.pipeline.store)
        await asyncio.gather(
            *(service.add("late", f"Dora has {number} cats.", id=f"d{number}") for number in range(9))
        )
        await replayed(service, chunkSize=800)  # in the middle of the work on these
        await service.add("home", "Cleo lives in Oslo.", id="cleo")
        await service.settled()
        assert (await replayed(service, "/admin/replay/rollback"))["state"] == "done"
        await service.settled()
        late = await service.listed("late", "documents")
        assert [one["system"]["status"] for one in late] == ["done"] * 9
        assert len(await service.listed("late", "chunks")) == 9
        assert service.pipeline.generation.number == 0
        after = await rows_of(service.pipeline.store)
        assert before.keys() < after.keys()
        assert differences(before, {one: after[one] for one in before}) == []
        assert any(
            one["included"]["document"]["id"] == "cleo" for one in await service.search("home", "Oslo")
        )


async def test_what_is_older_than_the_previous_generation_goes(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "Ada lives in Berlin.", id="ada")
        await service.settled()
        tables = tmp_path / "tables"
        await replayed(service)
        assert list(tables.glob("*.lance"))
        await replayed(service)
        assert list(tables.glob("*.lance")) == []
        assert {one.name for one in tables.iterdir()} == {"current", "g1", "g2"}
        assert (await service.client.ok("POST", "/admin/replay/clean-up"))["removed"] == [1]
        assert {one.name for one in tables.iterdir()} == {"current", "g2"}
        failed = await replayed(service, "/admin/replay/rollback")
        assert "no previous generation" in failed["error"]
        assert await service.search("home", QUESTION)


async def test_a_replay_that_is_cancelled_before_its_tables_are_open_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = asyncio.Event()

    async def slowly(*_: object, **__: object) -> None:
        (tmp_path / "tables" / "g1").mkdir()
        opening.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(job, "open_pipeline", slowly)
    async with world(tmp_path) as service:
        await service.client.ok("POST", "/admin/replay", {})
        await opening.wait()
        assert (await service.client.ok("DELETE", "/admin/replay"))["state"] == "cancelled"
        assert not (tmp_path / "tables" / "g1").exists()


async def test_a_replay_that_is_cancelled_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        before = await rows_of(service.pipeline.store)
        await service.client.ok("POST", "/admin/replay", {})
        refused = await service.client.refused(409, "POST", "/admin/replay", {})
        assert "A replay is running" in refused["details"]
        assert (await service.client.ok("DELETE", "/admin/replay"))["state"] == "cancelled"
        assert service.pipeline.generation.number == 0
        assert {one.name for one in (tmp_path / "tables").iterdir() if one.name.startswith("g")} == set()
        assert differences(before, await rows_of(service.pipeline.store)) == []
        assert (await replayed(service))["state"] == "done"


async def test_a_replay_that_fails_says_why_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        found = await answers(service)
        answer = await replayed(service, embedder="openai")
        assert (answer["state"], service.pipeline.generation.number) == ("failed", 0)
        assert "RECOLLECT_EMBEDDER_BASE_URL" in answer["error"]
        assert await answers(service) == found


async def test_tables_that_no_replay_finished_are_gone_after_the_next_start(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "Ada lives in Berlin.", id="ada")
        await service.settled()
    (tmp_path / "tables" / "g1" / "documents.lance").mkdir(parents=True)
    async with world(tmp_path) as service:
        assert not (tmp_path / "tables" / "g1").exists()
        assert await service.search("home", QUESTION)


async def test_the_pointer_says_what_the_tables_were_made_with_and_how_far_they_had_read(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "Ada lives in Berlin.", id="ada")
        await service.settled()
        await replayed(service, chunkSize=300)
    pointer = json.loads((tmp_path / "tables" / "current").read_text())
    assert (pointer["current"]["number"], pointer["previous"]["number"]) == (1, 0)
    assert pointer["current"]["recipe"]["chunk_size"] == 300
    assert sum(pointer["current"]["offsets"]["documents.submitted.v1"].values()) == 1


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        plan = await service.client.ok("POST", "/admin/replay/plan", {"chunkSize": 300})
        assert (plan["current"], plan["previous"], plan["documents"]) == (0, None, 4)
        assert plan["recipe"]["chunkSize"] == 300
        assert plan["records"]["documents.submitted.v1"] >= 6
        assert plan["bytes"] > 0
        assert (await service.client.ok("GET", "/admin/replay"))["state"] == "idle"


async def test_only_operators_may_replay(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        body = {"name": "of tests", "role": "write"}
        writer = service.client.as_key((await service.client.ok("POST", "/admin/keys", body))["key"])
        await writer.refused(403, "POST", "/admin/replay", {})
        await writer.refused(403, "DELETE", "/admin/replay")
