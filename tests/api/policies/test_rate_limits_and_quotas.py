"""Rate limits and quotas of keys over HTTP."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from api.dependencies.app_state import CurrentAppState
from api.policies.monthly_quotas import MonthlyQuota, MonthlyQuotas
from api.policies.token_bucket import RateLimiter
from pipeline.errors import RejectedError
from schemas.events import BlobRef
from tests.api.conftest import Service
from tests.api.policies.test_api_keys import issued
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio
NOTE = {"content": "Ada plays the cello."}


def set_policies(service: Service, **policies: Any) -> None:
    """Replace the policies of a service."""
    serving: CurrentAppState = service.app.state.recollect
    serving.state = replace(serving.state, policies=replace(service.state.policies, **policies))


async def test_a_key_that_asks_too_fast_is_told_when_to_come_back(service: Service, client: ContractClient) -> None:
    now = [0.0]
    set_policies(service, rate_limiter=RateLimiter(clock=lambda: now[0]))
    _, slow = await issued(client, rateLimit=2)
    _, other = await issued(client)
    first = await slow("GET", "/ns")
    assert first.headers["ratelimit-policy"] == '"key";q=2;w=60'
    assert first.headers["ratelimit"] == '"key";r=1;t=30'
    assert (await slow("GET", "/ns")).status_code == 200
    refused = await slow("GET", "/ns")
    assert refused.status_code == 429
    assert refused.headers["ratelimit"] == '"key";r=0;t=30'
    assert refused.headers["retry-after"] == "30"
    assert set(refused.json()) == {"error", "details"}
    assert "ratelimit" not in (await other("GET", "/ns")).headers, "a key without a limit hears of none"
    now[0] = 30.0
    assert (await slow("GET", "/ns")).status_code == 200


async def test_keys_share_the_rate_of_the_key_that_issued_them(service: Service, client: ContractClient) -> None:
    _, lead = await issued(client, role="admin", namespaces=["team:*"], rateLimit=3)
    set_policies(service, rate_limiter=RateLimiter())
    first_id, first = await issued(lead, role="admin", namespaces=["team:*"])
    _, second = await issued(lead, namespaces=["team:*"])
    set_policies(service, rate_limiter=RateLimiter(clock=lambda: 0.0))
    _, below = await issued(first, namespaces=["team:*"])
    assert (await second("GET", "/ns")).headers["ratelimit"].startswith('"key";r=1;')
    assert [(await key("GET", "/ns")).status_code for key in (below, second, first)] == [200, 429, 429]
    await lead.ok("DELETE", f"/admin/keys/{first_id}")


async def test_the_limit_of_the_settings_holds_for_keys_without_one(service: Service, client: ContractClient) -> None:
    _, plain = await issued(client)
    _, own = await issued(client, rateLimit=100)
    set_policies(service, rate_limiter=RateLimiter(1, clock=lambda: 0.0))
    assert [(await plain("GET", "/ns")).status_code for _ in range(2)] == [200, 429]
    assert [(await own("GET", "/ns")).status_code for _ in range(2)] == [200, 200]


async def test_a_key_adds_no_more_documents_than_its_quota(client: ContractClient) -> None:
    _, limited = await issued(client, monthlyDocuments=2)
    await limited.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    await limited.ok("POST", "/ns/alice/document", {**NOTE, "id": "b"})
    refused = await limited.fails(402, "POST", "/ns/alice/document", {**NOTE, "id": "c"})
    assert "2 of 2" in refused["details"]
    await limited.fails(402, "PATCH", "/ns/alice/document/a", {"content": "Bob does."})
    await limited.ok("PATCH", "/ns/alice/document/a", {"metadata": {"seen": True}})
    await limited.ok("DELETE", "/ns/alice/document", {"ids": ["a"]})


async def test_a_batch_is_taken_as_a_whole_or_not_at_all(client: ContractClient) -> None:
    _, limited = await issued(client, monthlyDocuments=3)
    path = "/ns/alice/document/batch"
    two = {"documents": [{**NOTE, "id": "a"}, {**NOTE, "id": "b"}]}
    await limited.ok("POST", path, two)
    await limited.fails(402, "POST", path, {"documents": [{**NOTE, "id": "c"}, {**NOTE, "id": "d"}]})
    await limited.fails(404, "GET", "/ns/alice/document/c")


async def test_at_a_full_quota_what_changes_no_content_is_taken(client: ContractClient) -> None:
    _, limited = await issued(client, monthlyDocuments=2)
    path, two = "/ns/alice/document/batch", [{**NOTE, "id": "a"}, {**NOTE, "id": "b"}]
    await limited.ok("POST", path, {"documents": two})
    assert (await limited.ok("POST", path, {"documents": two}))["failed"] == 0
    await limited.ok("POST", "/ns/alice/document", {**two[0], "metadata": {"seen": True}})
    await limited.fails(402, "POST", path, {"documents": [*two, {**NOTE, "id": "c"}]})
    await limited.fails(402, "POST", path, {"documents": [two[0], {"id": "b", "content": "Another text."}]})
    await limited.fails(402, "POST", "/ns/elsewhere/document", NOTE)
    await limited.fails(404, "GET", "/ns/elsewhere")


async def test_at_a_full_quota_an_unchanged_file_and_a_repeated_request_are_taken(client: ContractClient) -> None:
    _, limited = await issued(client, monthlyDocuments=3)
    file = {"file": ("a.txt", b"Ada lives in Porto.", "text/plain")}
    other = {"file": ("b.txt", b"Ben lives in Rome.", "text/plain")}
    first = await limited.ok("POST", "/ns/alice/document/file", files=file)
    await limited.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    more, headers = {"content": "And more.", "id": "a"}, {"idempotency-key": "again"}
    await limited.ok("POST", "/ns/alice/document", more, headers=headers)
    assert (await limited.ok("POST", "/ns/alice/document/file", files=file))["id"] == first["id"]
    await limited.ok("POST", "/ns/alice/document", more, headers=headers)
    await limited.fails(402, "POST", "/ns/alice/document/file", files=other)
    await limited.ok("POST", "/v3/documents/file", files=file | {"containerTag": (None, "alice")})
    await limited.fails(402, "POST", "/v3/documents/file", files=other | {"containerTag": (None, "alice")})


@pytest.mark.parametrize("limit", [{"monthlyDocuments": 2}, {"monthlyBytes": 100}])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_file_beyond_the_quota_changes_no_document_and_is_not_stored(
    method: str, limit: dict[str, int], service: Service, client: ContractClient
) -> None:
    _, limited = await issued(client, **limit)
    await limited.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    small = {"file": ("a.txt", b"Ada lives in Porto.", "text/plain")}
    headers = {"idempotency-key": "once"}
    await limited.ok(method, "/ns/alice/document/file/a", files=small, headers=headers)
    await limited.ok(method, "/ns/alice/document/file/a", files=small, headers=headers)
    data = b"Ben lives in Rome." * 10
    await limited.fails(402, method, "/ns/alice/document/file/a", files={"file": ("b.txt", data, "text/plain")})
    with pytest.raises(RejectedError, match="missing"):
        await service.state.blobs.get(BlobRef(sha256=sha256(data).hexdigest(), size=len(data)))


async def test_keys_of_a_limited_admin_key_share_its_quota(client: ContractClient) -> None:
    _, team = await issued(client, role="admin", namespaces=["team:*"], monthlyDocuments=2, monthlySearches=1)
    _, lead = await issued(team, role="admin", namespaces=["team:*"])
    _, first = await issued(lead, namespaces=["team:*"])
    _, second = await issued(lead, namespaces=["team:*"])
    await first.ok("POST", "/ns/team:a/document", {**NOTE, "id": "a"})
    await second.ok("POST", "/ns/team:a/document", {**NOTE, "id": "b"})
    for key in (first, second, lead):
        refused = await key.fails(402, "POST", "/ns/team:a/document", {**NOTE, "id": "c"})
        assert refused["details"].startswith("2 of 2")
    _, third = await issued(team, namespaces=["team:*"])
    refused = await third.fails(402, "POST", "/ns/team:a/document", {**NOTE, "id": "c"})
    assert refused["error"].startswith("The issuing key's monthly quota of documents")
    await first.ok("POST", "/ns/team:a/search", {"query": "cello"})
    await team.fails(402, "POST", "/ns/team:a/search", {"query": "cello"})
    _, other = await issued(client, namespaces=["team:*"])
    await other.ok("POST", "/ns/team:a/document", {**NOTE, "id": "c"})


async def test_what_says_nothing_new_uses_nothing(client: ContractClient) -> None:
    key, writer = await issued(client)
    for _ in range(3):
        await writer.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    used = await client.ok("GET", "/admin/usage")
    assert next(usage for usage in used["keys"] if usage["id"] == key)["documents"] == {
        "used": 1,
        "limit": None,
    }


async def test_searches_have_a_quota_of_their_own(client: ContractClient) -> None:
    _, limited = await issued(client, monthlySearches=1)
    await limited.ok("POST", "/ns/alice/search", {"query": "cello"})
    await limited.fails(402, "POST", "/ns/alice/search", {"query": "cello"})
    await limited.ok("POST", "/ns/alice/document", NOTE)


async def test_a_key_adds_no_more_bytes_than_its_budget(client: ContractClient) -> None:
    key, limited = await issued(client, monthlyBytes=100)
    await limited.ok("POST", "/ns/alice/document", {"id": "a", "content": "é" * 30})
    await limited.ok("POST", "/ns/alice/document", {"id": "a", "content": "é" * 30})
    refused = await limited.fails(402, "POST", "/ns/alice/document", {"id": "b", "content": "x" * 41})
    assert refused == {
        "error": "This key's monthly quota of bytes is used up",
        "details": "60 of 100 were used in 2026-01 (UTC), 41 more were requested.",
    }
    batch = {"documents": [{"id": "b", "content": "x" * 20}, {"id": "c", "content": "y" * 21}]}
    await limited.fails(402, "POST", "/ns/alice/document/batch", batch)
    await limited.fails(402, "PATCH", "/ns/alice/document/a", {"content": "x" * 41})
    await limited.fails(402, "POST", "/v3/documents", {"containerTag": "alice", "content": "x" * 41})
    file = {"file": ("a.txt", b"x" * 41, "text/plain")}
    await limited.fails(402, "POST", "/ns/alice/document/file", files=file)
    await limited.ok("PATCH", "/ns/alice/document/a", {"content": "x" * 40})
    await limited.ok("POST", "/ns/alice/search", {"query": "x"})
    used = await client.ok("GET", "/admin/usage")
    assert next(row for row in used["keys"] if row["id"] == key)["bytes"] == {"used": 100, "limit": 100}


async def test_a_key_is_answered_no_more_tokens_than_its_budget(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    key, limited = await issued(client, role="admin", namespaces=["alice"], monthlyTokens=10)
    _, below = await issued(limited, role="read", namespaces=["alice"])
    await below.ok("GET", "/ns/alice/document/a")
    for reader in (below, limited):
        refused = await reader.fails(429, "GET", "/ns/alice/document/a")
        assert "quota of tokens is used up" in refused["error"]
        await reader.fails(429, "POST", "/ns/alice/search", {"query": "cello"})
        await reader.fails(429, "POST", "/ns/alice/profile", headers={"accept": "text/markdown"})
    await limited.ok("POST", "/ns/alice/document", {**NOTE, "id": "b"})
    used = await client.ok("GET", "/admin/usage")
    assert next(row for row in used["keys"] if row["id"] == key)["tokens"] == {"used": 0, "limit": 10}
    assert sum(row["tokens"]["used"] for row in used["keys"]) > 10


async def test_a_page_of_markdown_uses_tokens_as_json_does(client: ContractClient) -> None:
    key, limited = await issued(client, role="read", monthlyTokens=1_000)
    page = await limited("POST", "/ns/alice/profile", headers={"accept": "text/markdown"})
    assert page.headers["content-type"].startswith("text/markdown")
    used = await client.ok("GET", "/admin/usage")
    tokens = next(row for row in used["keys"] if row["id"] == key)["tokens"]["used"]
    assert tokens == -(-len(page.content) // 4)


async def test_the_organization_has_quotas_that_all_keys_share(service: Service, client: ContractClient) -> None:
    set_policies(
        service,
        quotas=MonthlyQuotas(organization_quota=MonthlyQuota(documents=2), default_key_quota=MonthlyQuota(searches=1)),
    )
    _, first = await issued(client)
    _, other = await issued(client)
    await first.ok("POST", "/ns/alice/document", {**NOTE, "id": "a"})
    await other.ok("POST", "/ns/alice/document", {**NOTE, "id": "b"})
    refused = await first.fails(402, "POST", "/ns/alice/document", {**NOTE, "id": "c"})
    assert refused["error"].startswith("The organization's monthly quota of documents")
    await other.ok("POST", "/ns/alice/search", {"query": "x"})
    await other.fails(402, "POST", "/ns/alice/search", {"query": "x"})
    usage = await client.ok("GET", "/admin/usage")
    assert usage["documents"] == {"used": 2, "limit": 2}
    assert usage["searches"] == {"used": 1, "limit": None}


async def test_usage_is_shown_to_those_who_issue_the_keys(client: ContractClient) -> None:
    key, team = await issued(client, role="admin", namespaces=["team:*"])
    await issued(client)
    _, plain = await issued(client, role="write")
    shown = await team.ok("GET", "/admin/usage")
    assert [usage["id"] for usage in shown["keys"]] == [key]
    assert shown["documents"] is None
    await plain.fails(403, "GET", "/admin/usage")
    assert (await client.ok("GET", "/admin/usage?month=2020-01"))["documents"]["used"] == 0
    await client.fails(400, "GET", "/admin/usage?month=2020-13")
