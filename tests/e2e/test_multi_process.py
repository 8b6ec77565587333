"""Two processes that answer and two that work: nobody can tell them from one."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from supermemory import NotFoundError, Supermemory

from tests.support.kafka_cleanup import delete_topics_and_groups
from tests.support.kafka_deployment import KafkaDeployment, running_deployment
from tests.support.polling import poll_until, wait_document_done
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = pytest.mark.kafka
GIVEN_NAMES = ("Maria", "Peter", "Anna", "Thomas", "Laura", "David", "Julia", "Martin", "Clara", "Robert")
FAMILY_NAMES = ("Rossi", "Novak", "Weber", "Keller", "Lopez", "Jansen")
TEXT = "The capybara, native to South America, is the largest living rodent."


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, kafka: LocalBroker | DockerBroker
) -> Iterator[KafkaDeployment]:
    asyncio.run(delete_topics_and_groups(kafka.bootstrap))
    with running_deployment(tmp_path_factory.mktemp("processes"), kafka.bootstrap) as deployment:
        yield deployment


@pytest.fixture
def clients(deployment: KafkaDeployment) -> Iterator[list[Supermemory]]:
    with deployment.clients() as clients:
        yield clients


def namespace_snapshot(client: Supermemory, namespace: str) -> dict[str, Any]:
    """The user-visible content of a namespace, without times and process-specific values."""
    documents = client.list(namespace, "documents", limit=100).documents
    chunks = client.list(namespace, "chunks", limit=100).chunks
    memories = client.list(namespace, "memories", limit=100).memories
    return {
        "documents": sorted((document.id, document.system.status) for document in documents),
        "chunks": Counter(chunk.content for chunk in chunks),
        "memories": Counter((memory.memory, memory.is_latest) for memory in memories),
    }


def test_what_one_process_acknowledged_another_shows_at_once(clients: list[Supermemory], namespace: str) -> None:
    writer, reader = clients
    for number in range(10):
        added = writer.add(namespace, content=f"{TEXT} {number}", id=f"d{number}", metadata={"n": number})
        assert reader.documents.get(namespace, added.id).metadata == {"n": number}
        reader.documents.update(namespace, added.id, metadata={"n": -number})
        assert writer.documents.get(namespace, added.id).metadata == {"n": -number}
        writer, reader = reader, writer
    writer.documents.delete(namespace, ids=["d0"])
    with pytest.raises(NotFoundError):
        reader.documents.get(namespace, "d0")


def test_what_was_added_anywhere_is_done_and_found_everywhere(clients: list[Supermemory], namespace: str) -> None:
    clients[0].add(namespace, content=TEXT, id="capybara", dreaming="instant")
    wait_document_done(clients[1], namespace, "capybara", memories=True)
    for client in clients:
        found = poll_until(
            lambda client=client: client.search(namespace, query="largest rodent"),  # type: ignore[misc]
            lambda answer: bool(answer.results),
            "the capybara found",
        )
        assert any("capybara" in (result.chunk or result.memory or "") for result in found.results)


def test_settings_and_keys_hold_everywhere_at_once(deployment: KafkaDeployment, namespace: str) -> None:
    status, _ = deployment.request(0, "POST", f"/ns/{namespace}/document", {"content": TEXT})
    assert status == 200
    for number in range(5):
        writer, reader = number % 2, (number + 1) % 2
        deployment.request(writer, "PATCH", f"/ns/{namespace}", {"supportingContext": f"context {number}"})
        _, shown = deployment.request(reader, "GET", f"/ns/{namespace}")
        assert shown["supportingContext"] == f"context {number}"
    _, minted = deployment.request(0, "POST", "/admin/keys", {"name": "guest", "role": "read"})
    assert deployment.request(1, "GET", f"/ns/{namespace}", key=minted["key"])[0] == 200
    assert deployment.request(1, "DELETE", f"/admin/keys/{minted['id']}")[0] == 200
    assert deployment.request(0, "GET", f"/ns/{namespace}", key=minted["key"])[0] == 401


def test_changes_of_one_setting_in_both_processes_lose_none(deployment: KafkaDeployment, namespace: str) -> None:
    deployment.request(0, "POST", f"/ns/{namespace}/document", {"content": TEXT})

    def add(number: int) -> int:
        buckets = {f"bucket-{number}": f"what number {number} is about"}
        status: int = deployment.request(number % 2, "PUT", f"/ns/{namespace}/profile/buckets", {"buckets": buckets})[0]
        return status

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(add, range(16))) == {200}
    for api in (0, 1):
        _, shown = deployment.request(api, "GET", f"/ns/{namespace}/profile/buckets")
        assert shown["buckets"].keys() >= {f"bucket-{number}" for number in range(16)}


def test_a_killed_worker_leaves_nothing_undone_and_nothing_twice(
    deployment: KafkaDeployment, clients: list[Supermemory], namespace: str
) -> None:
    """Partitions change hands in the middle of batches: away from one process, back to it, and away again."""
    expected: dict[str, str] = {}
    for number in range(60):
        text = f"{GIVEN_NAMES[number % 10]} {FAMILY_NAMES[number // 10]} lives in City{number}."
        expected[f"d{number}"] = text
        clients[number % 2].add(namespace, content=text, id=f"d{number}", dreaming="instant")
        if number == 20:
            deployment.pipeline[0].kill()
        if number == 40:
            deployment.pipeline[0].start()
    for document in expected:
        wait_document_done(clients[0], namespace, document, memories=True)
    for client in clients:
        seen = namespace_snapshot(client, namespace)
        assert seen["documents"] == sorted((document, "done") for document in expected)
        assert seen["chunks"] == Counter(expected.values())
        assert seen["memories"] == Counter({(text.removesuffix("."), True): 1 for text in expected.values()})


def test_versions_are_those_of_one_process(
    deployment: KafkaDeployment, clients: list[Supermemory], namespace: str
) -> None:
    """A fact changes again and again, from both sides, while a worker leaves and comes back."""
    cities = [f"City{number}" for number in range(12)]
    for number, city in enumerate(cities):
        clients[number % 2].add(
            namespace,
            content=f"Ada lives in {city}.",
            id=f"d{number}",
            dreaming="instant",
            date=f"2026-01-{number + 1:02}",
        )
        if number == 4:
            deployment.pipeline[1].stop()
        if number == 8:
            deployment.pipeline[1].start()
    for client in clients:  # each process sees what another wrote within a moment
        for number in range(len(cities)):
            wait_document_done(client, namespace, f"d{number}", memories=True)
        memories = poll_until(
            lambda client=client: (
                client.list(  # type: ignore[misc]
                    namespace, "memories", limit=100, include={"forgotten": True}
                ).memories
            ),
            lambda memories: [memory.memory for memory in memories if memory.is_latest] == ["Ada lives in City11"],
            "only the last city is the latest",
        )
        assert len(memories) == len(cities)


def test_a_quota_that_was_used_up_here_is_used_up_there(deployment: KafkaDeployment, namespace: str) -> None:
    """Each process publishes its counts once a second."""
    key = deployment.request(0, "POST", "/admin/keys", {"name": namespace, "monthlyDocuments": 1})[1]
    path = f"/ns/{namespace}/document"
    first = deployment.request(0, "POST", path, {"content": TEXT, "id": "a"}, key=key["key"])
    assert first[0] == 200, first

    def counted() -> Any:
        usage = deployment.request(1, "GET", "/admin/usage")[1]["keys"]
        return next(figures["documents"] for figures in usage if figures["id"] == key["id"])

    poll_until(counted, lambda documents: documents == {"used": 1, "limit": 1}, "the other process knows")
    refused = deployment.request(1, "POST", path, {"content": TEXT, "id": "b"}, key=key["key"])
    assert refused[0] == 402, refused
    acts = deployment.request(1, "GET", "/admin/audit?limit=1000")[1]["entries"]
    assert any(act["details"].get("id") == key["id"] for act in acts), "acts are known everywhere"
