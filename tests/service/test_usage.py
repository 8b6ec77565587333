"""What was used survives a restart, and a replay counts nothing again."""

from pathlib import Path
from typing import Any

import pytest

from tests.service.generations import replayed
from tests.service.world import World, world

pytestmark = pytest.mark.anyio


async def used(service: World) -> Any:
    """Documents and searches of this month."""
    answer = await service.client.ok("GET", "/admin/usage")
    return answer["documents"]["used"], answer["searches"]["used"]


async def test_usage_outlives_the_process_and_no_replay_adds_to_it(tmp_path: Path) -> None:
    async with world(tmp_path, monthly_documents=3) as service:
        await service.add("alice", "Ada plays the cello.", id="a")
        await service.add("alice", "Bob plays the flute.", id="b")
        await service.search("alice", "cello")
        await service.settled()
        assert await used(service) == (2, 1)
    async with world(tmp_path, monthly_documents=3) as service:
        assert await used(service) == (2, 1)
        assert (await replayed(service))["state"] == "done"
        assert await used(service) == (2, 1), "after a replay"
        await service.add("alice", "Cleo sings.", id="c")
        await service.client.refused(
            402, "POST", "/ns/alice/document", {"content": "Dan listens.", "id": "d"}
        )
        assert await used(service) == (3, 1), "counted on by the tables that serve now"
