"""Every operation of the official client, once, as its users call it."""

import json
from typing import Any

import httpx2
import pytest
from supermemory import (
    APIStatusError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
    Supermemory,
)

from bench.service_process import Server
from tests.support.polling import poll_until, wait_document_done

_NOT_HERE = "404|503|[Cc]onnector"
LISBON = "My name is Alice. I live in Lisbon. I play the cello."


def _add_until_remembered(client: Supermemory, namespace: str) -> None:
    client.add(namespace, content=LISBON, id="note", dreaming="instant")
    wait_document_done(client, namespace, "note", memories=True)


def _source_id(result: Any) -> str:
    return str(result.included.document.id)


def test_documents_are_added_read_changed_and_deleted(client: Supermemory, namespace: str) -> None:
    client.add(namespace, content=LISBON, id="note", metadata={"mood": "glad"}, task_type="superrag")
    wait_document_done(client, namespace, "note")
    document = client.documents.get(namespace, "note", include=["chunks", "memories"])
    assert document.content == LISBON
    assert [chunk.position for chunk in document.chunks] == [0]
    assert document.memories == []

    client.documents.update(namespace, "note", metadata={"place": "Lisbon"})
    assert client.documents.get(namespace, "note").metadata == {"mood": "glad", "place": "Lisbon"}
    client.documents.update(namespace, "note", content="My name is Alice. I live in Porto.")
    assert wait_document_done(client, namespace, "note").content == "My name is Alice. I live in Porto."

    deleted = client.documents.delete(namespace, ids=["note", "unknown"])
    assert deleted.count == 1
    assert [error.id for error in deleted.errors] == ["unknown"]
    with pytest.raises(NotFoundError):
        client.documents.get(namespace, "note")
    assert client.search(namespace, query="Where does Alice live?").results == []


def test_the_same_document_again_changes_nothing(client: Supermemory, namespace: str) -> None:
    first = client.add(namespace, content=LISBON, task_type="superrag")
    wait_document_done(client, namespace, first.id)
    again = client.add(namespace, content=LISBON, task_type="superrag")
    assert (again.id, again.status) == (first.id, "done")
    assert client.list(namespace, "documents").pagination.total_items == 1


def test_a_batch_takes_what_is_good_and_names_what_is_not(client: Supermemory, namespace: str) -> None:
    answer = client.documents.batch_add(
        namespace,
        documents=[{"content": "Bob likes tea.", "id": "tea"}, {"content": "", "id": "empty"}],
        task_type="superrag",
    )
    assert (answer.count, answer.failed) == (2, 1) or (answer.count, answer.failed) == (1, 1)
    assert [(result.id, result.status == "error") for result in answer.results] == [
        ("tea", False),
        ("empty", True),
    ]
    wait_document_done(client, namespace, "tea")


def test_files_are_uploaded_changed_and_replaced(client: Supermemory, namespace: str) -> None:
    page = b"# Tea\n\nBob drinks green tea every morning.\n"
    added = client.documents.upload_file(
        namespace,
        file=("tea.md", page, "text/markdown"),
        metadata=json.dumps({"kind": "drink"}),
        task_type="superrag",
    )
    document = wait_document_done(client, namespace, added.id)
    assert "green tea" in document.content
    client.documents.update_file(namespace, added.id, metadata=json.dumps({"cups": 2}))
    assert client.documents.get(namespace, added.id).metadata == {"kind": "drink", "cups": 2}
    replaced = client.documents.replace_with_file(
        namespace, added.id, file=("c.txt", b"Bob drinks coffee now.", "text/plain"), task_type="superrag"
    )
    assert replaced.id == added.id
    document = wait_document_done(client, namespace, added.id)
    assert (document.content, document.metadata) == ("Bob drinks coffee now.", {})


def test_a_file_that_can_not_be_read_is_told_by_name_and_reason(client: Supermemory, namespace: str) -> None:
    added = client.documents.upload_file(namespace, file=("plan.pdf", b"%PDF-1.4 broken", "application/pdf"))
    document = poll_until(
        lambda: client.documents.get(namespace, added.id),
        lambda document: document.system.status == "failed",
        "failure",
    )
    assert document.title == "plan.pdf"
    assert "pdf" in document.system.error
    (listed,) = client.list(namespace, "documents").documents
    assert listed.system.model_dump()["error"] == document.system.error


def test_search_filters_limits_and_includes(client: Supermemory, namespace: str) -> None:
    for number in range(4):
        client.add(
            namespace,
            content=f"Garden note number {number}: the roses bloom.",
            id=f"n{number}",
            metadata={"number": number},
            task_type="superrag",
        )
    for number in range(4):
        wait_document_done(client, namespace, f"n{number}")
    found = client.search(
        namespace,
        query="When do the roses bloom?",
        search_mode="chunks",
        filter={"operator": "and", "operands": [{"field": "number", "operator": "gte", "value": 2}]},
        limit=10,
        include={"documents": True},
        rerank="order",
        rewrite_query=True,
    )
    assert sorted(_source_id(result) for result in found.results) == ["n2", "n3"]
    assert all(0 <= result.similarity <= 1 for result in found.results)
    assert len(client.search(namespace, query="roses", limit=1, threshold=0).results) == 1


def test_lists_have_pages_and_counts(client: Supermemory, namespace: str) -> None:
    _add_until_remembered(client, namespace)
    client.add(namespace, content="Bob likes tea.", id="tea", task_type="superrag")
    wait_document_done(client, namespace, "tea")
    page = client.list(namespace, "documents", page=2, limit=1, sort="createdAt", order="asc")
    assert [document.id for document in page.documents] == ["tea"]
    assert (page.pagination.total_items, page.pagination.total_pages) == (2, 2)
    assert client.list(namespace, "chunks").pagination.total_items == 2
    memories = client.list(namespace, "memories").memories
    assert memories
    counts = client.content_management.post_ns_by_namespace_list_documents_memory_counts(
        namespace, ids=["note", "tea", "unknown"]
    )
    assert {row.id: row.memory_count for row in counts.counts} == {"note": len(memories), "tea": 0}


def test_memories_are_read_and_forgotten(client: Supermemory, namespace: str) -> None:
    _add_until_remembered(client, namespace)
    first, *others = client.list(namespace, "memories").memories
    read = client.memories.get(namespace, first.id, include=["related", "documents"], related_limit=5)
    assert read.memory == first.memory
    assert read.included.document.id == "note"
    tried = client.memories.forget_matching(namespace, query=first.memory, dry_run=True)
    assert first.id in [match.id for match in tried.matches]
    assert client.memories.forget(namespace, ids=[first.id]).count == 1
    remaining = client.list(namespace, "memories").memories
    assert [memory.id for memory in remaining] == [memory.id for memory in others]
    kept = client.list(namespace, "memories", include={"forgotten": True}).memories
    assert first.id in [memory.id for memory in kept if memory.is_forgotten]


def test_a_profile_tells_what_is_known(client: Supermemory, namespace: str) -> None:
    _add_until_remembered(client, namespace)
    profile = client.profile(namespace).profile
    facts = " ".join(fact.memory for fact in [*profile.static, *profile.dynamic])
    assert "Lisbon" in facts
    assert "cello" in facts


def test_buckets_are_set_read_and_deleted(client: Supermemory, namespace: str) -> None:
    client.add(namespace, content=LISBON, task_type="superrag")
    buckets = {"music": "What someone plays or listens to"}
    assert client.profiles.set_buckets(namespace, buckets=buckets).buckets.items() >= buckets.items()
    assert client.profiles.get_buckets(namespace).buckets.items() >= buckets.items()
    assert list(client.profile(namespace, buckets=["music"]).profile.buckets) == ["music"]
    assert client.profiles.delete_buckets(namespace, buckets=["music", "unknown"]).buckets.keys().isdisjoint(buckets)


def test_namespaces_are_described_moved_and_deleted(client: Supermemory, namespace: str) -> None:
    target = f"{namespace}-target"
    client.add(namespace, content=LISBON, id="note", task_type="superrag")
    client.add(target, content="Bob likes tea.", id="tea", task_type="superrag")
    wait_document_done(client, namespace, "note")
    wait_document_done(client, target, "tea")
    client.namespaces.update(namespace, supporting_context="Letters of a friend")
    assert client.namespaces.get(namespace).supporting_context == "Letters of a friend"
    assert client.namespaces.list(q=namespace).namespaces

    client.namespaces.delete(namespace, move_to=target)
    moved = poll_until(lambda: client.list(target, "documents").documents, lambda found: len(found) == 2, "the move")
    assert {document.id for document in moved} == {"note", "tea"}
    assert client.search(target, query="Where does Alice live?").results

    client.namespaces.delete(target)
    with pytest.raises(NotFoundError):
        client.namespaces.get(target)
    assert client.list(target, "documents").documents == []


def test_the_organization_has_a_context(client: Supermemory) -> None:
    client.organization.update(organizational_context="A music school.")
    assert client.organization.get().organizational_context == "A music school."
    client.organization.update(organizational_context=None)
    assert client.organization.get().organizational_context is None


def test_a_connector_is_made_changed_run_and_deleted(client: Supermemory, namespace: str) -> None:
    """The crawler may not visit this site, so that nothing leaves this machine."""
    connectors = client.connectors
    site = {"start_url": "http://127.0.0.1:1/", "crawl_depth": 2}
    connector = connectors.create(namespace, request={"provider": "web-crawler", "config": site})
    assert connector.authorization is None
    ended = poll_until(
        lambda: connectors.get(namespace, connector.id, include=["syncs"]),
        lambda shown: shown.latest_run is not None and shown.latest_run.system.status != "running",
        "the end of a run",
    )
    assert ended.config == {"startUrl": "http://127.0.0.1:1/", "crawlDepth": 2}
    assert ended.document_count == 0
    assert ended.syncs
    assert ended.syncs[0].trigger == "manual"
    assert [listed.id for listed in connectors.list(namespace).connectors] == [connector.id]
    assert connector.id in [listed.id for listed in connectors.list_all(limit=100).connectors]
    assert connectors.sync(namespace, connector.id).status == "queued"
    assert connectors.update(namespace, connector.id, document_limit=5).document_limit == 5
    assert connectors.delete(namespace, connector.id).deleted
    assert connectors.list(namespace).connectors == []


def test_a_provider_that_nobody_set_up_and_a_connector_nobody_made_are_refused(
    client: Supermemory, namespace: str
) -> None:
    connectors = client.connectors
    with pytest.raises(InternalServerError) as refused:
        connectors.create(namespace, request={"provider": "notion"})
    assert refused.value.status_code == 503
    with pytest.raises(NotFoundError):
        connectors.get(namespace, "unknown")
    with pytest.raises(APIStatusError, match=_NOT_HERE):
        connectors.update(namespace, "unknown", document_limit=5)
    with pytest.raises(APIStatusError, match=_NOT_HERE):
        connectors.sync(namespace, "unknown")
    with pytest.raises(APIStatusError, match=_NOT_HERE):
        connectors.delete(namespace, "unknown")


def test_feedback_is_taken(client: Supermemory) -> None:
    sent = client.feedback.post_feedback(type="docs", title="A page is missing", description="On tea.")
    assert sent.id
    assert sent.remaining >= 0


def test_bad_input_is_a_clear_error_and_the_next_call_works(client: Supermemory, namespace: str) -> None:
    for call in (
        lambda: client.search(namespace, query=""),
        lambda: client.search("a" * 101, query="tea"),
        lambda: client.documents.batch_add(namespace, documents=[{"content": "x"}] * 601),
        lambda: client.search(namespace, query="tea", limit=0),
    ):
        with pytest.raises(BadRequestError) as refused:
            call()
        assert refused.value.body
    assert client.search(namespace, query="tea").results == []


def test_a_bucket_of_the_organization_cannot_be_changed_below_it(
    server: Server, client: Supermemory, namespace: str
) -> None:
    client.add(namespace, content=LISBON, task_type="superrag")
    admin = httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.key}"})
    with admin:
        admin.put("/admin/buckets", json={"buckets": {"shared": "For all"}}).raise_for_status()
        with pytest.raises(ConflictError):
            client.profiles.set_buckets(namespace, buckets={"shared": "Mine"})
        admin.request("DELETE", "/admin/buckets", json={"buckets": ["shared"]}).raise_for_status()
