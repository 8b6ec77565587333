"""The endpoint of MCP: whom it lets in, and what it costs those who do not use it."""

import subprocess
import sys
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.table_rows import memory

pytestmark = pytest.mark.anyio

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_a_message_is_answered_in_json_without_a_session(client: ContractClient, path: str) -> None:
    response = await client("POST", path, PING, headers=ACCEPT)
    assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("key", [None, "wrong"])
async def test_without_a_valid_key_nobody_gets_in(client: ContractClient, key: str | None) -> None:
    response = await client.as_key(key)("POST", "/mcp", PING, headers=ACCEPT)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_are_no_streams_or_sessions_to_open_or_end(client: ContractClient, method: str) -> None:
    response = await client(method, "/mcp", headers=ACCEPT)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://["])
async def test_pages_of_other_sites_are_refused(client: ContractClient, origin: str) -> None:
    answer = await client.fails(403, "POST", "/mcp", PING, headers={**ACCEPT, "origin": origin})
    assert "RECOLLECT_CORS_ORIGINS" in answer["details"]


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1:8787", "http://[::1]:3000"])
async def test_pages_of_this_machine_are_let_in(client: ContractClient, origin: str) -> None:
    await client.ok("POST", "/mcp", PING, headers={**ACCEPT, "origin": origin})


async def test_what_is_no_message_is_refused_with_an_error_of_the_protocol(client: ContractClient) -> None:
    answer = await client.fails(400, "POST", "/mcp", {"method": "ping"}, headers=ACCEPT)
    assert answer["error"]["code"] < 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', "the key 'id' occurs twice"),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": {"b": 1, "b": 2}}}',
            "the key 'b' occurs twice",
        ),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=["key", "key at depth", "depth"],
)
async def test_a_message_is_parsed_as_strictly_as_other_bodies(
    body: bytes, reason: str, client: ContractClient
) -> None:
    response = await client("POST", "/mcp", content=body, headers=ACCEPT | {"content-type": "application/json"})
    assert response.status_code == 400
    assert (error := response.json()["error"])["code"] == -32700
    assert reason in error["message"]


async def test_a_request_is_counted_as_what_it_is(client: ContractClient, service: Service) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    await client.ok("POST", "/mcp", call, headers=ACCEPT)
    counted = (await client("GET", "/metrics")).text
    assert 'route="/mcp"' in counted
    assert 'route="/admin/whoami"' in counted


async def test_a_document_is_shown_with_some_of_its_memories_and_its_further_parts_with_none(
    client: ContractClient, service: Service
) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "Long enough.", "id": "note"})
    await service.mark_documents_done("note")
    await service.store_rows(*(memory(f"m{number}", "note") for number in range(70)))

    async def read(**arguments: int) -> dict[str, Any]:
        params = {"name": "get_document", "arguments": {"namespace": "alice", "id": "note", "length": 4, **arguments}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result: dict[str, Any] = (await client.ok("POST", "/mcp", call, headers=ACCEPT))["result"]
        return result

    first, second = await read(), await read(offset=4)
    assert first["structuredContent"]["content"] + second["structuredContent"]["content"] == "Long eno"
    assert [len(part["structuredContent"]["memories"]) for part in (first, second)] == [50, 0]
    assert "[20 more of these: search_memory finds them]" in first["content"][0]["text"]
    assert "Remembered" not in second["content"][0]["text"]


def test_a_service_that_nobody_asks_over_mcp_does_not_load_it() -> None:
    modules = "api.mcp.streamable_http_transport, app.cli.commands.mcp_command"
    loaded = f"import sys, {modules}; print({{'mcp', 'mcp_types'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)  # noqa: S603 - this interpreter
    assert done.stdout.strip() == "set()"
