"""The service is closed and opened again on the same folder."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_rows import fill_with_samples
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio

HOUR = 3600.0


async def _answers(service: RunningService) -> dict[str, Any]:
    """Answers of every kind of request, without values that differ each time."""
    found: dict[str, Any] = {}
    for path in ("/ns", "/organization", "/ns/home", "/ns/home/profile/buckets", "/admin/failed"):
        found[path] = await service.client.ok("GET", path)
    for name in ("home", "old", "new", "ended"):
        for kind in ("documents", "chunks", "memories"):
            found[f"{name} {kind}"] = await service.list_items(
                name, kind, include={"content": True, "memoryCount": True, "forgotten": True}
            )
        for mode in ("hybrid", "memories", "chunks"):
            found[f"{name} search {mode}"] = await service.search(name, "Where does Ada live?", searchMode=mode)
        profile = await service.client.ok("POST", f"/ns/{name}/profile", {"buckets": ["music"]})
        found[f"{name} profile"] = profile["profile"]
    return found


async def test_after_a_restart_every_answer_is_the_same(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await fill_with_samples(service)
        before = await _answers(service)
    async with running_service(tmp_path) as service:
        assert await _answers(service) == before
        await service.wait_idle()
        assert await _answers(service) == before
    assert [entry["namespace"] for entry in before["/ns"]["namespaces"]] == ["new", "home"]
    assert before["home search hybrid"]
    assert any(memory["isForgotten"] for memory in before["home memories"])


async def test_what_was_only_accepted_is_done_after_a_restart(tmp_path: Path) -> None:
    async with running_service(tmp_path, run_stages_here=False) as service:
        for number in range(5):
            await service.add_document("home", f"Ada has {number} cats.", id=f"d{number}")
        await service.patch_document("home", "d1", content="Ada has no cats.")
        await service.delete_documents("home", "d2")
        await service.add_document("home", "Ada has a dog.", id="d2")
        await service.delete_documents("home", "d3")
        await service.client.ok("DELETE", "/ns/home?moveTo=house")
        assert (await service.read_document("home", "d0"))["system"]["status"] == "queued"
    async with running_service(tmp_path, run_stages_here=False) as service:
        assert (await service.read_document("home", "d0"))["system"]["status"] == "queued"
    async with running_service(tmp_path) as service:
        await service.wait_idle()
        documents = await service.list_items("house", "documents", include={"content": True})
        assert {document["id"]: (document["content"], document["system"]["status"]) for document in documents} == {
            "d0": ("Ada has 0 cats.", "done"),
            "d1": ("Ada has no cats.", "done"),
            "d2": ("Ada has a dog.", "done"),
            "d4": ("Ada has 4 cats.", "done"),
        }
        assert await service.list_items("home", "documents") == []
        found = {result["included"]["document"]["id"] for result in await service.search("house", "cats")}
        assert found == {"d0", "d1", "d2", "d4"}


async def test_memories_that_waited_for_a_quiet_moment_are_formed_after_a_restart(tmp_path: Path) -> None:
    async with running_service(tmp_path, dreaming_debounce_seconds=HOUR) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.wait_idle(include_extraction=False)
        read = await service.read_document("home", "x")
        assert (read["system"]["status"], read["system"]["dreamingStatus"]) == ("done", "dreaming")
        assert read["memories"] == []
    async with running_service(tmp_path) as service:
        await service.wait_idle()
        read = await service.read_document("home", "x")
        assert read["system"]["dreamingStatus"] == "done"
        assert [memory["memory"] for memory in read["memories"]] == ["Ada lives in Berlin"]


async def test_a_key_ends_with_its_issuer_after_a_restart_too(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        lead = await service.client.ok("POST", "/admin/keys", {"name": "lead", "role": "admin", "namespaces": ["home"]})
        child = await service.client.as_key(lead["key"]).ok(
            "POST", "/admin/keys", {"name": "child", "role": "read", "namespaces": ["home"]}
        )
        await service.wait_idle()
    async with running_service(tmp_path) as service:
        keys = (await service.client.ok("GET", "/admin/keys"))["keys"]
        assert {row["id"]: row["issuer"] for row in keys}[child["id"]] == lead["id"]
        await service.client.ok("DELETE", f"/admin/keys/{lead['id']}")
        await service.client.as_key(child["key"]).fails(401, "GET", "/ns")
