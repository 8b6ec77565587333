"""Decisions on points that the contract leaves open; each test name is the decision."""

from typing import Any

import pytest

from tests.api.conftest import Service
from tests.api.routes.v5.test_document_routes import submissions
from tests.support.contract_client import ContractClient, contract_document
from tests.support.table_rows import chunk, memory

pytestmark = pytest.mark.anyio

DOCUMENT = "/ns/alice/document"


async def test_the_public_document_id_is_the_callers_id_where_one_was_given(client: ContractClient) -> None:
    assert (await client.ok("POST", DOCUMENT, {"content": "x", "id": "mine"}))["id"] == "mine"
    assert (await client.ok("POST", "/ns/alice/list/documents"))["documents"][0]["id"] == "mine"
    assert (await client.ok("GET", f"{DOCUMENT}/mine"))["id"] == "mine"


async def test_without_one_the_id_comes_from_the_content_so_a_blind_retry_changes_nothing(
    service: Service, client: ContractClient
) -> None:
    body = {"content": "x", "metadata": {"a": 1, "b": [" "]}, "date": "2024-05-01"}
    first = await client.ok("POST", DOCUMENT, body)
    assert await client.ok("POST", DOCUMENT, body) == first
    assert len(await submissions(service)) == 1
    for other in ({"content": "y"}, {"metadata": {"a": 2}}, {"date": "2024-05-02"}):
        assert (await client.ok("POST", DOCUMENT, {**body, **other}))["id"] != first["id"]
    assert (await client.ok("POST", "/ns/bob/document", body))["id"] != first["id"]


async def test_post_with_an_existing_id_appends(service: Service, client: ContractClient) -> None:
    await client.ok("POST", DOCUMENT, {"content": "One.", "id": "x"})
    await service.mark_documents_done("x")
    assert (await client.ok("POST", DOCUMENT, {"content": "Two.", "id": "x"}))["status"] == "queued"
    assert [event.operation for event in await submissions(service)] == ["add", "add"]


async def test_unchanged_content_does_no_work_and_answers_the_current_status(
    service: Service, client: ContractClient
) -> None:
    body = {"content": "One.", "id": "x", "metadata": {"a": 1}}
    await client.ok("POST", DOCUMENT, body)
    assert (await client.ok("POST", DOCUMENT, body))["status"] == "queued"
    await service.mark_documents_done("x")
    assert await client.ok("POST", DOCUMENT, body) == {"id": "x", "status": "done"}
    assert len(await submissions(service)) == 1


async def test_unchanged_content_with_new_metadata_changes_only_the_metadata(
    service: Service, client: ContractClient
) -> None:
    await client.ok("POST", DOCUMENT, {"content": "One.", "id": "x", "metadata": {"a": True}})
    await service.mark_documents_done("x")
    again = await client.ok("POST", DOCUMENT, {"content": "One.", "id": "x", "metadata": {"a": 1}})
    assert again["status"] == "done"
    assert (await client.ok("GET", f"{DOCUMENT}/x"))["metadata"] == {"a": 1}


async def test_content_that_failed_is_tried_again_when_it_is_sent_again(
    service: Service, client: ContractClient
) -> None:
    body = {"content": "https://example.org/", "id": "x"}
    await client.ok("POST", DOCUMENT, body)
    await service.mark_documents_done("x", status="failed", error="It timed out.", text=None, text_seq=-1)
    assert (await client.ok("POST", DOCUMENT, body))["status"] == "queued"


async def test_patch_content_replaces(service: Service, client: ContractClient) -> None:
    await client.ok("POST", DOCUMENT, {"content": "One.", "id": "x"})
    await client.ok("PATCH", f"{DOCUMENT}/x", {"content": "Two."})
    assert [event.operation for event in await submissions(service)] == ["add", "patch"]


async def test_patch_metadata_merges_key_by_key(client: ContractClient) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x", "metadata": {"a": 1, "b": 1}})
    await client.ok("PATCH", f"{DOCUMENT}/x", {"metadata": {"b": 2, "c": 2}})
    assert (await client.ok("GET", f"{DOCUMENT}/x"))["metadata"] == {"a": 1, "b": 2, "c": 2}


async def test_post_document_file_replaces_everything(service: Service, client: ContractClient) -> None:
    body = {
        "content": "x",
        "id": "x",
        "metadata": {"a": 1},
        "date": "2024",
        "supportingContext": "s",
        "group": {"g": 1},
    }
    await client.ok("POST", DOCUMENT, body)
    await client.ok("POST", f"{DOCUMENT}/file/x", files={"file": ("a.txt", b"new")})
    (row,) = (await service.store.documents.find_by_public_id(["alice#0"], ["x"])).values()
    assert (row.metadata, row.date, row.supporting_context, row.group_metadata) == ({}, None, None, None)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ({"operator": "neq", "value": "x"}, {"none", "number", "true", "list"}),
        ({"operator": "notContains", "value": "x"}, {"none", "number", "true", "list"}),
        ({"operator": "arrayNotContains", "value": "x"}, {"none", "string", "number", "true"}),
        ({"operator": "eq", "value": "x"}, {"string"}),
        ({"operator": "eq", "value": 1}, {"number"}),
        ({"operator": "eq", "value": True}, {"true"}),
    ],
)
async def test_negations_match_items_that_lack_the_key_eq_no_array_and_types_never_mix(
    client: ContractClient, expression: dict[str, Any], found: set[str]
) -> None:
    values = {"none": {}, "string": {"k": "x"}, "number": {"k": 1}, "true": {"k": True}, "list": {"k": ["x"]}}
    documents = [{"content": name, "id": name, "metadata": metadata} for name, metadata in values.items()]
    await client.ok("POST", f"{DOCUMENT}/batch", {"documents": documents})
    listed = await client.ok("POST", "/ns/alice/list/documents", {"filter": {"field": "k", **expression}})
    assert {document["id"] for document in listed["documents"]} == found


async def test_chunks_and_memories_are_matched_on_their_documents_metadata(
    service: Service, client: ContractClient
) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x", "metadata": {"k": "v"}})
    await client.ok("POST", DOCUMENT, {"content": "y", "id": "y"})
    await service.store_rows(chunk("x"), chunk("y"), memory("mx", "x"), memory("my", "y"))
    body = {"filter": {"field": "k", "operator": "eq", "value": "v"}}
    assert [chunk["documentId"] for chunk in (await client.ok("POST", "/ns/alice/list/chunks", body))["chunks"]] == [
        "x"
    ]
    assert [memory["id"] for memory in (await client.ok("POST", "/ns/alice/list/memories", body))["memories"]] == ["mx"]


async def test_search_list_profile_and_get_buckets_on_an_unknown_namespace_answer_200_and_empty(
    client: ContractClient,
) -> None:
    assert (await client.ok("POST", "/ns/nobody/search", {"query": "x"}))["results"] == []
    for kind in ("documents", "chunks", "memories"):
        listed = await client.ok("POST", f"/ns/nobody/list/{kind}")
        assert (listed[kind], listed["pagination"]["totalItems"]) == ([], 0)
    profile = await client.ok("POST", "/ns/nobody/profile", {"buckets": ["work"]})
    assert profile == {"profile": {"static": [], "dynamic": [], "buckets": {"work": []}}}
    assert await client.ok("GET", "/ns/nobody/profile/buckets") == {"buckets": {}}
    assert (await client.ok("POST", "/ns/nobody/list/documents/memory-counts", {"ids": ["x"]})) == {"counts": []}


async def test_get_patch_and_delete_of_an_unknown_namespace_answer_404(client: ContractClient) -> None:
    await client.fails(404, "GET", "/ns/nobody")
    await client.fails(404, "PATCH", "/ns/nobody", {"supportingContext": "x"})
    await client.fails(404, "DELETE", "/ns/nobody")


async def test_namespaces_begin_with_their_first_write(client: ContractClient) -> None:
    for method, path, body in (
        ("POST", "/ns/alice/search", {"query": "x"}),
        ("DELETE", DOCUMENT, {"ids": ["x"]}),
        ("DELETE", "/ns/alice/memories", {"ids": ["x"]}),
    ):
        await client.ok(method, path, body)
    await client.fails(404, "GET", "/ns/alice")
    await client.ok("POST", DOCUMENT, {"content": "x"})
    assert (await client.ok("GET", "/ns/alice"))["namespace"] == "alice"


@pytest.mark.parametrize(
    "include", ["include=chunks,memories", "include=chunks&include=memories", "include=chunks%2Cmemories"]
)
async def test_include_is_accepted_repeated_and_comma_separated(client: ContractClient, include: str) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x"})
    read = await client.ok("GET", f"{DOCUMENT}/x?{include}")
    assert {"chunks", "memories"} <= read.keys()


async def test_json_null_counts_as_absent_except_where_null_clears(client: ContractClient) -> None:
    names = ("id", "supportingContext", "metadata", "group", "date", "taskType", "dreaming")
    await client.ok("POST", DOCUMENT, {"content": "x", **dict.fromkeys(names)})
    await client.ok("POST", DOCUMENT, {"content": "y", "metadata": {"a": None, "b": 1}})
    await client.ok("POST", "/ns/alice/search", {"query": "x", "filter": None, "include": {"related": None}})
    await client.ok("POST", "/ns/alice/list/documents", {"filter": None, "include": None})
    await client.ok("PATCH", "/ns/alice", {"supportingContext": None})
    await client.ok("PATCH", "/organization", {"organizationalContext": None})


def test_there_is_no_204_anywhere() -> None:
    for item in contract_document()["paths"].values():
        for operation in item.values():
            assert "204" not in operation["responses"]


async def test_timestamps_end_with_z(client: ContractClient) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x"})
    system = (await client.ok("GET", f"{DOCUMENT}/x"))["system"]
    assert system["createdAt"] == system["updatedAt"] == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize("body", [{"moveTo": "bob"}, {}, []])
async def test_delete_of_a_namespace_with_a_body_is_a_400(client: ContractClient, body: Any) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x"})
    await client.fails(400, "DELETE", "/ns/alice", body)
    await client.ok("GET", f"{DOCUMENT}/x")


async def test_patch_of_a_document_that_is_still_processing_is_accepted_and_ordered_by_the_log(
    service: Service, client: ContractClient
) -> None:
    await client.ok("POST", DOCUMENT, {"content": "One.", "id": "x"})
    await client.ok("PATCH", f"{DOCUMENT}/x", {"content": "Two."})
    (row,) = (await service.store.documents.find_by_public_id(["alice#0"], ["x"])).values()
    assert row.content_seq == row.seq == 1
    assert row.source is not None
    assert row.source.text == "Two."


async def test_feedback_is_kept_on_this_deployment(client: ContractClient) -> None:
    body = {"type": "other", "title": "t", "description": "d", "contactEmail": "a.b@example.org"}
    answer = await client("POST", "/feedback", body)
    assert answer.status_code == 202
    assert answer.json()["id"].startswith("fb_")
