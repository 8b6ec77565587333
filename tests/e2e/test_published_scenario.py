"""The scenario that the official client publishes as its live test, against our server."""

import pytest
from supermemory import AsyncSupermemory, AuthenticationError, NotFoundError, Supermemory

from bench.service_process import Server
from tests.support.polling import wait_document_done

TEXT = "The capybara, native to South America, is the largest living rodent."


def test_what_was_added_is_done_found_and_listed(client: Supermemory, namespace: str) -> None:
    added = client.add(namespace, content=TEXT, id="capybara", metadata={"kind": "animal"})
    assert added.id == "capybara"
    wait_document_done(client, namespace, added.id)

    found = client.search(namespace, query="largest rodent")
    assert found.results
    assert any("capybara" in (result.chunk or result.memory or "") for result in found.results)

    listed = client.list(namespace, "documents")
    assert added.id in [document.id for document in listed.documents]
    assert namespace in [row.namespace for row in client.namespaces.list(limit=100).namespaces]


def test_profile_and_buckets_of_a_namespace_that_may_not_exist(client: Supermemory, namespace: str) -> None:
    profile = client.profile(namespace).profile
    assert (profile.static, profile.dynamic) == ([], [])
    assert client.profiles.get_buckets(namespace).buckets is not None


def test_an_unknown_document_is_a_404(client: Supermemory, namespace: str) -> None:
    client.add(namespace, content=TEXT)
    with pytest.raises(NotFoundError):
        client.documents.get(namespace, "nobody-added-this")


def test_a_wrong_key_is_a_401(server: Server, namespace: str) -> None:
    with (
        Supermemory(base_url=server.url, api_key="sm_invalid") as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.search(namespace, query="anything")


def test_a_raw_response_has_headers_and_parses(client: Supermemory, namespace: str) -> None:
    raw = client.with_raw_response.search(namespace, query="anything", extra_headers={"x-trace": "1"})
    assert raw.status_code == 200
    assert raw.headers["x-request-id"]
    assert raw.parse().results == []


@pytest.mark.anyio
async def test_the_asynchronous_client_searches(server: Server, client: Supermemory, namespace: str) -> None:
    client.add(namespace, content=TEXT, id="capybara")
    wait_document_done(client, namespace, "capybara")
    async with AsyncSupermemory(base_url=server.url, api_key=server.key) as eager:
        found = await eager.search(namespace, query="largest rodent")
    assert found.results
