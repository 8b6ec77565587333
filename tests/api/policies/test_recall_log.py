"""A namespace that asks for it records who reads what of it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.dependencies.authentication import PRINCIPAL_SCOPE_KEY
from api.policies import recall_log
from api.policies.api_keys import Principal
from api.policies.recall_log import READ_NAMESPACES_SCOPE_KEY, ids_shown, purpose_of, query_digest
from api.routes.contract_route import _record_recalls
from app import erasure_service
from schemas.events import RecallRecorded
from schemas.topics import CONTENT_TOPICS, RECALLS_RECORDED
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio

AT = datetime(2026, 11, 24, tzinfo=UTC)
PATH = "/ns/home/explain/recall-log"


async def _entries(service: RunningService, query: str = "") -> list[Any]:
    entries: list[Any] = (await service.client.ok("GET", PATH + query))["entries"]
    return entries


async def test_reads_are_recorded_with_key_purpose_digest_and_ids_and_go_with_the_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_log, "RECORDS_PER_READ", 2)
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 0.05)
    async with running_service(tmp_path / "data") as service:
        await service.add_document("home", "Ada keeps a violin in Porto.", id="diary")
        await service.wait_idle()
        await service.search("home", "Where is the violin?")
        assert await _entries(service) == []
        assert await service.client.ok("PUT", PATH, {"recallLog": True}) == {"recallLog": True}
        headers = {"x-recollect-purpose": "support case 7\x7f"}
        issued = await service.client.ok("POST", "/admin/keys", {"name": "r", "role": "read", "namespaces": ["home"]})
        reader = service.client.as_key(issued["key"])
        asked = {"query": "Where is the violin?", "threshold": 0}
        found = await reader.ok("POST", "/ns/home/search", asked, headers=headers)
        await reader.ok("GET", "/ns/home/document/diary")
        await reader.fails(404, "GET", "/ns/home/document/none")
        await reader.ok("POST", "/v4/search", {"q": "violin"})
        await service.patch_document("home", "diary", metadata={"seen": True})
        newest, read, search = await _entries(service)
        assert (search["key"], search["purpose"], search["operation"]) == (
            issued["id"], "support case 7", "postNsByNamespaceSearch",
        )  # fmt: skip
        assert {result["id"] for result in found["results"]} <= set(search["ids"])
        assert search["queryDigest"] == query_digest("home#0", b'{"query": "Where is the violin?"}')
        assert (read["operation"], read["ids"][0], read["queryDigest"]) == (
            "getNsByNamespaceDocumentById",
            "diary",
            None,
        )
        assert newest["operation"] == "postV4Search"
        page = await service.client.ok("GET", f"{PATH}?limit=2")
        assert page["entries"] == [newest, read]
        rest = await service.client("GET", PATH, params={"before": page["before"]})
        assert rest.json()["entries"] == [search]
        await reader.fails(403, "GET", PATH)
        await reader.fails(403, "PUT", PATH, {"recallLog": False})
        (act, *_) = (await service.client.ok("GET", "/admin/audit"))["entries"]
        assert (act["action"], act["outcome"]) == ("recall log switched", "refused")
    async with running_service(tmp_path / "data") as service:
        assert len(await _entries(service)) == 3
        await service.client.ok("PUT", PATH, {"recallLog": False})
        await service.read_document("home", "diary")
        assert len(await _entries(service)) == 3
        await service.client.ok("DELETE", "/ns/home")
        await service.wait_idle()
        report = await service.client.ok("POST", "/admin/erasures", {})
        assert report["events"][RECALLS_RECORDED.name] == 3
        assert RECALLS_RECORDED in CONTENT_TOPICS


def test_answers_in_other_formats_and_odd_bodies_give_no_ids_and_no_digest() -> None:
    assert ids_shown(b"# Profile") == ()
    assert ids_shown(b"[" * 200_000) == ()
    assert ids_shown(b'[{"id": 7}, {"id": "a", "other": [{"id": "a"}, "id"]}]') == ("a",)
    assert query_digest("home#0", b"") is None
    assert query_digest("home#0", b'["query"]') is None
    assert query_digest("home#0", b'{"q": "x"}') != query_digest("away#0", b'{"q": "x"}')
    assert purpose_of({}) is None
    assert purpose_of({"x-recollect-purpose": "a\nb" * 200}) == ("ab" * 200)[:200]


async def test_entries_of_one_moment_are_on_exactly_one_page_and_a_page_reads_a_bounded_part_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_log, "MAX_READ_RECORDS", 4)
    async with running_service(tmp_path / "data") as service:
        await service.add_document("home", "Ada keeps a violin in Porto.", id="diary")
        bus = service.app.state.recollect.state.policies.recalls.bus
        neighbors = (f"other#{number}" for number in range(100))
        other = next(key for key in neighbors if bus.partition_of(key, 2) == bus.partition_of("home#0", 2))
        for number in range(10):
            incarnation = "home#0" if number in {0, 1, 9} else other
            entry = RecallRecorded(at=AT, incarnation=incarnation, operation="o", key="k", request_id=str(number))
            await bus.publish(RECALLS_RECORDED, [(incarnation, entry)])
        told: list[str] = []
        cursor, pages = "", 0
        while pages == 0 or cursor:
            page = await service.client.ok("GET", f"{PATH}?limit=1" + (f"&before={cursor}" if cursor else ""))
            told += [entry["requestId"] for entry in page["entries"]]
            cursor, pages = page["before"], pages + 1
        assert told == ["9", "1", "0"]
        assert pages > 3


async def test_of_a_file_the_document_is_recorded_and_nothing_in_the_file(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as service:
        await service.add_document("home", "Ada keeps a violin in Porto.", id="diary")
        await service.client.ok("PUT", PATH, {"recallLog": True})
        scope = {"type": "http", "headers": [], "state": {}, "app": service.app, READ_NAMESPACES_SCOPE_KEY: ["home"]}
        request = Request({**scope, "path_params": {"namespace": "home", "id": "diary"}})
        request.scope[PRINCIPAL_SCOPE_KEY] = Principal(id="k", role="read")
        request._body = b""
        file = Response(b'{"id": "forged"}', media_type="application/octet-stream")
        await _record_recalls(request, file, "getNsByNamespaceExplainOriginalsById")
        (entry,) = await _entries(service)
        assert entry["ids"] == ["diary"]
        await service.client.fails(400, "GET", f"{PATH}?before=2026-01-01")


async def test_a_read_over_mcp_is_recorded_with_the_purpose_that_its_caller_states(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as service:
        await service.add_document("home", "Ada keeps a violin in Porto.", id="diary")
        await service.client.ok("PUT", PATH, {"recallLog": True})
        call = {"name": "get_document", "arguments": {"namespace": "home", "id": "diary"}}
        headers = {"accept": "application/json, text/event-stream", "x-recollect-purpose": b"R\xe9clamation 7"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        await service.client.ok("POST", "/mcp", message, headers=headers)
        (entry,) = await _entries(service)
        assert (entry["purpose"], entry["ids"][0]) == ("Réclamation 7", "diary")


async def test_a_feed_is_recorded_when_it_opens(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as service:
        await service.add_document("home", "Ada keeps a violin in Porto.", id="diary")
        await service.client.ok("PUT", PATH, {"recallLog": True})
        request = Request(
            {"type": "http", "headers": [], "state": {}, "app": service.app, READ_NAMESPACES_SCOPE_KEY: ["home"]}
        )
        request.scope[PRINCIPAL_SCOPE_KEY] = Principal(id="k", role="read")
        request._body = b""
        await _record_recalls(request, StreamingResponse(iter(())), "getNsByNamespaceExplainFeed")
        (entry,) = await _entries(service)
        assert (entry["operation"], entry["key"], entry["ids"]) == ("getNsByNamespaceExplainFeed", "k", [])
