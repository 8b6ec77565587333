"""What was concluded is found, says from what, and is there again after a replay, whoever concluded it."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.pipeline.inference.model import ModelDouble, answering, memory
from tests.service.generations import differences, replayed, rows_of
from tests.service.world import World, world

pytestmark = pytest.mark.anyio

SISTER, HOME = "User's sister is Clara", "Clara lives in Rome"


async def _inferred(service: World, namespace: str) -> set[str]:
    return {one["memory"] for one in await service.listed(namespace, "memories") if one["isInference"]}


async def _is_made_again(service: World, namespace: str) -> None:
    before, there = await rows_of(service.pipeline.store), await _inferred(service, namespace)
    assert there
    assert (await replayed(service))["state"] == "done"
    await service.settled()
    assert differences(before, await rows_of(service.pipeline.store)) == []
    assert await _inferred(service, namespace) == there


async def test_what_rules_conclude_is_found_and_replayed(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await service.add("home", "My sister is Clara.", id="a")
        await service.settled()
        await service.add("home", "Clara lives in Rome.", id="b")
        await service.settled()
        body = {"searchMode": "memories", "include": {"related": True}}
        found = await service.search("home", "Where does my sister live?", **body)
        [one] = [one for one in found if one.get("isInference")]
        assert one["memory"] == "User's sister Clara lives in Rome"
        parents = one["included"]["related"]["parents"]
        assert {(each["relation"], each["memory"]) for each in parents} == {
            ("derives", SISTER),
            ("derives", HOME),
        }
        await _is_made_again(service, "home")
        await service.delete("home", "a")
        assert await _inferred(service, "home") == set()


def _partition(name: str) -> int:
    return crc32(f"{name}#0".encode()) % 3


OLD = next(name for name in map("old{}".format, range(100)) if _partition(name) > _partition("home"))
"""A namespace whose memories come later in the log, partition by partition, than those of `home`."""


def concluding(body: dict[str, Any]) -> str:
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
    """Also where the memories that it needs came from other namespaces, so from other partitions."""
    double = ModelDouble(concluding)
    async with (
        answering(double) as url,
        world(tmp_path, partitions=3, llm_base_url=url, llm_model="double") as service,
    ):
        for number, name in enumerate([OLD if moved else "home", "home"]):
            await service.add(name, f"Ada has boat {number}", id=f"d{number}")
            await service.settled()
            if name == OLD:
                await service.client.ok("DELETE", f"/ns/{OLD}?moveTo=home")
        await service.settled()
        await service.add("home", "So it is", id="so")
        await service.settled()
        assert await _inferred(service, "home") == {"Boats are wanted"}
        [row] = [one for one in (await service.read("home", "so"))["memories"] if one["isInference"]]
        asked = len(double.calls)
    async with world(tmp_path, partitions=3) as service:
        await _is_made_again(service, "home")
        [again] = [one for one in (await service.read("home", "so"))["memories"] if one["isInference"]]
        assert {**again, "system": None} == {**row, "system": None}
    assert len(double.calls) == asked
