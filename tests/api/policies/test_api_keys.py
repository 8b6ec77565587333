"""API keys: roles, scopes, expiry, rotation and limits."""

from datetime import timedelta
from typing import Any

import pytest

from api.policies.api_keys import Principal, create_key, publish_keys
from tests.api.conftest import ADMIN, Service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio


async def issued(client: ContractClient, **fields: Any) -> tuple[str, ContractClient]:
    """The id of a new key, and the service asked with it."""
    created = await client.ok("POST", "/admin/keys", {"name": "test", **fields})
    return created["id"], client.as_key(created["key"])


@pytest.mark.parametrize("key", [None, "", "sm_invalid", "rk_", ADMIN[:-1], "rk_0123456789ab_x"])
async def test_without_a_valid_key_nothing_opens(client: ContractClient, key: str | None) -> None:
    stranger = client.as_key(key)
    for method, path in (
        ("GET", "/organization"),
        ("GET", "/ns"),
        ("GET", "/ns/alice/document/x"),
        ("GET", "/admin/keys"),
    ):
        await stranger.fails(401, method, path)


async def test_a_wrong_key_is_told_before_the_body_is_read(client: ContractClient) -> None:
    await client.as_key("wrong").fails(401, "POST", "/ns/alice/document", {"nonsense": 1})


async def test_another_scheme_is_no_key(client: ContractClient) -> None:
    response = await client.as_key(None)("GET", "/organization", headers={"authorization": f"Basic {ADMIN}"})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


async def test_a_read_key_reads_and_does_not_write(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "x", "id": "x"})
    _, reader = await issued(client, role="read")
    await reader.ok("GET", "/ns/alice/document/x")
    await reader.ok("POST", "/ns/alice/search", {"query": "x"})
    await reader.ok("POST", "/ns/alice/profile")
    for method, path, body in (
        ("POST", "/ns/alice/document", {"content": "x"}),
        ("PATCH", "/ns/alice/document/x", {"content": "y"}),
        ("DELETE", "/ns/alice/document", {"ids": ["x"]}),
        ("DELETE", "/ns/alice/memories", {"ids": ["x"]}),
        ("PUT", "/ns/alice/profile/buckets", {"buckets": {"a": "b"}}),
        ("PATCH", "/ns/alice", {"supportingContext": "x"}),
        ("DELETE", "/ns/alice", None),
        ("POST", "/ns/alice/connectors", {"provider": "notion"}),
    ):
        await reader.fails(403, method, path, body)


async def test_only_an_admin_key_changes_the_organization_and_keys(client: ContractClient) -> None:
    _, writer = await issued(client, role="write")
    await writer.fails(403, "PATCH", "/organization", {"organizationalContext": "x"})
    await writer.fails(403, "GET", "/admin/keys")
    await writer.fails(403, "POST", "/admin/keys", {"name": "more", "role": "admin"})


async def test_an_admin_key_for_some_namespaces_issues_keys_for_those_and_no_others(
    client: ContractClient,
) -> None:
    other, _ = await issued(client, namespaces=["other"])
    _, limited = await issued(client, role="admin", namespaces=["team-a:*", "solo"])
    for scope in (["team-a:x"], ["team-a:b*", "solo"]):
        key, _ = await issued(limited, namespaces=scope)
        await limited.ok("DELETE", f"/admin/keys/{key}")
    for wider in (None, ["*"], ["team-*"], ["solo*"], ["team-a:x", "other"]):
        await limited.fails(403, "POST", "/admin/keys", {"name": "more", "namespaces": wider})
    assert len((await limited.ok("GET", "/admin/keys"))["keys"]) == 3
    await limited.fails(404, "DELETE", f"/admin/keys/{other}")


async def test_an_admin_key_for_some_namespaces_does_not_change_what_belongs_to_all(
    client: ContractClient,
) -> None:
    _, limited = await issued(client, role="admin", namespaces=["team-a:*"])
    await limited.fails(403, "PATCH", "/organization", {"organizationalContext": "x"})
    for path in ("/admin/status", "/admin/failed", "/admin/dlq", "/admin/buckets"):
        await limited.fails(403, "GET", path)


async def test_a_key_opens_its_namespaces_and_prefixes_and_lists_show_no_others(
    client: ContractClient,
) -> None:
    for name in ("team-a:one", "team-a:two", "solo", "other"):
        await client.ok("POST", f"/ns/{name}/document", {"content": "x"})
    _, limited = await issued(client, namespaces=["team-a:*", "solo"])
    await limited.ok("POST", "/ns/team-a:three/document", {"content": "x"})
    await limited.fails(403, "GET", "/ns/other")
    await limited.fails(403, "POST", "/ns/solo-too/document", {"content": "x"})
    listed = await limited.ok("GET", "/ns?limit=100")
    names = {entry["namespace"] for entry in listed["namespaces"]}
    assert names == {"team-a:one", "team-a:two", "team-a:three", "solo"}
    assert (await limited.ok("GET", "/organization"))["namespaceCount"] == listed["pagination"]["totalItems"] == 4
    assert (await client.ok("GET", "/organization"))["namespaceCount"] == 5


async def test_a_move_needs_both_namespaces(client: ContractClient) -> None:
    await client.ok("POST", "/ns/mine/document", {"content": "x"})
    _, limited = await issued(client, namespaces=["mine"])
    await limited.fails(403, "DELETE", "/ns/mine?moveTo=yours")


async def test_an_expired_key_opens_nothing(service: Service, client: ContractClient) -> None:
    _, short = await issued(client, expiresInDays=1)
    await short.ok("GET", "/organization")
    service.clock.advance(timedelta(days=1).total_seconds())
    await short.fails(401, "GET", "/organization")


async def test_what_a_key_may_is_changed_and_the_rest_stays(service: Service, client: ContractClient) -> None:
    key, changed = await issued(client, monthlySearches=0, rateLimit=600, expiresInDays=1)
    await changed.fails(402, "POST", "/ns/alice/search", {"query": "x"})
    answer = await client.ok(
        "PATCH", f"/admin/keys/{key}", {"name": "other", "monthlySearches": 1, "expiresInDays": None}
    )
    assert answer["name"] == "other"
    assert [answer["monthlySearches"], answer["rateLimit"], answer["expiresAt"]] == [1, 600, None]
    await changed.ok("POST", "/ns/alice/search", {"query": "x"})
    service.clock.advance(timedelta(days=2).total_seconds())
    await changed.ok("GET", "/organization")
    assert (await client.ok("PATCH", f"/admin/keys/{key}", {"rateLimit": None}))["rateLimit"] is None
    for body in ({}, {"rateLimit": 0}, {"name": ""}, {"role": "admin"}):
        await client.fails(400, "PATCH", f"/admin/keys/{key}", body)


async def test_only_open_keys_of_ones_own_scope_are_changed(client: ContractClient) -> None:
    other, _ = await issued(client, namespaces=["other"])
    _, limited = await issued(client, role="admin", namespaces=["team-a:*"])
    await limited.fails(404, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})
    _, writer = await issued(client, role="write")
    await writer.fails(403, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})
    await client.ok("DELETE", f"/admin/keys/{other}")
    await client.fails(409, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})


async def test_a_revoked_key_opens_nothing_and_stays_in_the_list(client: ContractClient) -> None:
    key, revoked = await issued(client)
    assert await client.ok("DELETE", f"/admin/keys/{key}") == {"id": key, "revoked": True}
    await revoked.fails(401, "GET", "/organization")
    (shown,) = (await client.ok("GET", "/admin/keys"))["keys"]
    assert shown["revokedAt"] is not None
    await client.fails(404, "DELETE", "/admin/keys/nope")


async def test_a_secret_is_shown_once_and_stored_as_a_hash(service: Service, client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "once"})
    assert created["key"].startswith("rk_")
    listed = await client.ok("GET", "/admin/keys")
    assert "key" not in listed["keys"][0]
    assert created["key"] not in repr(service.store.catalog.keys())


async def test_health_needs_no_key(client: ContractClient) -> None:
    for path in ("/health", "/ready", "/metrics"):
        assert (await client.as_key(None)("GET", path)).status_code == 200
    for path in ("/health", "/ready"):
        assert (await client.as_key(None)("HEAD", path)).status_code == 200
    assert "recollect_http_requests_total" in (await client("GET", "/metrics")).text


def test_a_prefix_covers_what_begins_with_it_and_a_name_only_itself() -> None:
    key = Principal(id="k", role="write", namespaces=("a:*", "b"))
    assert [key.may_read(name) for name in ("a:", "a:x", "a", "b", "bb")] == [True, True, False, True, False]


async def test_a_key_can_ask_what_it_is(client: ContractClient) -> None:
    id_, reader = await issued(client, role="read", namespaces=["team-a:*"], expiresInDays=1)
    identity = await reader.ok("GET", "/admin/whoami")
    assert identity.pop("expiresAt") is not None
    assert identity == {
        "id": id_,
        "name": "test",
        "role": "read",
        "scopes": ["read"],
        "namespaces": ["team-a:*"],
        "operator": False,
    }
    mine = await client.ok("GET", "/admin/whoami")
    assert (mine["role"], mine["namespaces"], mine["operator"]) == ("admin", None, True)
    await client.as_key(None).fails(401, "GET", "/admin/whoami")


LIMITS = {
    "rateLimit": 100, "monthlyDocuments": 10, "monthlySearches": 20, "monthlyBytes": 1000, "monthlyTokens": 2000,
    "expiresInDays": 5,
}  # fmt: skip
MORE = [
    {"rateLimit": 101}, {"monthlyDocuments": 11}, {"monthlySearches": 21}, {"monthlyBytes": 1001},
    {"monthlyTokens": 2001}, {"expiresInDays": 6},
]  # fmt: skip


async def test_a_namespace_admin_does_not_raise_its_own_limits(client: ContractClient) -> None:
    id_, admin = await issued(client, role="admin", namespaces=["team-a:*"], **LIMITS)
    for more in (*MORE, *({name: None} for name in LIMITS)):
        await admin.fails(403, "PATCH", f"/admin/keys/{id_}", more)
    await admin.fails(403, "POST", f"/admin/keys/{id_}/rotate", {"expiresInDays": 6})
    await admin.ok("PATCH", f"/admin/keys/{id_}", {"name": "other", "rateLimit": 50})
    rotated = admin.as_key((await admin.ok("POST", f"/admin/keys/{id_}/rotate", {}))["key"])
    await rotated.fails(403, "PATCH", f"/admin/keys/{id_}", {"rateLimit": 100})
    await client.ok("PATCH", f"/admin/keys/{id_}", {"rateLimit": None})


async def test_a_key_issues_at_most_what_it_has(client: ContractClient) -> None:
    _, admin = await issued(client, role="admin", namespaces=["team-a:*"], **LIMITS)
    for more in MORE:
        await admin.fails(403, "POST", "/admin/keys", {"name": "more", "namespaces": ["team-a:x"], **more})
    child, _ = await issued(admin, namespaces=["team-a:x"])
    shown = {key["id"]: key for key in (await client.ok("GET", "/admin/keys"))["keys"]}
    inherited = [shown[child][name] for name in ("rateLimit", "monthlyDocuments", "monthlySearches")]
    assert inherited == [100, 10, 20]
    assert shown[child]["expiresAt"] == shown[shown[child]["issuer"]]["expiresAt"]
    for more in MORE:
        await admin.fails(403, "PATCH", f"/admin/keys/{child}", more)


async def test_the_secret_of_a_key_with_more_is_not_given_to_one_with_less(client: ContractClient) -> None:
    more, _ = await issued(client, role="admin", namespaces=["team-a:*"])
    _, admin = await issued(client, role="admin", namespaces=["team-a:*"], **LIMITS)
    await admin.fails(403, "POST", f"/admin/keys/{more}/rotate", {})


async def test_a_namespace_admin_gets_no_secret_of_a_key_that_it_did_not_issue(client: ContractClient) -> None:
    sibling, _ = await issued(client, namespaces=["team-a:x"])
    _, admin = await issued(client, role="admin", namespaces=["team-a:*"])
    middle, lead = await issued(admin, role="admin", namespaces=["team-a:x"])
    leaf, _ = await issued(lead, namespaces=["team-a:x"])
    await admin.fails(403, "POST", f"/admin/keys/{sibling}/rotate", {})
    for own in (middle, leaf):
        await admin.ok("POST", f"/admin/keys/{own}/rotate", {})
    await client.ok("POST", f"/admin/keys/{sibling}/rotate", {})


@pytest.mark.parametrize("namespaces", [["team-a:*"], None])
async def test_what_a_key_did_not_issue_gets_no_more_by_it(
    client: ContractClient, namespaces: list[str] | None
) -> None:
    """Else it would keep that once the other key is revoked."""
    _, admin = await issued(client, role="admin", **({} if namespaces is None else {"namespaces": namespaces}))
    narrow: dict[str, Any] = {"role": "write", "scopes": ["read"], "namespaces": ["team-a:x"], **LIMITS}
    sibling, _ = await issued(client, **narrow)
    for more in (*MORE, *({name: None} for name in LIMITS), {"scopes": ["read", "write"]}, {"scopes": None}):
        refused = await admin.fails(403, "PATCH", f"/admin/keys/{sibling}", more)
        assert "issue" in refused["error"] or "more than your key" in refused["error"]
    await admin.fails(403, "POST", f"/admin/keys/{sibling}/rotate", {})
    await admin.ok("PATCH", f"/admin/keys/{sibling}", {"name": "slower", "rateLimit": 50, "expiresInDays": 1})
    own, _ = await issued(admin, **narrow)
    await admin.ok("PATCH", f"/admin/keys/{own}", {"scopes": ["read", "write"], "monthlyDocuments": 11})
    await client.ok("PATCH", f"/admin/keys/{sibling}", {"scopes": None, "rateLimit": None})


async def test_a_key_does_not_outlive_its_issuer(service: Service, client: ContractClient) -> None:
    id_, admin = await issued(client, role="admin", namespaces=["team-a:*"], expiresInDays=5)
    _, child = await issued(admin, namespaces=["team-a:x"], expiresInDays=4)
    await client.ok("PATCH", f"/admin/keys/{id_}", {"expiresInDays": 1})
    await child.ok("GET", "/organization")
    service.clock.advance(timedelta(days=1).total_seconds())
    await child.fails(401, "GET", "/organization")


async def test_revoking_a_key_revokes_all_that_it_issued(client: ContractClient) -> None:
    top, admin = await issued(client, role="admin", namespaces=["team-a:*"])
    middle, second = await issued(admin, role="admin", namespaces=["team-a:x"])
    leaf, third = await issued(second, namespaces=["team-a:x"])
    other, sibling = await issued(client, namespaces=["team-a:x"])
    await client.ok("DELETE", f"/admin/keys/{top}")
    for revoked in (admin, second, third):
        await revoked.fails(401, "GET", "/organization")
    await sibling.ok("GET", "/organization")
    shown = {key["id"]: key["revokedAt"] for key in (await client.ok("GET", "/admin/keys"))["keys"]}
    assert shown[other] is None
    assert None not in {shown[id_] for id_ in (top, middle, leaf)}


async def test_a_key_does_not_change_the_one_that_issued_it(client: ContractClient) -> None:
    top, admin = await issued(client, role="admin", namespaces=["team-a:*"])
    _, child = await issued(admin, role="admin", namespaces=["team-a:*"])
    await child.fails(403, "DELETE", f"/admin/keys/{top}")
    await child.fails(403, "PATCH", f"/admin/keys/{top}", {"rateLimit": 1})
    await child.fails(403, "POST", f"/admin/keys/{top}/rotate", {})


async def test_a_key_without_a_recorded_issuer_keeps_working(service: Service, client: ContractClient) -> None:
    change, secret = create_key("old", "write", ["team-a:x"], now=service.clock.now())
    await publish_keys([change], service.state.publisher, service.state.settings_lock)
    await client.as_key(secret).ok("GET", "/organization")
    await client.ok("PATCH", f"/admin/keys/{change.id}", {"rateLimit": 10})
    await client.ok("DELETE", f"/admin/keys/{change.id}")


async def test_a_key_does_what_its_scopes_say_and_nothing_else(client: ContractClient) -> None:
    _, writer = await issued(client, namespaces=["alice"], scopes=["write"])
    await writer.ok("POST", "/ns/alice/document", {"id": "a", "content": "Ada lives in Porto."})
    refused = await writer.fails(403, "GET", "/ns/alice/document/a")
    assert refused["details"] == "The key's role is write, its scopes: write."
    await writer.fails(403, "DELETE", "/ns/alice/document", {"ids": ["a"]})
    await writer.fails(403, "DELETE", "/ns/alice?moveTo=bob")
    await writer.fails(403, "POST", "/ns/alice/connectors", {"provider": "granola", "config": {"apiKey": "k"}})
    assert (await writer.ok("GET", "/admin/whoami"))["scopes"] == ["write"]
    _, forgetter = await issued(client, namespaces=["alice", "bob"], scopes=["forget"])
    await forgetter.fails(403, "DELETE", "/ns/alice?moveTo=bob")
    await forgetter.fails(403, "DELETE", "/ns/alice/memories/semantic", {"query": "Porto", "dryRun": True})
    assert (await forgetter.ok("DELETE", "/ns/alice/document", {"ids": ["a"]}))["count"] == 1


async def test_scopes_lie_within_role_and_issuer(client: ContractClient) -> None:
    await client.fails(400, "POST", "/admin/keys", {"name": "x", "role": "read", "scopes": ["write"]})
    await client.fails(400, "POST", "/admin/keys", {"name": "x", "scopes": []})
    lead_id, lead = await issued(client, role="admin", namespaces=["alice"], scopes=["admin", "read", "write"])
    made = await lead.ok("POST", "/admin/keys", {"name": "x", "namespaces": ["alice"]})
    assert made["scopes"] == ["read", "write"]
    await lead.fails(403, "POST", "/admin/keys", {"name": "x", "namespaces": ["alice"], "scopes": ["forget"]})
    await lead.fails(403, "PATCH", f"/admin/keys/{made['id']}", {"scopes": None})
    await lead.fails(403, "PATCH", f"/admin/keys/{lead_id}", {"scopes": None})
    full_id, _ = await issued(client, namespaces=["alice"])
    await lead.fails(403, "POST", f"/admin/keys/{full_id}/rotate", {})
    await client.fails(400, "PATCH", f"/admin/keys/{made['id']}", {"scopes": ["admin"]})
    assert (await lead.ok("PATCH", f"/admin/keys/{made['id']}", {"scopes": ["read"]}))["scopes"] == ["read"]


async def test_a_key_loses_the_scopes_that_its_issuer_loses(client: ContractClient) -> None:
    lead_id, lead = await issued(client, role="admin", namespaces=["alice"])
    made = await lead.ok("POST", "/admin/keys", {"name": "x", "namespaces": ["alice"]})
    child = client.as_key(made["key"])
    await child.ok("POST", "/ns/alice/document", {"id": "a", "content": "Ada lives in Porto."})
    await client.ok("PATCH", f"/admin/keys/{lead_id}", {"scopes": ["read", "admin"]})
    await child.fails(403, "PATCH", "/ns/alice/document/a", {"content": "Ada lives in Rome."})
    await child.ok("GET", "/ns/alice/document/a")
    shown = {row["id"]: row["scopes"] for row in (await client.ok("GET", "/admin/keys"))["keys"]}
    assert shown == {lead_id: ["read", "admin"], made["id"]: ["read"]}
    await client.ok("PATCH", f"/admin/keys/{lead_id}", {"scopes": None})
    await child.ok("PATCH", "/ns/alice/document/a", {"content": "Ada lives in Rome."})
