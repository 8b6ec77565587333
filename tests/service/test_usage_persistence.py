"""Usage survives a restart, and a replay counts nothing again."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_rows import run_replay
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio


async def current_usage(service: RunningService) -> Any:
    """Documents and searches of this month."""
    answer = await service.client.ok("GET", "/admin/usage")
    return answer["documents"]["used"], answer["searches"]["used"]


async def test_usage_outlives_the_process_and_no_replay_adds_to_it(tmp_path: Path) -> None:
    async with running_service(tmp_path, monthly_documents=3) as service:
        await service.add_document("alice", "Ada plays the cello.", id="a")
        await service.add_document("alice", "Bob plays the flute.", id="b")
        await service.search("alice", "cello")
        await service.wait_idle()
        assert await current_usage(service) == (2, 1)
    async with running_service(tmp_path, monthly_documents=3) as service:
        assert await current_usage(service) == (2, 1)
        assert (await run_replay(service))["state"] == "done"
        assert await current_usage(service) == (2, 1), "after a replay"
        await service.add_document("alice", "Cleo sings.", id="c")
        await service.client.fails(402, "POST", "/ns/alice/document", {"content": "Dan listens.", "id": "d"})
        assert await current_usage(service) == (3, 1), "counted on by the tables that serve now"
