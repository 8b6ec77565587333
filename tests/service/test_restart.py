"""The service is closed and opened again on the same folder."""

from pathlib import Path
from typing import Any

import pytest

from tests.service.generations import fill
from tests.service.world import World, world

pytestmark = pytest.mark.anyio

HOUR = 3600.0


async def _answers(service: World) -> dict[str, Any]:
    """What every kind of question answers, without what differs each time."""
    found: dict[str, Any] = {}
    for path in ("/ns", "/organization", "/ns/home", "/ns/home/profile/buckets", "/admin/failed"):
        found[path] = await service.client.ok("GET", path)
    for name in ("home", "old", "new", "ended"):
        for kind in ("documents", "chunks", "memories"):
            found[f"{name} {kind}"] = await service.listed(
                name, kind, include={"content": True, "memoryCount": True, "forgotten": True}
            )
        for mode in ("hybrid", "memories", "chunks"):
            found[f"{name} search {mode}"] = await service.search(
                name, "Where does Ada live?", searchMode=mode
            )
        profile = await service.client.ok("POST", f"/ns/{name}/profile", {"buckets": ["music"]})
        found[f"{name} profile"] = profile["profile"]
    return found


async def test_after_a_restart_every_answer_is_the_same(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await fill(service)
        before = await _answers(service)
    async with world(tmp_path) as service:
        assert await _answers(service) == before
        await service.settled()
        assert await _answers(service) == before
    assert [one["namespace"] for one in before["/ns"]["namespaces"]] == ["new", "home"]
    assert before["home search hybrid"]
    assert any(memory["isForgotten"] for memory in before["home memories"])


async def test_what_was_only_accepted_is_done_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path, running=False) as service:
        for number in range(5):
            await service.add("home", f"Ada has {number} cats.", id=f"d{number}")
        await service.patch("home", "d1", content="Ada has no cats.")
        await service.delete("home", "d2")
        await service.add("home", "Ada has a dog.", id="d2")
        await service.delete("home", "d3")
        await service.client.ok("DELETE", "/ns/home?moveTo=house")
        assert (await service.read("home", "d0"))["system"]["status"] == "queued"
    async with world(tmp_path, running=False) as service:
        assert (await service.read("home", "d0"))["system"]["status"] == "queued"
    async with world(tmp_path) as service:
        await service.settled()
        documents = await service.listed("house", "documents", include={"content": True})
        assert {one["id"]: (one["content"], one["system"]["status"]) for one in documents} == {
            "d0": ("Ada has 0 cats.", "done"),
            "d1": ("Ada has no cats.", "done"),
            "d2": ("Ada has a dog.", "done"),
            "d4": ("Ada has 4 cats.", "done"),
        }
        assert await service.listed("home", "documents") == []
        found = {one["included"]["document"]["id"] for one in await service.search("house", "cats")}
        assert found == {"d0", "d1", "d2", "d4"}


async def test_memories_that_waited_for_a_quiet_moment_are_formed_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path, dreaming_quiet_seconds=HOUR) as service:
        await service.add("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.settled(dreaming=False)
        read = await service.read("home", "x")
        assert (read["system"]["status"], read["system"]["dreamingStatus"]) == ("done", "dreaming")
        assert read["memories"] == []
    async with world(tmp_path) as service:
        await service.settled()
        read = await service.read("home", "x")
        assert read["system"]["dreamingStatus"] == "done"
        assert [memory["memory"] for memory in read["memories"]] == ["Ada lives in Berlin"]
