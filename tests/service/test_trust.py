"""Results tell what is not the user's own words, and memories tell who says them."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.mcp_client import call_tool, call_tool_text, connected
from tests.support.service_world import ADMIN, RunningService, running_service

pytestmark = pytest.mark.anyio

MAIL = b"From: Zoe <zoe@example.org>\nSubject: Plans\n\nI moved to Oslo. The Otter Club meets in Bergen.\n"
PAGE = b"<html><body><p>Otto Falk lives in Graz. Otto Falk works for Siemens.</p></body></html>"
TALK = "Ben: I live in Porto and I have a lynx.\nAda: I live in Rome."
OTHERS = {"trust": "others"}


async def _trust(service: RunningService, ns: str, query: str) -> dict[str, set[Any]]:
    """What results of a search say of their trust, by their documents."""
    found: dict[str, set[Any]] = {}
    for result in await service.search(ns, query):
        found.setdefault(result["included"]["document"]["id"], set()).add(result["metadata"].get("trust"))
    return found


async def test_words_of_others_are_marked_in_every_result_and_own_words_are_not(
    service: RunningService, ns: str
) -> None:
    synced = {"provider": "notion", "connector": "c1"}
    await service.add_document(ns, "I live in Lisbon. I love otters.", id="own")
    await service.add_document(ns, "I live in Faro. I love cats.", id="synced", metadata=synced)
    await service.add_document(ns, "I like tea. Kim likes tea.", id="named", metadata={"trust": "mine"})
    mail, page = [await service.add_file(ns, name, data) for name, data in (("a.eml", MAIL), ("a.html", PAGE))]
    await service.wait_idle()
    found = await _trust(service, ns, "Who lives, works or meets where, and who likes what?")
    assert found == {"own": {None}, "synced": {"others"}, "named": {"mine"}, mail: {"others"}, page: {"others"}}
    for id_ in found:
        read = await service.read_document(ns, id_)
        assert read["chunks"]
        assert read["memories"]
        assert {item["metadata"].get("trust") for item in (*read["chunks"], *read["memories"])} == found[id_]
    listed = await service.list_items(ns, "memories")
    assert {memory["metadata"].get("trust") for memory in listed} == {None, "others", "mine"}


async def test_a_memory_of_own_words_and_a_page_is_own(service: RunningService, ns: str) -> None:
    page = await service.add_file(ns, "a.html", PAGE)
    await service.wait_idle()
    assert await _trust(service, ns, "Otto Falk") == {page: {"others"}}
    await service.add_document(ns, "Otto Falk lives in Graz.", id="own")
    await service.wait_idle()
    memories = {item["memory"]: item["metadata"] for item in await service.list_items(ns, "memories")}
    assert memories == {"Otto Falk lives in Graz": {}, "Otto Falk works for Siemens": OTHERS}


async def test_a_memory_keeps_who_said_it_through_replay_and_export(tmp_path: Path) -> None:
    async with running_service(tmp_path / "one") as service:
        await service.add_document("home", TALK, id="talk")
        await service.add_document("home", "I live in Lisbon.", id="own")
        await service.wait_idle()
        before = await _speakers(service)
        assert {"Ben lives in Porto": "Ben", "Ada lives in Rome": "Ada", "User lives in Lisbon": None}.items() <= (
            before.items()
        )
        await service.replay()
        assert await _speakers(service) == before
        lines = (await service.client("GET", "/admin/export?namespace=home")).content
    async with running_service(tmp_path / "two") as service:
        assert (await service.client("POST", "/admin/import", content=lines)).is_success
        await service.wait_idle()
        assert await _speakers(service) == before


async def _speakers(service: RunningService) -> dict[str, Any]:
    """Who says each memory, which its explanation says too."""
    found = {}
    for item in await service.list_items("home", "memories"):
        found[item["memory"]] = speaker = item["metadata"].get("saidBy")
        (statement,) = (await service.client.ok("GET", f"/ns/home/explain/memories/{item['id']}"))["statements"]
        assert statement.get("saidBy") == speaker
    return found


async def test_a_model_is_told_what_the_user_did_not_say(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "I live in Lisbon.", id="own")
    page = await service.add_file(ns, "a.html", PAGE)
    await service.wait_idle()
    http = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(service.app),
        base_url="http://test",
        headers={"authorization": f"Bearer {ADMIN}"},
    )
    async with http, connected(http) as model:
        found = (await call_tool(model, "search_memory", namespace=ns, query="Who lives where?"))["results"]
        text = await call_tool_text(model, "search_memory", namespace=ns, query="Who lives where?")
    assert {(hit["source"]["id"], hit["trust"]) for hit in found} == {("own", None), (page, "others")}
    headings = [line for line in text.splitlines() if line.startswith("[")]
    assert {page in line for line in headings} == {True, False}
    assert all(line.endswith(" · not the user's words") == (page in line) for line in headings)
    assert f"from document {page} (webpage: " in text
