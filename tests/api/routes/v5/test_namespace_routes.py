"""Namespaces, buckets and the organization over HTTP."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.ports import Position
from schemas.events import OperationRequested, OrganizationChanged, SettingsChanged
from schemas.topics import OPERATIONS_REQUESTED, SETTINGS_CHANGED, Topic
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.fakes import EPOCH
from tests.support.table_rows import chunk, memory

pytestmark = pytest.mark.anyio


async def begin(client: ContractClient, *names: str) -> None:
    """Make namespaces by their first document."""
    for name in names:
        await client.ok("POST", f"/ns/{name}/document", {"content": "x", "id": "x"})


async def operations(service: Service) -> list[OperationRequested]:
    """Return the requested background operations."""
    return [
        OperationRequested.model_validate_json(record.value)
        async for record in service.bus.read(OPERATIONS_REQUESTED.name)
    ]


async def test_namespaces_are_listed_newest_first_by_page_and_by_part_of_their_name(
    service: Service, client: ContractClient
) -> None:
    for name in ("one", "two", "three", "OneMore"):
        await begin(client, name)
        service.clock.advance(1)
    listed = await client.ok("GET", "/ns?limit=3")
    assert [entry["namespace"] for entry in listed["namespaces"]] == ["OneMore", "three", "two"]
    assert listed["pagination"] == {"currentPage": 1, "limit": 3, "totalItems": 4, "totalPages": 2}
    last = await client.ok("GET", "/namespaces?limit=3&page=2")
    assert [entry["namespace"] for entry in last["namespaces"]] == ["one"]
    found = await client.ok("GET", "/ns?q=ONE")
    assert [entry["namespace"] for entry in found["namespaces"]] == ["OneMore", "one"]
    assert (await client.ok("GET", "/ns?page=9007199254740991"))["namespaces"] == []


async def test_a_namespace_is_described_and_the_description_cleared(client: ContractClient) -> None:
    await begin(client, "alice")
    assert (await client.ok("GET", "/ns/alice"))["supportingContext"] is None
    changed = await client.ok("PATCH", "/ns/alice", {"supportingContext": "A diary."})
    assert changed["supportingContext"] == "A diary."
    assert (await client.ok("PATCH", "/ns/alice", {"supportingContext": None}))["supportingContext"] is None


async def test_a_deleted_namespace_is_gone_at_once_with_all_that_was_in_it(
    service: Service, client: ContractClient
) -> None:
    await begin(client, "alice", "bob")
    await service.store_rows(chunk("x"), memory("m", "x"))
    deleted = await client.ok("DELETE", "/ns/alice")
    assert deleted == {
        "status": "deleted", "namespace": "alice", "deletedDocumentsCount": 1, "deletedMemoriesCount": 1
    }  # fmt: skip
    await client.fails(404, "GET", "/ns/alice")
    await client.fails(404, "DELETE", "/ns/alice")
    await client.fails(404, "GET", "/ns/alice/document/x")
    await client.fails(404, "GET", "/ns/alice/memories/m")
    for kind in ("documents", "chunks", "memories"):
        assert (await client.ok("POST", f"/ns/alice/list/{kind}"))["pagination"]["totalItems"] == 0
    assert [entry["namespace"] for entry in (await client.ok("GET", "/ns"))["namespaces"]] == ["bob"]
    assert [(operation.kind, operation.incarnations) for operation in await operations(service)] == [
        ("purge", ("alice#0",))
    ]


async def test_a_namespace_that_begins_again_has_nothing_of_its_former_life(client: ContractClient) -> None:
    await begin(client, "alice")
    first = (await client.ok("GET", "/ns"))["namespaces"][0]["id"]
    await client.ok("PUT", "/ns/alice/profile/buckets", {"buckets": {"work": "Jobs"}})
    await client.ok("DELETE", "/ns/alice")
    await client.ok("POST", "/ns/alice/document", {"content": "new", "id": "new"})
    await client.fails(404, "GET", "/ns/alice/document/x")
    assert "work" not in (await client.ok("GET", "/ns/alice/profile/buckets"))["buckets"]
    assert (await client.ok("GET", "/ns"))["namespaces"][0]["id"] != first


async def test_a_move_is_queued_and_content_stays_until_it_is_done(service: Service, client: ContractClient) -> None:
    await begin(client, "alice")
    response = await client("DELETE", "/ns/alice?moveTo=bob")
    assert response.status_code == 202
    answer = response.json()
    assert (answer["status"], answer["namespace"], answer["moveTo"]) == ("queued", "alice", "bob")
    (asked,) = await operations(service)
    assert (asked.id, asked.kind, asked.target) == (answer["operationId"], "move", "bob")
    recorded = await service.store.operations.get(answer["operationId"])
    assert recorded is not None
    assert recorded.status == "queued"
    await client.ok("GET", "/ns/alice/document/x")


async def test_a_move_to_itself_is_refused_and_one_from_nowhere_not_found(client: ContractClient) -> None:
    await begin(client, "alice")
    await client.fails(400, "DELETE", "/ns/alice?moveTo=alice")
    await client.fails(404, "DELETE", "/ns/nobody?moveTo=alice")


async def test_buckets_are_added_redefined_and_removed(client: ContractClient) -> None:
    await begin(client, "alice")
    buckets = "/ns/alice/profile/buckets"
    await client.ok("PUT", buckets, {"buckets": {"work": "Jobs", "food": "Tastes"}})
    set_again = await client.ok("PUT", buckets, {"buckets": {"work": "Employers"}})
    assert set_again["buckets"] == {"work": "Employers", "food": "Tastes"}
    remaining = await client.ok("DELETE", buckets, {"buckets": ["food", "unknown"]})
    assert remaining == await client.ok("GET", buckets) == {"buckets": {"work": "Employers"}}


async def test_a_namespace_for_which_nobody_defined_buckets_has_the_default_one(
    client: ContractClient,
) -> None:
    await begin(client, "alice")
    buckets = "/ns/alice/profile/buckets"
    assert (await client.ok("GET", buckets))["buckets"].keys() == {"preferences"}
    assert (await client.ok("PUT", buckets, {"buckets": {"work": "Jobs"}}))["buckets"].keys() == {"work"}
    assert (await client.ok("DELETE", buckets, {"buckets": ["work"]}))["buckets"].keys() == {"preferences"}


async def test_buckets_of_an_unknown_namespace_are_read_empty_and_not_changed(client: ContractClient) -> None:
    assert await client.ok("GET", "/ns/nobody/profile/buckets") == {"buckets": {}}
    await client.fails(404, "PUT", "/ns/nobody/profile/buckets", {"buckets": {"a": "b"}})
    await client.fails(404, "DELETE", "/ns/nobody/profile/buckets", {"buckets": ["a"]})


async def test_two_namespaces_are_created_at_a_time(
    service: Service, client: ContractClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, bob_exists = service.bus.publish, asyncio.Event()

    async def publish_alice_late(topic: Topic[Any], entries: Sequence[tuple[str, Any]]) -> list[Position]:
        if entries[0][0] == "namespace/alice":
            await bob_exists.wait()
        return await publish(topic, entries)

    monkeypatch.setattr(service.bus, "publish", publish_alice_late)
    alice = asyncio.create_task(begin(client, "alice"))
    async with asyncio.timeout(10):
        await begin(client, "bob")
    bob_exists.set()
    await alice
    assert (await client.ok("GET", "/organization"))["namespaceCount"] == 2


async def test_concurrent_changes_of_a_namespace_lose_nothing(client: ContractClient) -> None:
    await begin(client, "alice")
    names = [f"bucket{number}" for number in range(8)]
    path = "/ns/alice/profile/buckets"
    await asyncio.gather(
        client.ok("PATCH", "/ns/alice", {"supportingContext": "Rosebud"}),
        *(client.ok("PUT", path, {"buckets": {name: "Some"}}) for name in names),
    )
    assert {*names} <= (await client.ok("GET", path))["buckets"].keys()
    assert (await client.ok("GET", "/ns/alice"))["supportingContext"] == "Rosebud"


async def test_a_namespace_that_many_create_at_once_is_one(service: Service, client: ContractClient) -> None:
    await asyncio.gather(*(begin(client, "alice") for _ in range(8)))
    created = [record async for record in service.bus.read(SETTINGS_CHANGED.name) if record.key == b"namespace/alice"]
    assert len(created) == 1


async def test_a_bucket_of_the_organization_wins_and_is_not_changed_by_a_namespace(
    service: Service, client: ContractClient
) -> None:
    await begin(client, "alice")
    buckets = "/ns/alice/profile/buckets"
    await client.ok("PUT", buckets, {"buckets": {"work": "Jobs"}})
    owned = OrganizationChanged(buckets={"work": "Owned"}, updated_at=EPOCH)
    service.store.catalog.apply(SettingsChanged(change=owned))
    assert (await client.ok("GET", buckets))["buckets"] == {"work": "Owned"}
    await client.fails(409, "PUT", buckets, {"buckets": {"work": "Mine"}})
    await client.fails(409, "DELETE", buckets, {"buckets": ["work"]})


async def test_the_organizational_context_is_set_and_cleared(client: ContractClient) -> None:
    assert await client.ok("GET", "/organization") == {"organizationalContext": None, "namespaceCount": 0}
    changed = await client.ok("PATCH", "/organization", {"organizationalContext": "We sell shoes."})
    assert changed["organizationalContext"] == "We sell shoes."
    cleared = await client.ok("PATCH", "/organization", {"organizationalContext": None})
    assert cleared["organizationalContext"] is None
