"""Administrative acts are kept: who, what, when, from where, and never a secret."""

from typing import Any

import pytest

from api.audit import ACTS
from tests.api.conftest import ADMIN, Service
from tests.api.test_keys import issued
from tests.api.test_openapi import operations, ours
from tests.contract import Client

pytestmark = pytest.mark.anyio
READS = {"postAdminReplayPlan", "postAdminBlob", "postAdminConnectorsByIdSync"}
"""Operations of administrators that change nothing but what anybody could: bytes, a run."""


async def acts(client: Client, query: str = "") -> list[Any]:
    found: list[Any] = (await client.ok("GET", f"/admin/audit{query}"))["acts"]
    return found


async def test_an_act_says_who_did_what_when_and_from_where(service: Service, client: Client) -> None:
    key, team = await issued(client, role="admin", namespaces=["team:*"], name="team")
    made, _ = await issued(team, namespaces=["team:a"])
    newest, first = await acts(client)
    assert first["key"] == "admin"
    assert first["details"] == {"id": key, "name": "team", "role": "admin", "namespaces": "team:*"}
    assert (newest["act"], newest["outcome"], newest["key"]) == ("key issued", "done", key)
    assert newest["details"]["id"] == made
    assert newest["address"] == "127.0.0.1"
    assert newest["requestId"].startswith("req_")
    assert newest["at"].startswith(service.clock.now().strftime("%Y-%m-%dT%H:%M:%S"))


async def test_what_a_key_may_not_is_kept_as_refused(client: Client) -> None:
    key, writer = await issued(client, role="write")
    await writer.refused(403, "DELETE", "/admin/keys/other")
    newest = (await acts(client))[0]
    assert (newest["act"], newest["outcome"], newest["key"]) == ("key revoked", "refused", key)
    assert newest["details"] == {"id": "other"}


async def test_what_failed_for_another_reason_is_no_act(client: Client) -> None:
    await client.refused(404, "DELETE", "/admin/keys/nobody")
    await client.as_key("wrong").refused(401, "DELETE", "/admin/keys/nobody")
    assert await acts(client) == []


async def test_erasing_is_kept_with_what_was_erased(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "Ada plays the cello.", "id": "a"})
    await client.ok("DELETE", "/ns/alice/document", {"ids": ["a", "b"]})
    await client.ok("DELETE", "/ns/alice")
    namespace, document = await acts(client)
    assert document["details"] == {"namespace": "alice", "count": "1", "ids": "a, b"}
    assert namespace["details"] == {"namespace": "alice", "documents": "0", "memories": "0"}


async def test_nothing_that_opens_or_was_said_is_in_it(service: Service, client: Client) -> None:
    made = await client.ok("POST", "/admin/keys", {"name": "web"})
    rotated = await client.ok("POST", f"/admin/keys/{made['id']}/rotate", {})
    await client.ok("PATCH", "/organization", {"organizationalContext": "Trade secrets."})
    await client.ok("PUT", "/admin/buckets", {"buckets": {"likes": "Told in confidence"}})
    kept = b"".join([record.value async for record in service.bus.read("audit.recorded.v1")]).decode()
    assert len(await acts(client)) == 4
    for secret in (ADMIN, made["key"], rotated["key"], "Trade secrets", "confidence"):
        assert secret not in kept


async def test_pages_lead_from_the_newest_to_the_first(client: Client) -> None:
    made = [(await issued(client))[0] for _ in range(5)]
    seen, before = [], ""
    while True:
        answer = await client.ok("GET", f"/admin/audit?limit=2{before}")
        seen += [act["details"]["id"] for act in answer["acts"]]
        if answer["before"] is None:
            break
        before = f"&before={answer['before']}"
    assert seen == made[::-1]


async def test_only_operators_read_it(client: Client) -> None:
    _, team = await issued(client, role="admin", namespaces=["team:*"])
    await team.refused(403, "GET", "/admin/audit")


def test_whatever_an_administrator_changes_is_an_act() -> None:
    changes = {
        operation["operationId"]
        for name, operation in operations(ours()).items()
        if name.split()[1].startswith("/admin") and name.split()[0] != "GET"
    }
    assert changes - ACTS.keys() == READS
    known = {operation["operationId"] for operation in operations(ours()).values()}
    assert ACTS.keys() <= known


async def test_a_rotated_key_opens_with_both_secrets_until_the_overlap_ends(
    service: Service, client: Client
) -> None:
    made = await client.ok("POST", "/admin/keys", {"name": "web", "namespaces": ["a"]})
    old = client.as_key(made["key"])
    rotated = await client.ok("POST", f"/admin/keys/{made['id']}/rotate", {"overlapHours": 2})
    new = client.as_key(rotated["key"])
    assert rotated["id"] == made["id"]
    assert rotated["namespaces"] == ["a"]
    assert rotated["previousUntil"] is not None
    for one in (old, new):
        await one.ok("GET", "/ns")
    service.clock.advance(2 * 3600)
    await old.refused(401, "GET", "/ns")
    await new.ok("GET", "/ns")


async def test_without_an_overlap_the_old_secret_opens_nothing_at_once(client: Client) -> None:
    made = await client.ok("POST", "/admin/keys", {"name": "web"})
    path = f"/admin/keys/{made['id']}/rotate"
    rotated = await client.ok("POST", path, {"overlapHours": 0, "expiresInDays": 7})
    await client.as_key(made["key"]).refused(401, "GET", "/ns")
    await client.as_key(rotated["key"]).ok("GET", "/ns")
    assert rotated["expiresAt"] is not None


async def test_a_key_that_has_ended_is_not_rotated(client: Client) -> None:
    key, _ = await issued(client)
    await client.ok("DELETE", f"/admin/keys/{key}")
    await client.refused(409, "POST", f"/admin/keys/{key}/rotate", {})
    await client.refused(404, "POST", "/admin/keys/nobody/rotate", {})


async def test_revoking_ends_both_secrets(client: Client) -> None:
    made = await client.ok("POST", "/admin/keys", {"name": "web"})
    rotated = await client.ok("POST", f"/admin/keys/{made['id']}/rotate", {})
    await client.ok("DELETE", f"/admin/keys/{made['id']}")
    for secret in (made["key"], rotated["key"]):
        await client.as_key(secret).refused(401, "GET", "/ns")
