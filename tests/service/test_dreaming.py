"""When memories are formed: at once, in a quiet moment, or never."""

from collections.abc import AsyncIterator

import pytest

from tests.service.world import World, world

pytestmark = pytest.mark.anyio

HOUR = 3600.0


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    """A service whose quiet moment does not come while a test runs."""
    async with world(tmp_path_factory.mktemp("dreaming"), dreaming_quiet_seconds=HOUR) as opened:
        yield opened


async def _dreaming(service: World, ns: str, document: str) -> tuple[str, int]:
    read = await service.read(ns, document)
    assert read["system"]["status"] == "done"
    status: str = read["system"]["dreamingStatus"]
    return status, len(read["memories"])


async def test_dynamic_waits_for_a_quiet_moment_and_instant_does_not(service: World, ns: str) -> None:
    await service.add(ns, "Ada lives in Berlin.", id="dynamic", dreaming="dynamic")
    await service.add(ns, "Bob lives in Oslo.", id="instant", dreaming="instant")
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "instant") == ("done", 1)
    assert await _dreaming(service, ns, "dynamic") == ("dreaming", 0)
    found = {one["included"]["document"]["id"] for one in await service.search(ns, "Where does Ada live?")}
    assert "dynamic" in found, "its chunks are found while its memories wait"
    await service.patch(ns, "dynamic", content="Ada lives in Rome.", dreaming="instant")
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "dynamic") == ("done", 1)


async def test_dynamic_is_what_nobody_asked_otherwise(service: World, ns: str) -> None:
    await service.client.ok("POST", f"/ns/{ns}/document", {"content": "Ada lives in Berlin.", "id": "x"})
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "x") == ("dreaming", 0)


async def test_superrag_forms_no_memories_and_its_dreaming_is_done_at_once(service: World, ns: str) -> None:
    await service.add(ns, "Ada lives in Berlin.", id="x", taskType="superrag", dreaming="dynamic")
    system = (await service.read(ns, "x"))["system"]
    assert system["dreamingStatus"] == "done"
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "x") == ("done", 0)
    assert await service.listed(ns, "memories") == []
    assert {"chunk"} == {"chunk" for one in await service.search(ns, "Ada") if "chunk" in one}
    assert await service.search(ns, "Ada", searchMode="memories") == []
    profile = (await service.client.ok("POST", f"/ns/{ns}/profile", {}))["profile"]
    assert (profile["static"], profile["dynamic"]) == ([], [])


async def test_a_document_that_becomes_superrag_loses_its_memories_and_gets_them_back(
    service: World, ns: str
) -> None:
    await service.add(ns, "Ada lives in Berlin.", id="x")
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "x") == ("done", 1)
    await service.patch(ns, "x", content="Ada lives in Oslo.", taskType="superrag")
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "x") == ("done", 0)
    assert await service.listed(ns, "memories") == []
    await service.patch(ns, "x", content="Ada lives in Oslo.", taskType="memory", dreaming="instant")
    await service.settled(dreaming=False)
    assert await _dreaming(service, ns, "x") == ("done", 1)


async def test_a_dynamic_document_is_formed_when_its_namespace_was_quiet(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with world(tmp_path_factory.mktemp("quiet"), dreaming_quiet_seconds=0.3) as service:
        await service.add("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.settled()
        assert await _dreaming(service, "home", "x") == ("done", 1)


async def test_a_document_deleted_while_it_waits_leaves_nothing_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with world(tmp_path_factory.mktemp("quiet"), dreaming_quiet_seconds=0.3) as service:
        await service.add("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.add("home", "Bob lives in Oslo.", id="y", dreaming="dynamic")
        await service.settled(dreaming=False)
        await service.delete("home", "x")
        await service.settled()
        assert [one["memory"] for one in await service.listed("home", "memories")] == ["Bob lives in Oslo"]
