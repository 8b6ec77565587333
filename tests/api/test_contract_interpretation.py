"""Decisions where the contract is silent, as requests show them; what the pipeline shows is in tests/service."""

import pytest

from tests.api.conftest import Service
from tests.api.routes.v5.test_document_routes import submissions
from tests.support.contract_client import ContractClient, contract_document

pytestmark = pytest.mark.anyio

DOCUMENT = "/ns/alice/document"


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


def test_there_is_no_204_anywhere() -> None:
    for item in contract_document()["paths"].values():
        for operation in item.values():
            assert "204" not in operation["responses"]


async def test_timestamps_end_with_z(client: ContractClient) -> None:
    await client.ok("POST", DOCUMENT, {"content": "x", "id": "x"})
    system = (await client.ok("GET", f"{DOCUMENT}/x"))["system"]
    assert system["createdAt"] == system["updatedAt"] == "2026-01-01T00:00:00.000Z"


async def test_feedback_is_kept_on_this_deployment(client: ContractClient) -> None:
    body = {"type": "other", "title": "t", "description": "d", "contactEmail": "a.b@example.org"}
    answer = await client("POST", "/feedback", body)
    assert answer.status_code == 202
    assert answer.json()["id"].startswith("fb_")
