"""Administrative acts are kept: who, what, when, from where, and never a secret."""

from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from api.application import _API_ROUTERS
from api.policies.audit_log import AUDITED_OPERATIONS
from schemas.events import AuditEntryRecorded
from tests.api.conftest import ADMIN, Service
from tests.api.policies.test_api_keys import issued
from tests.api.test_openapi_contract import operations, ours
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio
UNAUDITED_OPERATIONS = {
    "postAdminReplayPlan",
    "postAdminBlob",
    "postAdminConnectorsByIdSync",
    "postAdminConnectorsByIdCheck",
}
"""Operations of administrators that change nothing, or only what anybody could: bytes, a run."""
EARLIER_UNAUDITED_OPERATIONS = {
    *("postV3Search", "postV4Search", "postV4Profile", "postV4ProfileBuckets", "postV3DocumentsList"),
    *("postV4MemoriesList", "postV3ConnectionsList", "postV3ConnectionsByProviderConnection"),
    *("postV3ConnectionsByProviderDocuments", "postV3ConnectionsByIdConfigure", "postV3SettingsReset"),
    *("postV3SettingsSuggestBuckets", "postV3ConnectionsByProviderImport"),
    *("postV3Documents", "postV3DocumentsBatch", "postV3DocumentsFile", "patchV3DocumentsById", "postV4Conversations"),
    *("postV4Memories", "patchV4Memories", "deleteV4Memories", "postV4MemoriesForgetMatching"),
    "patchV3ContainerTagsByNamespace",
}
"""Reads, refusals, a run, and changes that are no acts over the current interface either."""


async def audit_entries(client: ContractClient, query: str = "") -> list[Any]:
    found: list[Any] = (await client.ok("GET", f"/admin/audit{query}"))["entries"]
    return found


async def test_an_act_says_who_did_what_when_and_from_where(service: Service, client: ContractClient) -> None:
    key, team = await issued(client, role="admin", namespaces=["team:*"], name="team")
    created, _ = await issued(team, namespaces=["team:a"])
    newest, first = await audit_entries(client)
    assert first["key"] == "admin"
    assert first["details"] == {"id": key, "name": "team", "role": "admin", "namespaces": "team:*"}
    assert (newest["action"], newest["outcome"], newest["key"]) == ("key issued", "done", key)
    assert newest["details"]["id"] == created
    assert newest["address"] == "127.0.0.1"
    assert newest["requestId"].startswith("req_")
    assert newest["at"].startswith(service.clock.now().strftime("%Y-%m-%dT%H:%M:%S"))


async def test_what_a_key_may_not_is_kept_as_refused(client: ContractClient) -> None:
    key, writer = await issued(client, role="write")
    await writer.fails(403, "DELETE", "/admin/keys/other")
    newest = (await audit_entries(client))[0]
    assert (newest["action"], newest["outcome"], newest["key"]) == ("key revoked", "refused", key)
    assert newest["details"] == {"id": "other"}


async def test_refusals_of_one_act_within_a_minute_are_two_entries(service: Service, client: ContractClient) -> None:
    key, reader = await issued(client, role="read")
    for number in range(9):
        await reader.fails(403, "DELETE", f"/admin/keys/k{number}")
    await reader.fails(403, "PATCH", "/organization", {"organizationalContext": "x"})
    refused = [entry for entry in await audit_entries(client) if entry["outcome"] == "refused"]
    assert [(entry["action"], entry["details"]) for entry in refused] == [
        ("key revoked", {"id": "k8", "times": "8"}),
        ("organization changed", {}),
        ("key revoked", {"id": "k0"}),
    ]
    assert {entry["key"] for entry in refused} == {key}
    service.clock.advance(60)
    await reader.fails(403, "DELETE", "/admin/keys/later")
    assert (await audit_entries(client))[0]["details"] == {"id": "later"}


async def test_what_failed_for_another_reason_is_no_act(client: ContractClient) -> None:
    await client.fails(404, "DELETE", "/admin/keys/nobody")
    await client.as_key("wrong").fails(401, "DELETE", "/admin/keys/nobody")
    assert await audit_entries(client) == []


async def test_erasing_is_kept_with_what_was_erased(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "Ada plays the cello.", "id": "a"})
    await client.ok("DELETE", "/ns/alice/document", {"ids": ["a", "b"]})
    await client.ok("DELETE", "/ns/alice")
    namespace, document = await audit_entries(client)
    assert document["details"] == {"namespace": "alice", "count": "1", "ids": "a, b"}
    assert namespace["details"] == {"namespace": "alice", "documents": "0", "memories": "0"}


async def test_nothing_that_opens_or_was_said_is_in_it(service: Service, client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "web"})
    rotated = await client.ok("POST", f"/admin/keys/{created['id']}/rotate", {})
    await client.ok("PATCH", "/organization", {"organizationalContext": "Trade secrets."})
    await client.ok("PUT", "/admin/buckets", {"buckets": {"likes": "Told in confidence"}})
    kept = b"".join([record.value async for record in service.bus.read("audit.recorded.v1")]).decode()
    assert len(await audit_entries(client)) == 4
    for secret in (ADMIN, created["key"], rotated["key"], "Trade secrets", "confidence"):
        assert secret not in kept


async def test_pages_lead_from_the_newest_to_the_first(client: ContractClient) -> None:
    keys = [(await issued(client))[0] for _ in range(5)]
    seen, before = [], ""
    while True:
        answer = await client.ok("GET", f"/admin/audit?limit=2{before}")
        seen += [act["details"]["id"] for act in answer["entries"]]
        if answer["before"] is None:
            break
        before = f"&before={answer['before']}"
    assert seen == keys[::-1]


async def test_only_operators_read_it(client: ContractClient) -> None:
    _, team = await issued(client, role="admin", namespaces=["team:*"])
    await team.fails(403, "GET", "/admin/audit")


def test_whatever_an_administrator_changes_is_an_act() -> None:
    changes = {
        operation["operationId"]
        for name, operation in operations(ours()).items()
        if name.split()[1].startswith("/admin") and name.split()[0] != "GET"
    }
    assert changes - AUDITED_OPERATIONS.keys() == UNAUDITED_OPERATIONS
    operation_ids = {operation["operationId"] for operation in operations(ours()).values()}
    assert AUDITED_OPERATIONS.keys() <= operation_ids | earlier_changes()


def earlier_changes() -> set[str | None]:
    return {
        route.operation_id
        for part in _API_ROUTERS
        for route in part.router.routes
        if isinstance(route, APIRoute)
        and route.path.startswith(("/v3/", "/v4/"))
        and "GET" not in (route.methods or ())
    }


def test_what_the_earlier_interfaces_change_is_an_act_too() -> None:
    assert earlier_changes() - AUDITED_OPERATIONS.keys() == EARLIER_UNAUDITED_OPERATIONS


@pytest.mark.parametrize(
    ("request_line", "body", "act", "details"),
    [
        ("DELETE /v3/documents/a", None, "documents erased", {"namespace": "alice", "id": "a"}),
        (
            "DELETE /v3/documents/bulk",
            {"ids": ["a"]},
            "documents erased",
            {"namespace": "alice", "count": "1", "ids": "a"},
        ),
        (
            "DELETE /v3/documents/bulk",
            {"containerTags": ["alice"]},
            "documents erased",
            {"namespace": "alice", "namespaces": "alice", "count": "1"},
        ),
        (
            "DELETE /v3/container-tags/alice",
            None,
            "namespace erased or moved",
            {"namespace": "alice", "documents": "1", "memories": "0"},
        ),
        (
            "POST /v3/container-tags/merge",
            {"containerTags": ["alice"], "targetContainerTag": "ben"},
            "namespace erased or moved",
            {"namespace": "ben", "namespaces": "alice", "moveTo": "ben"},
        ),
        ("PATCH /v3/settings", {"filterPrompt": "Trade secrets."}, "organization changed", {}),
    ],
)
async def test_an_act_over_an_earlier_interface_is_kept_like_any_other(
    request_line: str, body: Any, act: str, details: dict[str, str], client: ContractClient
) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "Ada plays the cello.", "id": "a"})
    method, _, path = request_line.partition(" ")
    assert (await client(method, path, body)).is_success
    (entry,) = await audit_entries(client)
    assert (entry["action"], entry["outcome"]) == (act, "done")
    assert details.items() <= entry["details"].items()


async def test_a_refused_act_over_an_earlier_interface_names_its_container(client: ContractClient) -> None:
    key, writer = await issued(client, role="write", namespaces=["ben"])
    await writer.fails(403, "DELETE", "/v3/documents/bulk", {"containerTags": ["alice"]})
    newest = (await audit_entries(client))[0]
    assert (newest["action"], newest["outcome"], newest["key"]) == ("documents erased", "refused", key)
    assert newest["details"]["namespace"] == "alice"


async def test_an_act_over_mcp_says_from_where_it_came(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "Ada plays the cello.", "id": "a"})
    arguments = {"namespace": "alice", "ids": ["none"], "redact": True, "dryRun": True}
    call = {"name": "forget_memory", "arguments": arguments}
    elsewhere = ContractClient(httpx2.ASGITransport(service.app, client=("203.0.113.9", 4711)), ADMIN)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    await elsewhere.ok("POST", "/mcp", message, headers={"accept": "application/json, text/event-stream"})
    (entry,) = await audit_entries(client)
    assert (entry["action"], entry["address"]) == ("sentences redacted", "203.0.113.9")


async def test_a_repeated_action_is_recorded_as_such(client: ContractClient) -> None:
    for _ in range(2):
        await client.ok("POST", "/admin/keys", {"name": "web"}, headers={"Idempotency-Key": "k1"})
    entries = (await client.ok("GET", "/admin/audit"))["entries"]
    assert [entry["outcome"] for entry in entries if entry["action"] == "key issued"] == ["repeated", "done"]


async def test_a_rotated_key_opens_with_both_secrets_until_the_overlap_ends(
    service: Service, client: ContractClient
) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "web", "namespaces": ["a"]})
    old = client.as_key(created["key"])
    rotated = await client.ok("POST", f"/admin/keys/{created['id']}/rotate", {"overlapHours": 2})
    new = client.as_key(rotated["key"])
    assert rotated["id"] == created["id"]
    assert rotated["namespaces"] == ["a"]
    assert rotated["previousUntil"] is not None
    for secret in (old, new):
        await secret.ok("GET", "/ns")
    service.clock.advance(2 * 3600)
    await old.fails(401, "GET", "/ns")
    await new.ok("GET", "/ns")


async def test_without_an_overlap_the_old_secret_opens_nothing_at_once(client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "web"})
    path = f"/admin/keys/{created['id']}/rotate"
    rotated = await client.ok("POST", path, {"overlapHours": 0, "expiresInDays": 7})
    await client.as_key(created["key"]).fails(401, "GET", "/ns")
    await client.as_key(rotated["key"]).ok("GET", "/ns")
    assert rotated["expiresAt"] is not None


async def test_a_key_that_has_ended_is_not_rotated(client: ContractClient) -> None:
    key, _ = await issued(client)
    await client.ok("DELETE", f"/admin/keys/{key}")
    await client.fails(409, "POST", f"/admin/keys/{key}/rotate", {})
    await client.fails(404, "POST", "/admin/keys/nobody/rotate", {})


async def test_revoking_ends_both_secrets(client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "web"})
    rotated = await client.ok("POST", f"/admin/keys/{created['id']}/rotate", {})
    await client.ok("DELETE", f"/admin/keys/{created['id']}")
    for secret in (created["key"], rotated["key"]):
        await client.as_key(secret).fails(401, "GET", "/ns")


async def test_an_act_over_a_unix_socket_has_no_address(service: Service, client: ContractClient) -> None:
    entry = AuditEntryRecorded(
        at=service.clock.now(), action="key revoked", outcome="done", key="k", role="admin", details={}
    )
    await service.state.policies.audit.record(entry)
    (shown,) = await audit_entries(client)
    assert shown["action"] == "key revoked"
    assert "address" not in shown
