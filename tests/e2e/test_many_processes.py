"""Two processes that answer and two that work: nobody can tell them from one."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from supermemory import NotFoundError, Supermemory

from tests.e2e.deployment import Deployment, deployed
from tests.e2e.waiting import until, until_done
from tools.kafka import Broker, Container

pytestmark = pytest.mark.kafka
TEXT = "The capybara, native to South America, is the largest living rodent."


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, kafka: Broker | Container) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("processes"), kafka.bootstrap) as deployment:
        yield deployment


@pytest.fixture
def clients(deployment: Deployment) -> Iterator[list[Supermemory]]:
    with deployment.clients() as clients:
        yield clients


def everything(client: Supermemory, namespace: str) -> dict[str, Any]:
    """What a user sees of a namespace, without what time and place decide."""
    documents = client.list(namespace, "documents", limit=100).documents
    chunks = client.list(namespace, "chunks", limit=100).chunks
    memories = client.list(namespace, "memories", limit=100).memories
    return {
        "documents": sorted((one.id, one.system.status) for one in documents),
        "chunks": Counter(one.content for one in chunks),
        "memories": Counter((one.memory, one.is_latest) for one in memories),
    }


def test_what_one_process_acknowledged_another_shows_at_once(
    clients: list[Supermemory], namespace: str
) -> None:
    here, there = clients
    for number in range(10):
        added = here.add(namespace, content=f"{TEXT} {number}", id=f"d{number}", metadata={"n": number})
        assert there.documents.get(namespace, added.id).metadata == {"n": number}
        there.documents.update(namespace, added.id, metadata={"n": -number})
        assert here.documents.get(namespace, added.id).metadata == {"n": -number}
        here, there = there, here
    here.documents.delete(namespace, ids=["d0"])
    with pytest.raises(NotFoundError):
        there.documents.get(namespace, "d0")


def test_what_was_added_anywhere_is_done_and_found_everywhere(
    clients: list[Supermemory], namespace: str
) -> None:
    clients[0].add(namespace, content=TEXT, id="capybara", dreaming="instant")
    until_done(clients[1], namespace, "capybara", memories=True)
    for client in clients:
        found = until(
            lambda client=client: client.search(namespace, query="largest rodent"),  # type: ignore[misc]
            lambda answer: bool(answer.results),
            "the capybara found",
        )
        assert any("capybara" in (one.chunk or one.memory or "") for one in found.results)


def test_settings_and_keys_hold_everywhere_at_once(deployment: Deployment, namespace: str) -> None:
    status, _ = deployment.ask(0, "POST", f"/ns/{namespace}/document", {"content": TEXT})
    assert status == 200
    for number in range(5):
        here, there = number % 2, (number + 1) % 2
        deployment.ask(here, "PATCH", f"/ns/{namespace}", {"supportingContext": f"context {number}"})
        _, shown = deployment.ask(there, "GET", f"/ns/{namespace}")
        assert shown["supportingContext"] == f"context {number}"
    _, minted = deployment.ask(0, "POST", "/admin/keys", {"name": "guest", "role": "read"})
    assert deployment.ask(1, "GET", f"/ns/{namespace}", key=minted["key"])[0] == 200
    assert deployment.ask(1, "DELETE", f"/admin/keys/{minted['id']}")[0] == 200
    assert deployment.ask(0, "GET", f"/ns/{namespace}", key=minted["key"])[0] == 401


def test_changes_of_one_setting_in_both_processes_lose_none(deployment: Deployment, namespace: str) -> None:
    deployment.ask(0, "POST", f"/ns/{namespace}/document", {"content": TEXT})

    def add(number: int) -> int:
        buckets = {f"bucket-{number}": f"what number {number} is about"}
        status: int = deployment.ask(
            number % 2, "PUT", f"/ns/{namespace}/profile/buckets", {"buckets": buckets}
        )[0]
        return status

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(add, range(16))) == {200}
    for api in (0, 1):
        _, shown = deployment.ask(api, "GET", f"/ns/{namespace}/profile/buckets")
        assert shown["buckets"].keys() >= {f"bucket-{number}" for number in range(16)}


def test_a_killed_worker_leaves_nothing_undone_and_nothing_twice(
    deployment: Deployment, clients: list[Supermemory], namespace: str
) -> None:
    """Partitions change hands in the middle of batches: away from one process, back to it, and away again."""
    expected: dict[str, str] = {}
    for number in range(60):
        text = f"Person{number} lives in City{number}."
        expected[f"d{number}"] = text
        clients[number % 2].add(namespace, content=text, id=f"d{number}", dreaming="instant")
        if number == 20:
            deployment.pipeline[0].kill()
        if number == 40:
            deployment.pipeline[0].start()
    for document in expected:
        until_done(clients[0], namespace, document, memories=True)
    for client in clients:
        seen = everything(client, namespace)
        assert seen["documents"] == sorted((document, "done") for document in expected)
        assert seen["chunks"] == Counter(expected.values())
        assert seen["memories"] == Counter({(text.removesuffix("."), True): 1 for text in expected.values()})


def test_versions_are_those_of_one_process(
    deployment: Deployment, clients: list[Supermemory], namespace: str
) -> None:
    """One fact changes again and again, from both sides, while a worker leaves and comes back."""
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
    for number in range(len(cities)):
        until_done(clients[0], namespace, f"d{number}", memories=True)
    for client in clients:
        memories = client.list(namespace, "memories", limit=100, include={"forgotten": True}).memories
        assert [one.memory for one in memories if one.is_latest] == ["Ada lives in City11"]
        assert len(memories) == len(cities)


def test_a_quota_that_was_used_up_here_is_used_up_there(deployment: Deployment, namespace: str) -> None:
    """Within seconds: each process tells what it counted once a second."""
    made = deployment.ask(0, "POST", "/admin/keys", {"name": namespace, "monthlyDocuments": 1})[1]
    path = f"/ns/{namespace}/document"
    first = deployment.ask(0, "POST", path, {"content": TEXT, "id": "a"}, key=made["key"])
    assert first[0] == 200, first

    def counted() -> Any:
        usage = deployment.ask(1, "GET", "/admin/usage")[1]["keys"]
        return next(one["documents"] for one in usage if one["id"] == made["id"])

    until(counted, lambda documents: documents == {"used": 1, "limit": 1}, "the other process knows")
    refused = deployment.ask(1, "POST", path, {"content": TEXT, "id": "b"}, key=made["key"])
    assert refused[0] == 402, refused
    acts = deployment.ask(1, "GET", "/admin/audit?limit=1000")[1]["acts"]
    assert any(act["details"].get("id") == made["id"] for act in acts), "acts are known everywhere"
