"""Life of memories over the interface: versions, forgetting, expiry, relations."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path_factory.mktemp("lifecycle")) as opened:
        yield opened


async def _memories(service: RunningService, ns: str, *, forgotten: bool = True) -> dict[str, Any]:
    listed = await service.list_items(ns, "memories", include={"forgotten": forgotten})
    return {memory["memory"]: memory for memory in listed}


async def _moved(service: RunningService, ns: str) -> dict[str, Any]:
    """Five homes, told out of order."""
    for year, town in ((2023, "Oslo"), (2021, "Rome"), (2025, "Lima"), (2022, "Bonn"), (2024, "Graz")):
        await service.add_document(ns, f"Ada lives in {town}.", id=town, date=f"{year}-05-01")
        await service.wait_idle()
    return await _memories(service, ns)


async def test_documents_out_of_order_end_with_the_newest_fact_and_three_steps_are_shown_each_way(
    service: RunningService, ns: str
) -> None:
    there = await _moved(service, ns)
    assert {text: memory["version"] for text, memory in there.items()} == {
        f"Ada lives in {town}": version for version, town in enumerate(("Rome", "Bonn", "Oslo", "Graz", "Lima"), 1)
    }
    assert [text for text, memory in there.items() if memory["isLatest"]] == ["Ada lives in Lima"]
    path = f"/ns/{ns}/memories/{{}}?include=related"
    newest = await service.client.ok("GET", path.format(there["Ada lives in Lima"]["id"]))
    oldest = await service.client.ok("GET", path.format(there["Ada lives in Rome"]["id"]))
    parents = [memory["memory"] for memory in newest["included"]["related"]["parents"]]
    children = [memory["memory"] for memory in oldest["included"]["related"]["children"]]
    assert parents == ["Ada lives in Graz", "Ada lives in Oslo", "Ada lives in Bonn"]
    assert children == ["Ada lives in Bonn", "Ada lives in Oslo", "Ada lives in Graz"]


async def test_a_deleted_document_takes_its_version_and_the_chain_gets_another_head(
    service: RunningService, ns: str
) -> None:
    await _moved(service, ns)
    await service.delete_documents(ns, "Lima", "Oslo")
    there = await _memories(service, ns)
    assert {text: (memory["version"], memory["isLatest"]) for text, memory in there.items()} == {
        "Ada lives in Rome": (1, False),
        "Ada lives in Bonn": (2, False),
        "Ada lives in Graz": (3, True),
    }


async def test_the_version_before_a_forgotten_one_does_not_come_back(service: RunningService, ns: str) -> None:
    there = await _moved(service, ns)
    await service.client.ok("DELETE", f"/ns/{ns}/memories", {"ids": [there["Ada lives in Lima"]["id"]]})
    assert await _memories(service, ns, forgotten=False) == {}
    assert not any(memory["isLatest"] for memory in (await _memories(service, ns)).values())


async def test_forgetting_by_meaning_shows_first_and_takes_only_what_is_meant(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada likes green tea. Ada lives in Oslo. Ada plays the cello.", id="ada")
    await service.wait_idle()
    path = f"/ns/{ns}/memories/semantic"
    shown = await service.client.ok("DELETE", path, {"query": "Ada likes green tea", "dryRun": True})
    assert [match["memory"] for match in shown["matches"]] == ["Ada likes green tea"]
    assert len(await _memories(service, ns, forgotten=False)) == 3
    assert await service.client.ok("DELETE", path, {"query": "Ada likes green tea", "dryRun": False}) == shown
    assert set(await _memories(service, ns, forgotten=False)) == {"Ada lives in Oslo", "Ada plays the cello"}
    nothing = await service.client.ok("DELETE", path, {"query": "nuclear submarines", "dryRun": False})
    assert (nothing["count"], nothing["matches"]) == (0, [])


async def test_what_is_over_is_shown_on_request_only_and_is_not_the_latest(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "I'm on vacation until 7 August 2020.", id="then", date="2020-08-01")
    await service.wait_idle()
    assert await _memories(service, ns, forgotten=False) == {}
    (memory,) = (await _memories(service, ns)).values()
    assert (memory["isForgotten"], memory["isLatest"]) == (True, False)
    asked = {"searchMode": "memories", "include": {"forgotten": True}}
    assert await service.search(ns, "vacation", searchMode="memories") == []
    assert [found["isLatest"] for found in await service.search(ns, "vacation", **asked)] == [False]


async def test_a_search_shows_what_a_memory_extends_and_what_it_replaced(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada has a motorbike. Ada lives in Rome.", id="old", date="2021-01-01")
    await service.wait_idle()
    await service.add_document(ns, "Ada painted her motorbike red. Ada lives in Oslo.", id="new", date="2022-01-01")
    await service.wait_idle()
    asked = {"searchMode": "memories", "include": {"related": True}}
    found = {result["memory"]: result for result in await service.search(ns, "Ada motorbike Oslo", **asked)}
    related = {
        text: {
            side: [(memory["relation"], memory["memory"]) for memory in entries]
            for side, entries in memory["included"]["related"].items()
            if entries
        }
        for text, memory in found.items()
    }
    assert related["Ada lives in Oslo"] == {"parents": [("updates", "Ada lives in Rome")]}
    assert related["Ada painted her motorbike red"] == {"siblings": [("extends", "Ada has a motorbike")]}
    assert related["Ada has a motorbike"] == {"children": [("extends", "Ada painted her motorbike red")]}
