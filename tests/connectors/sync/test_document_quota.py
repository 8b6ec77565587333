"""Documents of connectors are those of the key that made the connector, and of the organization."""

from pathlib import Path
from typing import Any

import pytest

from bench.doubles.sample_source import SampleProvider, SampleSource
from tests.support.connectors.connected_service import ConnectedService, run_connected_service

pytestmark = pytest.mark.anyio


def filled(documents: int) -> SampleSource:
    shelf = SampleSource()
    for number in range(documents):
        shelf.put(f"text-{number}", f"Text number {number}.")
    return shelf


async def used(world: ConnectedService) -> Any:
    """Documents of this month: of all, and by the name of the key."""
    answer = await world.client.ok("GET", "/admin/usage")
    return answer["documents"]["used"], {key["name"]: key["documents"]["used"] for key in answer["keys"]}


async def test_a_key_whose_documents_are_used_up_stops_its_connector_until_it_has_more(
    tmp_path: Path,
) -> None:
    shelf = filled(5)
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as world:
        body = {"name": "wiki", "role": "write", "namespaces": ["alice"], "monthlyDocuments": 3}
        issued = await world.client.ok("POST", "/admin/keys", body)
        wiki = world.client.as_key(issued["key"])
        made = await wiki.ok("POST", "/ns/alice/connectors", {"provider": "github"})
        await world.authorize(made["authorization"]["url"])
        run = await world.wait_for_run(made["id"])
        assert (run.status, run.error_code) == ("failed", "plan_required")
        assert "The 3 documents that the key that created this connector may add" in (run.error or "")
        assert len(await world.documents("alice")) == 3
        assert await used(world) == (3, {"wiki": 3})
        assert (await world.sync("alice", made["id"])).status == "failed"
        await wiki.fails(402, "POST", "/ns/alice/document", {"content": "One more."})


async def test_the_organization_is_told_too_and_the_month_after_the_run_goes_on(tmp_path: Path) -> None:
    shelf = filled(4)
    async with run_connected_service(
        tmp_path, {"github": SampleProvider()}, shelf.transport(), monthly_documents=3
    ) as world:
        connector = await world.create("alice", "github")
        run = await world.wait_for_run(connector)
        assert (run.status, run.error_code) == ("failed", "plan_required")
        assert "that the organization may add" in (run.error or "")
    async with run_connected_service(
        tmp_path, {"github": SampleProvider()}, shelf.transport(), monthly_documents=4
    ) as world:
        assert (await world.sync("alice", connector)).status == "completed"
        assert len(await world.documents("alice")) == 4
        assert await used(world) == (4, {"RECOLLECT_ADMIN_KEY": 4})
