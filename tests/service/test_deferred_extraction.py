"""Memories are formed at once, in a quiet moment, or never."""

from collections.abc import AsyncIterator

import pytest

from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio

HOUR = 3600.0


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    """A service whose quiet moment does not come while a test runs."""
    async with running_service(tmp_path_factory.mktemp("dreaming"), dreaming_debounce_seconds=HOUR) as opened:
        yield opened


async def _extraction_status(service: RunningService, ns: str, document: str) -> tuple[str, int]:
    read = await service.read_document(ns, document)
    assert read["system"]["status"] == "done"
    status: str = read["system"]["dreamingStatus"]
    return status, len(read["memories"])


async def test_dynamic_waits_for_a_quiet_moment_and_instant_does_not(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="dynamic", dreaming="dynamic")
    await service.add_document(ns, "Bob lives in Oslo.", id="instant", dreaming="instant")
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "instant") == ("done", 1)
    assert await _extraction_status(service, ns, "dynamic") == ("dreaming", 0)
    found = {result["included"]["document"]["id"] for result in await service.search(ns, "Where does Ada live?")}
    assert "dynamic" in found, "its chunks are found while its memories wait"
    await service.patch_document(ns, "dynamic", content="Ada lives in Rome.", dreaming="instant")
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "dynamic") == ("done", 1)


async def test_dynamic_is_what_nobody_asked_otherwise(service: RunningService, ns: str) -> None:
    await service.client.ok("POST", f"/ns/{ns}/document", {"content": "Ada lives in Berlin.", "id": "x"})
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "x") == ("dreaming", 0)


async def test_superrag_forms_no_memories_and_its_dreaming_is_done_at_once(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", taskType="superrag", dreaming="dynamic")
    system = (await service.read_document(ns, "x"))["system"]
    assert system["dreamingStatus"] == "done"
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "x") == ("done", 0)
    assert await service.list_items(ns, "memories") == []
    assert {"chunk"} == {"chunk" for result in await service.search(ns, "Ada") if "chunk" in result}
    assert await service.search(ns, "Ada", searchMode="memories") == []
    profile = (await service.client.ok("POST", f"/ns/{ns}/profile", {}))["profile"]
    assert (profile["static"], profile["dynamic"]) == ([], [])


async def test_a_document_that_becomes_superrag_loses_its_memories_and_gets_them_back(
    service: RunningService, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "x") == ("done", 1)
    await service.patch_document(ns, "x", content="Ada lives in Oslo.", taskType="superrag")
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "x") == ("done", 0)
    assert await service.list_items(ns, "memories") == []
    await service.patch_document(ns, "x", content="Ada lives in Oslo.", taskType="memory", dreaming="instant")
    await service.wait_idle(include_extraction=False)
    assert await _extraction_status(service, ns, "x") == ("done", 1)


async def test_a_dynamic_document_is_formed_when_its_namespace_was_quiet(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with running_service(tmp_path_factory.mktemp("quiet"), dreaming_debounce_seconds=0.3) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.wait_idle()
        assert await _extraction_status(service, "home", "x") == ("done", 1)


async def test_a_document_deleted_while_it_waits_leaves_nothing_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with running_service(tmp_path_factory.mktemp("quiet"), dreaming_debounce_seconds=0.3) as service:
        await service.add_document("home", "Ada lives in Berlin.", id="x", dreaming="dynamic")
        await service.add_document("home", "Bob lives in Oslo.", id="y", dreaming="dynamic")
        await service.wait_idle(include_extraction=False)
        await service.delete_documents("home", "x")
        await service.wait_idle()
        assert [memory["memory"] for memory in await service.list_items("home", "memories")] == ["Bob lives in Oslo"]
