"""Who may do what."""

from datetime import timedelta
from typing import Any

import pytest

from api.keys import Principal
from tests.api.conftest import ADMIN, Service
from tests.contract import Client

pytestmark = pytest.mark.anyio


async def issued(client: Client, **fields: Any) -> tuple[str, Client]:
    """The id of a new key, and the service asked with it."""
    made = await client.ok("POST", "/admin/keys", {"name": "test", **fields})
    return made["id"], client.as_key(made["key"])


@pytest.mark.parametrize("key", [None, "", "sm_invalid", "rk_", ADMIN[:-1], "rk_0123456789ab_x"])
async def test_without_a_valid_key_nothing_opens(client: Client, key: str | None) -> None:
    stranger = client.as_key(key)
    for method, path in (
        ("GET", "/organization"),
        ("GET", "/ns"),
        ("GET", "/ns/alice/document/x"),
        ("GET", "/admin/keys"),
    ):
        await stranger.refused(401, method, path)


async def test_a_wrong_key_is_told_before_the_body_is_read(client: Client) -> None:
    await client.as_key("wrong").refused(401, "POST", "/ns/alice/document", {"nonsense": 1})


async def test_another_scheme_is_no_key(client: Client) -> None:
    response = await client.as_key(None)("GET", "/organization", headers={"authorization": f"Basic {ADMIN}"})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


async def test_a_read_key_reads_and_does_not_write(client: Client) -> None:
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
        await reader.refused(403, method, path, body)


async def test_only_an_admin_key_changes_the_organization_and_keys(client: Client) -> None:
    _, writer = await issued(client, role="write")
    await writer.refused(403, "PATCH", "/organization", {"organizationalContext": "x"})
    await writer.refused(403, "GET", "/admin/keys")
    await writer.refused(403, "POST", "/admin/keys", {"name": "more", "role": "admin"})


async def test_an_admin_key_for_some_namespaces_issues_keys_for_those_and_no_others(client: Client) -> None:
    other, _ = await issued(client, namespaces=["other"])
    _, limited = await issued(client, role="admin", namespaces=["team-a:*", "solo"])
    for scope in (["team-a:x"], ["team-a:b*", "solo"]):
        key, _ = await issued(limited, namespaces=scope)
        await limited.ok("DELETE", f"/admin/keys/{key}")
    for wider in (None, ["*"], ["team-*"], ["solo*"], ["team-a:x", "other"]):
        await limited.refused(403, "POST", "/admin/keys", {"name": "more", "namespaces": wider})
    assert len((await limited.ok("GET", "/admin/keys"))["keys"]) == 3
    await limited.refused(404, "DELETE", f"/admin/keys/{other}")


async def test_an_admin_key_for_some_namespaces_does_not_change_what_belongs_to_all(client: Client) -> None:
    _, limited = await issued(client, role="admin", namespaces=["team-a:*"])
    await limited.refused(403, "PATCH", "/organization", {"organizationalContext": "x"})
    for path in ("/admin/status", "/admin/failed", "/admin/dlq", "/admin/buckets"):
        await limited.refused(403, "GET", path)


async def test_a_key_opens_its_namespaces_and_prefixes_and_lists_show_no_others(client: Client) -> None:
    for name in ("team-a:one", "team-a:two", "solo", "other"):
        await client.ok("POST", f"/ns/{name}/document", {"content": "x"})
    _, limited = await issued(client, namespaces=["team-a:*", "solo"])
    await limited.ok("POST", "/ns/team-a:three/document", {"content": "x"})
    await limited.refused(403, "GET", "/ns/other")
    await limited.refused(403, "POST", "/ns/solo-too/document", {"content": "x"})
    listed = await limited.ok("GET", "/ns?limit=100")
    names = {one["namespace"] for one in listed["namespaces"]}
    assert names == {"team-a:one", "team-a:two", "team-a:three", "solo"}
    assert (
        (await limited.ok("GET", "/organization"))["namespaceCount"]
        == listed["pagination"]["totalItems"]
        == 4
    )
    assert (await client.ok("GET", "/organization"))["namespaceCount"] == 5


async def test_a_move_needs_both_namespaces(client: Client) -> None:
    await client.ok("POST", "/ns/mine/document", {"content": "x"})
    _, limited = await issued(client, namespaces=["mine"])
    await limited.refused(403, "DELETE", "/ns/mine?moveTo=yours")


async def test_an_expired_key_opens_nothing(service: Service, client: Client) -> None:
    _, short = await issued(client, expiresInDays=1)
    await short.ok("GET", "/organization")
    service.clock.advance(timedelta(days=1).total_seconds())
    await short.refused(401, "GET", "/organization")


async def test_what_a_key_may_is_changed_and_the_rest_stays(service: Service, client: Client) -> None:
    key, changed = await issued(client, monthlySearches=0, rateLimit=600, expiresInDays=1)
    await changed.refused(402, "POST", "/ns/alice/search", {"query": "x"})
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
        await client.refused(400, "PATCH", f"/admin/keys/{key}", body)


async def test_only_open_keys_of_ones_own_scope_are_changed(client: Client) -> None:
    other, _ = await issued(client, namespaces=["other"])
    _, limited = await issued(client, role="admin", namespaces=["team-a:*"])
    await limited.refused(404, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})
    _, writer = await issued(client, role="write")
    await writer.refused(403, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})
    await client.ok("DELETE", f"/admin/keys/{other}")
    await client.refused(409, "PATCH", f"/admin/keys/{other}", {"rateLimit": 1})


async def test_a_revoked_key_opens_nothing_and_stays_in_the_list(client: Client) -> None:
    key, revoked = await issued(client)
    assert await client.ok("DELETE", f"/admin/keys/{key}") == {"id": key, "revoked": True}
    await revoked.refused(401, "GET", "/organization")
    (shown,) = (await client.ok("GET", "/admin/keys"))["keys"]
    assert shown["revokedAt"] is not None
    await client.refused(404, "DELETE", "/admin/keys/nope")


async def test_a_secret_is_shown_once_and_stored_as_a_hash(service: Service, client: Client) -> None:
    made = await client.ok("POST", "/admin/keys", {"name": "once"})
    assert made["key"].startswith("rk_")
    listed = await client.ok("GET", "/admin/keys")
    assert "key" not in listed["keys"][0]
    assert made["key"] not in repr(service.store.catalog.keys())


async def test_health_needs_no_key(client: Client) -> None:
    for path in ("/health", "/ready", "/metrics"):
        assert (await client.as_key(None)("GET", path)).status_code == 200
    for path in ("/health", "/ready"):
        assert (await client.as_key(None)("HEAD", path)).status_code == 200
    assert "recollect_http_requests_total" in (await client("GET", "/metrics")).text


def test_a_prefix_covers_what_begins_with_it_and_a_name_only_itself() -> None:
    key = Principal(id="k", role="write", namespaces=("a:*", "b"))
    assert [key.may_read(name) for name in ("a:", "a:x", "a", "b", "bb")] == [True, True, False, True, False]


async def test_a_key_can_ask_what_it_is(client: Client) -> None:
    identity, reader = await issued(client, role="read", namespaces=["team-a:*"], expiresInDays=1)
    told = await reader.ok("GET", "/admin/whoami")
    assert told.pop("expiresAt") is not None
    assert told == {
        "id": identity,
        "name": "test",
        "role": "read",
        "namespaces": ["team-a:*"],
        "operator": False,
    }
    mine = await client.ok("GET", "/admin/whoami")
    assert (mine["role"], mine["namespaces"], mine["operator"]) == ("admin", None, True)
    await client.as_key(None).refused(401, "GET", "/admin/whoami")
