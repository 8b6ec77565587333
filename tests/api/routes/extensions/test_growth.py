"""Daily growth of namespaces over HTTP."""

from datetime import timedelta

import pytest

from tests.api.conftest import Service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio


async def test_documents_are_counted_on_the_day_they_came(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "One.", "id": "one"})
    service.clock.advance(timedelta(days=2).total_seconds())
    for name in ("two", "three"):
        await client.ok("POST", "/ns/alice/document", {"content": name, "id": name})
    await client.ok("POST", "/ns/bob/document", {"content": "Four."})
    grown = await client.ok("GET", "/admin/growth?namespace=alice&namespace=bob&namespace=nobody&days=4")
    assert grown["days"][-1] == service.clock.now().date().isoformat()
    alice, bob = grown["namespaces"]
    assert (alice["documents"], alice["memories"]) == ([0, 1, 0, 2], [0, 0, 0, 0])
    assert (bob["namespace"], bob["documents"]) == ("bob", [0, 0, 0, 1])
    before = await client.ok("GET", "/admin/growth?namespace=alice&days=2")
    assert before["namespaces"][0]["documents"] == [0, 2]


async def test_only_what_the_key_opens_is_counted(client: ContractClient) -> None:
    created = await client.ok("POST", "/admin/keys", {"name": "r", "role": "read", "namespaces": ["alice"]})
    reader = client.as_key(created["key"])
    await reader.ok("GET", "/admin/growth?namespace=alice")
    await reader.fails(403, "GET", "/admin/growth?namespace=alice&namespace=bob")
    await reader.fails(400, "GET", "/admin/growth")
