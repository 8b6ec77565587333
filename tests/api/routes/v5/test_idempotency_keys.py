"""Writes with an Idempotency-Key: a repeated request changes nothing, however late it is repeated."""

import asyncio
from base64 import b64decode
from datetime import timedelta
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio

PATH = "/ns/alice/document"


async def read(client: ContractClient) -> Any:
    return await client.ok("GET", f"{PATH}/note")


async def write(client: ContractClient, method: str, path: str, body: Any, key: str) -> Any:
    return await client.ok(method, path, body, headers={"Idempotency-Key": key})


async def log_ends(service: Service) -> int:
    return sum((await service.bus.end_offsets("documents.submitted.v1")).values())


async def test_a_repeated_patch_does_not_undo_what_came_between(client: ContractClient, service: Service) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    first = await write(client, "PATCH", f"{PATH}/note", {"metadata": {"n": 1}}, "k1")
    await client.ok("PATCH", f"{PATH}/note", {"metadata": {"n": 2}})
    service.clock.moment += timedelta(hours=23)
    assert await write(client, "PATCH", f"{PATH}/note", {"metadata": {"n": 1}}, "k1") == first
    assert (await read(client))["metadata"] == {"n": 2}


async def test_an_addition_is_repeated_without_a_new_submission(client: ContractClient, service: Service) -> None:
    body = {"id": "note", "content": "Tea."}
    first = await write(client, "POST", PATH, body, "k1")
    await client.ok("POST", PATH, {"id": "note", "content": "Coffee."})
    service.clock.moment += timedelta(hours=1)
    before = await log_ends(service)
    assert await write(client, "POST", PATH, body, "k1") == first
    assert await log_ends(service) == before


async def test_requests_with_one_key_at_once_change_a_document_once(client: ContractClient) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    body = {"id": "note", "content": "Coffee."}
    answers = await asyncio.gather(*(write(client, "POST", PATH, body, "k1") for _ in range(8)))
    assert all(answer == answers[0] for answer in answers)


async def test_a_key_of_another_request_is_refused(client: ContractClient) -> None:
    await write(client, "POST", PATH, {"id": "note", "content": "Tea."}, "k1")
    answer = await client("POST", PATH, {"id": "note", "content": "Coffee."}, headers={"Idempotency-Key": "k1"})
    assert answer.status_code == 409
    assert answer.json()["error"] == "The idempotency key was used before"


async def test_a_repeated_deletion_leaves_what_was_added_since(client: ContractClient, service: Service) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    first = await write(client, "DELETE", PATH, {"ids": ["note", "unknown"]}, "k1")
    await client.ok("POST", PATH, {"id": "note", "content": "Coffee."})
    service.clock.moment += timedelta(hours=23)
    assert await write(client, "DELETE", PATH, {"ids": ["note", "unknown"]}, "k1") == first
    assert (await read(client))["id"] == "note"
    service.clock.moment += timedelta(hours=2)
    assert (await write(client, "DELETE", PATH, {"ids": ["note", "unknown"]}, "k1"))["count"] == 1


@pytest.mark.parametrize("path", ["/ns/alice", "/ns/alice?moveTo=bob"])
async def test_a_repeated_deletion_or_move_of_a_namespace_leaves_what_was_added_since(
    client: ContractClient, path: str
) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    first = await write(client, "DELETE", path, None, "k1")
    await client.ok("POST", PATH, {"id": "later", "content": "Coffee."})
    assert await write(client, "DELETE", path, None, "k1") == first
    assert await client.ok("GET", f"{PATH}/later")


async def test_a_key_of_another_deletion_is_refused(client: ContractClient) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    await write(client, "DELETE", PATH, {"ids": ["other"]}, "k1")
    refusal = await client.fails(400, "DELETE", PATH, {"ids": ["note"]}, headers={"Idempotency-Key": "k1"})
    assert refusal["error"] == "The idempotency key was used before"


async def test_a_refused_deletion_is_not_kept(client: ContractClient) -> None:
    await client.fails(404, "DELETE", "/ns/alice", headers={"Idempotency-Key": "k1"})
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    assert (await write(client, "DELETE", "/ns/alice", None, "k1"))["deletedDocumentsCount"] == 1


async def test_after_a_day_a_key_is_free_again(client: ContractClient, service: Service) -> None:
    await client.ok("POST", PATH, {"id": "note", "content": "Tea."})
    await write(client, "PATCH", f"{PATH}/note", {"metadata": {"n": 1}}, "k1")
    service.clock.moment += timedelta(hours=25)
    await write(client, "PATCH", f"{PATH}/note", {"metadata": {"n": 2}}, "k1")
    assert (await read(client))["metadata"] == {"n": 2}


async def test_a_repeated_creation_of_an_api_key_tells_the_same_secret(client: ContractClient) -> None:
    first = await write(client, "POST", "/admin/keys", {"name": "reader", "role": "read"}, "k1")
    assert await write(client, "POST", "/admin/keys", {"name": "reader", "role": "read"}, "k1") == first
    keys = (await client.ok("GET", "/admin/keys"))["keys"]
    assert [key["id"] for key in keys if key["name"] == "reader"] == [first["id"]]


async def test_a_repeated_rotation_leaves_the_secret_that_is_in_use(client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "reader", "role": "read"})
    path = f"/admin/keys/{created['id']}/rotate"
    first = await write(client, "POST", path, {"overlapHours": 2}, "k1")
    assert await write(client, "POST", path, {"overlapHours": 2}, "k1") == first
    for secret in (created["key"], first["key"]):
        await client.as_key(secret).ok("GET", "/admin/whoami")


async def test_a_kept_answer_is_told_to_the_secret_alone_that_asked(client: ContractClient, service: Service) -> None:
    issuer = await client.ok("POST", "/admin/keys", {"name": "issuer", "role": "admin"})
    body = {"name": "reader", "role": "read"}
    told = (await write(client.as_key(issuer["key"]), "POST", "/admin/keys", body, "k1"))["key"]
    rows = await service.store.answers.table.list_rows([""])
    assert told not in str(rows)
    assert told.encode() not in b64decode(rows[0].body)
    renewed = await client.ok("POST", f"/admin/keys/{issuer['id']}/rotate", {"overlapHours": 2})
    other = client.as_key(renewed["key"])
    refusal = await other.fails(400, "POST", "/admin/keys", body, headers={"Idempotency-Key": "k1"})
    assert "another secret" in refusal["error"]


async def test_an_empty_or_long_key_is_refused(client: ContractClient) -> None:
    for key in ("", "k" * 256):
        body = {"id": "note", "content": "Tea."}
        await client.fails(400, "POST", PATH, body, headers={"Idempotency-Key": key})
