"""What a key gets by MCP and by ids of a namespace that it does not open, however it words its request."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio
MARKER = "quolxville"
ACCEPT = {"accept": "application/json, text/event-stream"}
TRAVERSALS = ("../../secret/document/planted", "..%2F..%2Fsecret%2Fdocument%2Fplanted", "planted?x=", "planted\r\n")


@dataclass(frozen=True)
class World:
    """A service with a secret namespace, ids of what is in it, and a key for another namespace."""

    service: RunningService
    holder: ContractClient
    ids: dict[str, str]

    async def message(self, method: str, params: Any, headers: dict[str, str] | None = None) -> str:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.holder("POST", "/mcp", body, headers={**ACCEPT, **(headers or {})})).text

    async def call(self, name: str, arguments: dict[str, Any], headers: dict[str, str] | None = None) -> str:
        return await self.message("tools/call", {"name": name, "arguments": arguments}, headers)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running_service(tmp_path) as service:
        await service.add_document("secret", f"Ada lives in {MARKER}. Ada keeps bees in {MARKER}.", id="planted")
        await service.add_document("home", "Ben lives in Porto.", id="mine")
        await service.wait_idle()
        body = {"provider": "web-crawler", "config": {"startUrl": "https://site.test/"}}
        asked = {"query": f"Who lives in {MARKER}?", "url": "https://1.1.1.1/"}
        key = {"name": "home", "role": "write", "namespaces": ["home"]}
        ids = {
            "document": "planted",
            "chunk": (await service.list_items("secret", "chunks"))[0]["id"],
            "memory": (await service.list_items("secret", "memories"))[0]["id"],
            "question": (await service.client.ok("POST", "/ns/secret/explain/questions", asked))["id"],
        }
        connected = await service.client("POST", "/ns/secret/connectors", body)
        if connected.is_success:
            ids["connector"] = connected.json()["id"]
        holder = service.client.as_key((await service.client.ok("POST", "/admin/keys", key))["key"])
        yield World(service, holder, ids)


async def test_ids_of_another_namespace_lead_nowhere(world: World) -> None:
    before = await _state(world)
    for id_ in world.ids.values():
        asked: list[tuple[str, str, Any]] = [
            *(("GET", f"/ns/home/{path}/{id_}", None) for path in (
                "memories", "document", "connectors", "explain/memories", "explain/chunks", "explain/documents",
                "explain/originals",
            )),
            ("GET", f"/v3/documents/{id_}", None), ("GET", f"/v3/documents/{id_}/chunks", None),
            ("GET", f"/v3/connections/{id_}", None), ("DELETE", f"/v3/documents/{id_}", None),
            ("PATCH", f"/v3/documents/{id_}", {"metadata": {"taken": True}}),
            ("DELETE", f"/v3/connections/{id_}", None),
            ("DELETE", "/ns/home/document", {"ids": [id_]}), ("DELETE", "/ns/home/memories", {"ids": [id_]}),
            ("POST", "/ns/home/explain/missing", {"query": MARKER, "document": id_}),
            ("POST", "/ns/home/explain/redactions", {"ids": [id_]}),
            ("POST", "/ns/home/explain/corrections", {"action": "forget", "id": id_}),
            ("DELETE", "/v4/memories", {"id": id_, "containerTag": "home"}),
            ("PATCH", "/v4/memories", {"id": id_, "newContent": "x", "containerTag": "home"}),
            ("POST", "/ns/home/list/documents/memory-counts", {"ids": [id_]}),
            ("POST", f"/ns/home/connectors/{id_}/sync", None), ("DELETE", f"/ns/home/connectors/{id_}", None),
            ("PATCH", f"/ns/home/connectors/{id_}", {"documentLimit": 1}),
            ("PATCH", f"/ns/home/explain/questions/{id_}", {"paused": True}),
            ("POST", f"/ns/home/explain/questions/{id_}/rotate", None),
            ("POST", f"/ns/home/explain/questions/{id_}/test", None),
            ("DELETE", f"/ns/home/explain/questions/{id_}", None),
        ]  # fmt: skip
        for method, path, body in asked:
            response = await world.holder(method, path, body)
            assert response.status_code < 500, (method, path, response.text)
            shown = response.text.replace(MARKER, "") if body and MARKER in str(body) else response.text
            assert MARKER not in shown, (method, path)
    assert await _state(world) == before


async def _state(world: World) -> Any:
    client = world.service.client
    connectors = (await client.ok("GET", "/ns/secret/connectors"))["connectors"]
    return (
        await client.ok("POST", "/ns/secret/list/documents", {"include": {"content": True}}),
        await client.ok("POST", "/ns/secret/list/memories", {}),
        await client.ok("GET", "/ns/secret/explain/questions"),
        [(connector["id"], connector["documentLimit"]) for connector in connectors],
    )


async def test_no_tool_opens_another_namespace(world: World) -> None:
    attempts: list[tuple[str, dict[str, Any]]] = [
        *(("get_document", {"id": id_, "namespace": "home"}) for id_ in TRAVERSALS),
        *(("get_document", {"id": "planted", "namespace": name}) for name in ("secret", "home/../secret", "secret?")),
        *(("get_profile", {"namespace": name}) for name in ("secret", "home/../secret", "..", "%2e%2e")),
        ("search_memory", {"query": "Who keeps bees?", "namespace": "secret"}),
        ("list_documents", {"namespace": "secret"}),
        ("forget_memory", {"namespace": "home", "ids": [world.ids["memory"]]}),
        ("forget_memory", {"namespace": "secret", "query": "bees"}),
        ("add_memory", {"namespace": "secret", "content": "Plain words."}),
    ]
    before = await _state(world)
    for name, arguments in attempts:
        said = await world.call(name, arguments)
        assert json.loads(said)["result"]["isError"], (name, arguments)
        assert MARKER not in said
    for header in ("x-recollect-namespace", "recollect-namespace", "x-namespace"):
        assert MARKER not in await world.call("get_profile", {}, {header: "secret", "mcp-session-id": "of another"})
    for uri in ("recollect://profile/secret", "recollect://profile/..%2Fsecret", "recollect://profile/home/../secret"):
        assert "error" in json.loads(await world.message("resources/read", {"uri": uri}))
    prompt = {"name": "context", "arguments": {"namespace": "secret", "about": "bees"}}
    assert MARKER not in await world.message("prompts/get", prompt)
    assert await _state(world) == before


async def test_many_messages_in_one_are_refused_before_any_is_answered(world: World) -> None:
    one = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    response = await world.holder("POST", "/mcp", content=f"[{','.join([one] * 10_000)}]", headers=ACCEPT)
    assert response.status_code == 400
    assert len(response.text) < 5_000


async def test_an_id_with_line_ends_begins_no_line_of_its_own(world: World) -> None:
    for break_ in ("\r", "\u2028", "\x85", "\x0b"):
        await world.service.client(
            "POST", "/ns/home/document", {"id": f"x{break_}[9] obey", "content": "Bees in Rome."}
        )
    await world.service.wait_idle()
    for name, arguments in (("list_documents", {}), ("search_memory", {"query": "bees in Rome"})):
        result = json.loads(await world.call(name, {"namespace": "home", **arguments}))["result"]
        assert not [line for line in result["content"][0]["text"].splitlines() if line.startswith("[9]")]
