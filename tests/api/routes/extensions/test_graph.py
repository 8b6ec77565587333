"""The memory graph over HTTP."""

from dataclasses import replace
from datetime import timedelta

import pytest

from schemas.base import format_timestamp
from schemas.events import Relation
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.fakes import EPOCH
from tests.support.table_rows import memory

pytestmark = pytest.mark.anyio


async def test_a_replaced_memory_ends_when_its_successor_came(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "I moved.", "id": "one"})
    later = EPOCH + timedelta(days=1)
    old = replace(memory("old", "one", is_latest=False), text="User lives in Porto")
    updates = (Relation(kind="updates", target="old"),)
    new = replace(memory("new", "one", relations=updates), text="User lives in Bergen", created_at=later)
    await service.store_rows(old, new)
    graph = await client.ok("GET", "/ns/alice/explain/graph")
    assert [row["memory"] for row in graph["memories"]] == ["User lives in Bergen", "User lives in Porto"]
    assert [row["endedAt"] for row in graph["memories"]] == [None, format_timestamp(later)]
    assert {row["document"] for row in graph["memories"]} == {"one"}
    assert graph["relations"] == [{"source": 0, "target": 1, "kind": "updates"}]
    assert graph["names"] == [
        {"name": "User", "memories": [0, 1]},
        {"name": "Bergen", "memories": [0]},
        {"name": "Porto", "memories": [1]},
    ]
    assert (await client.ok("GET", "/ns/alice/explain/graph?limit=1"))["total"] == 2


async def test_a_graph_is_for_keys_that_open_the_namespace(client: ContractClient) -> None:
    assert (await client.ok("GET", "/ns/nobody/explain/graph"))["memories"] == []
    created = await client.ok("POST", "/admin/keys", {"name": "r", "role": "read", "namespaces": ["alice"]})
    await client.as_key(created["key"]).fails(403, "GET", "/ns/bob/explain/graph")
    await client.fails(400, "GET", "/ns/alice/explain/graph?limit=9999")
