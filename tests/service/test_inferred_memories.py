"""Inferred memories are found, name their premises, and survive a replay, by rules or by a language model."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.support.chat_endpoint_double import ChatEndpointDouble, memory, serve
from tests.support.generation_rows import read_all_rows, row_differences, run_replay
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio

SISTER, HOME = "User's sister is Clara", "Clara lives in Rome"


async def _inferred_memories(service: RunningService, namespace: str) -> set[str]:
    return {memory["memory"] for memory in await service.list_items(namespace, "memories") if memory["isInference"]}


async def _assert_replay_reproduces(service: RunningService, namespace: str) -> None:
    before, there = await read_all_rows(service.pipeline.store), await _inferred_memories(service, namespace)
    assert there
    assert (await run_replay(service))["state"] == "done"
    await service.wait_idle()
    assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
    assert await _inferred_memories(service, namespace) == there


async def test_what_rules_conclude_is_found_and_replayed(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.add_document("home", "My sister is Clara.", id="a")
        await service.wait_idle()
        await service.add_document("home", "Clara lives in Rome.", id="b")
        await service.wait_idle()
        body = {"searchMode": "memories", "include": {"related": True}}
        found = await service.search("home", "Where does my sister live?", **body)
        [result] = [result for result in found if result.get("isInference")]
        assert result["memory"] == "User's sister Clara lives in Rome"
        parents = result["included"]["related"]["parents"]
        assert {(each["relation"], each["memory"]) for each in parents} == {
            ("derives", SISTER),
            ("derives", HOME),
        }
        await _assert_replay_reproduces(service, "home")
        plan = await service.client.ok(
            "POST", "/admin/erasures", {"namespace": "home", "documents": ["a"], "dryRun": True}
        )
        assert (plan["memories"], plan["derivedMemories"]) == (2, 1)
        named = [(memory["memory"], memory["isDerived"]) for memory in plan["goingMemories"]]
        assert named == [(SISTER, False), ("User's sister Clara lives in Rome", True)]
        await service.delete_documents("home", "a")
        assert await _inferred_memories(service, "home") == set()


def _partition(name: str) -> int:
    return crc32(f"{name}#0".encode()) % 3


OLD = next(name for name in map("old{}".format, range(100)) if _partition(name) > _partition("home"))
"""A namespace whose memories come later in the log, partition by partition, than those of `home`."""


def inferring_model(body: dict[str, Any]) -> str:
    """States what documents say, and from `So` concludes something that needs all that is known."""
    asked = body["messages"][-1]["content"]
    known = [line.split(":")[0] for line in asked.splitlines() if line.startswith("K")]
    said = [line for line in asked.splitlines() if line[:1].isupper() and not line.startswith("K")]
    facts = [memory(1, line) for line in said if not line.startswith("So")]
    if "\nSo " in asked and known:
        facts.append(memory(1, "Boats are wanted", inferred=True, follows_from=known))
    return json.dumps({"memories": facts})


@pytest.mark.parametrize("moved", [False, True])
async def test_what_a_model_concluded_is_there_after_a_replay_without_it(tmp_path: Path, moved: bool) -> None:
    """`moved`: the premises came from other namespaces, so from other partitions."""
    double = ChatEndpointDouble(inferring_model)
    async with (
        serve(double) as url,
        running_service(tmp_path, log_partitions=3, llm_base_url=url, llm_model="double") as service,
    ):
        for number, name in enumerate([OLD if moved else "home", "home"]):
            await service.add_document(name, f"Ada has boat {number}", id=f"d{number}")
            await service.wait_idle()
            if name == OLD:
                await service.client.ok("DELETE", f"/ns/{OLD}?moveTo=home")
        await service.wait_idle()
        await service.add_document("home", "So it is", id="so")
        await service.wait_idle()
        assert await _inferred_memories(service, "home") == {"Boats are wanted"}
        [row] = [memory for memory in (await service.read_document("home", "so"))["memories"] if memory["isInference"]]
        asked = len(double.calls)
    async with running_service(tmp_path, log_partitions=3) as service:
        await _assert_replay_reproduces(service, "home")
        [again] = [
            memory for memory in (await service.read_document("home", "so"))["memories"] if memory["isInference"]
        ]
        assert {**again, "system": None} == {**row, "system": None}
    assert len(double.calls) == asked
