"""Documents over HTTP: every write is in the log, and every read shows it at once."""

import json
from typing import Any

import pytest

from schemas.events import DocumentSubmitted
from schemas.limits import MAX_INLINE_BYTES, MAX_METADATA_CHARS
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.table_rows import chunk, memory

pytestmark = pytest.mark.anyio

NOTE = {"content": "Ada lives in Berlin.", "id": "note"}


async def submissions(service: Service) -> list[DocumentSubmitted]:
    """Return the submissions in the log, by partition and offset."""
    return [
        DocumentSubmitted.model_validate_json(record.value)
        async for record in service.bus.read(DOCUMENTS_SUBMITTED.name)
    ]


async def test_a_document_is_found_the_moment_it_was_accepted(client: ContractClient) -> None:
    assert await client.ok("POST", "/ns/alice/document", NOTE) == {"id": "note", "status": "queued"}
    read = await client.ok("GET", "/ns/alice/document/note")
    assert read["system"]["status"] == "queued"
    assert read["system"]["dreamingStatus"] == "dreaming"
    assert read["content"] is None
    assert read["metadata"] == {}
    assert "chunks" not in read
    assert "memories" not in read


async def test_a_document_for_search_only_forms_no_memories(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "taskType": "superrag"})
    read = await client.ok("GET", "/ns/alice/document/note")
    assert read["system"]["dreamingStatus"] == "done"


async def test_chunks_and_memories_are_there_when_asked_for_even_when_there_are_none(
    client: ContractClient,
) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    read = await client.ok("GET", "/ns/alice/document/note?include=chunks,memories")
    assert read["chunks"] == []
    assert read["memories"] == []


async def test_a_finished_document_shows_its_text_chunks_and_memories(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"lang": "en"}})
    await service.mark_documents_done("note", title="Note")
    await service.store_rows(
        chunk("note", 1), chunk("note", 0), memory("m1", "note"), memory("old", "note", is_latest=False)
    )
    read = await client.ok("GET", "/ns/alice/document/note?include=chunks&include=memories")
    assert (read["content"], read["title"]) == (NOTE["content"], "Note")
    assert [chunk["position"] for chunk in read["chunks"]] == [0, 1]
    assert [memory["id"] for memory in read["memories"]] == ["m1"]
    assert read["chunks"][0]["metadata"] == read["memories"][0]["metadata"] == {"lang": "en"}


async def test_an_id_may_hold_slashes(client: ContractClient) -> None:
    for public in ("s3://bucket/key", "a/b/c", "file/x"):
        await client.ok("POST", "/ns/alice/document", {**NOTE, "id": public})
        assert (await client.ok("GET", f"/ns/alice/document/{public}"))["id"] == public


async def test_an_id_that_begins_like_the_path_of_files_is_changed_as_json_and_as_a_file(
    client: ContractClient,
) -> None:
    for public in ("file/x", "file/file/x", "file", "batch"):
        body = {**NOTE, "id": public}
        await client.ok("POST", "/ns/alice/document", body)
        path = f"/ns/alice/document/{public}"
        changed = await client.ok("PATCH", path, {"metadata": {"a": 1}})
        assert changed["id"] == public
        form = {"metadata": '{"b": 2}'}
        files = {"file": ("a.txt", b"Ada.")}
        changed = await client.ok("PATCH", f"/ns/alice/document/file/{public}", files=files, data=form)
        assert changed["id"] == public
        assert (await client.ok("GET", path))["metadata"] == {"a": 1, "b": 2}
        await client.ok("POST", f"/ns/alice/document/file/{public}", files=files)
        assert (await client.ok("GET", path))["metadata"] == {}
        deleted = await client.ok("DELETE", "/ns/alice/document", {"ids": [public]})
        assert deleted == {"count": 1, "errors": []}
        await client.fails(404, "PATCH", path, {"metadata": {"a": 1}})


async def test_metadata_that_grows_beyond_its_bound_change_by_change_is_refused(
    client: ContractClient,
) -> None:
    large = "x" * (MAX_METADATA_CHARS // 2)
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"a": large}})
    path = "/ns/alice/document/note"
    refused = await client.fails(400, "PATCH", path, {"metadata": {"b": large}})
    assert "65,536" in refused["details"]
    files = {"file": ("a.txt", b"Ada.")}
    form = {"metadata": json.dumps({"b": large})}
    await client.fails(400, "PATCH", "/ns/alice/document/file/note", files=files, data=form)
    await client.fails(400, "POST", "/ns/alice/document", {**NOTE, "metadata": {"b": large}})
    batch = {"documents": [{**NOTE, "metadata": {"b": large}}, {"content": "Ada.", "id": "good"}]}
    answer = await client.ok("POST", "/ns/alice/document/batch", batch)
    assert [(result["id"], result["status"]) for result in answer["results"]] == [
        ("good", "queued"),
        ("note", "error"),
    ]
    assert (answer["count"], answer["failed"]) == (1, 1)
    await client.ok("PATCH", path, {"metadata": {"a": "short"}})
    await client.ok("PATCH", path, {"metadata": {"b": large}})
    assert (await client.ok("GET", path))["metadata"] == {"a": "short", "b": large}


async def test_an_id_is_found_in_its_own_namespace_only(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("POST", "/ns/bob/document", {"content": "Bob."})
    await client.fails(404, "GET", "/ns/bob/document/note")
    await client.fails(404, "GET", "/ns/nobody/document/note")


async def test_a_large_text_goes_to_the_blobs_before_its_event_points_to_it(
    service: Service, client: ContractClient
) -> None:
    text = "Ada. " * MAX_INLINE_BYTES
    await client.ok("POST", "/ns/alice/document", {"content": text, "id": "long"})
    (event,) = await submissions(service)
    assert event.content is not None
    assert event.content.text is None
    assert await service.state.blobs.load_text(event.content) == text


async def test_metadata_keeps_its_types(client: ContractClient) -> None:
    metadata = {"s": "é\u2028", "n": 1.5, "i": 2**53, "b": True, "l": ["x", "y"], "a.b": "'\";--"}
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": metadata})
    assert (await client.ok("GET", "/ns/alice/document/note"))["metadata"] == metadata


async def test_a_patch_without_content_leaves_the_content_alone(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await service.mark_documents_done("note")
    changed = await client.ok("PATCH", "/ns/alice/document/note", {"metadata": {"a": 1}})
    assert changed == {"id": "note", "status": "done"}
    assert (await client.ok("GET", "/ns/alice/document/note"))["metadata"] == {"a": 1}


async def test_a_patch_with_content_queues_the_document_again(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await service.mark_documents_done("note")
    assert (await client.ok("PATCH", "/ns/alice/document/note", {"content": "New."}))["status"] == "queued"


@pytest.mark.parametrize("body", [{}, {"taskType": "memory"}, {"dreaming": "instant"}, {"content": None}])
async def test_a_patch_that_changes_nothing_is_refused(client: ContractClient, body: dict[str, Any]) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.fails(400, "PATCH", "/ns/alice/document/note", body)


async def test_a_patch_of_an_unknown_document_is_not_found(client: ContractClient) -> None:
    await client.fails(404, "PATCH", "/ns/alice/document/nope", {"content": "x"})


async def test_a_batch_is_one_write_to_the_log(service: Service, client: ContractClient) -> None:
    before = service.bus.transaction_count
    documents = [{"content": f"Document {number}"} for number in range(600)]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert (answer["count"], answer["failed"]) == (600, 0)
    assert len({result["id"] for result in answer["results"]}) == 600
    assert service.bus.transaction_count - before == 2  # the namespace, and the documents
    assert (await client.ok("POST", "/ns/alice/list/documents"))["pagination"]["totalItems"] == 600


async def test_a_batch_answers_accepted_documents_first_then_those_that_failed(
    client: ContractClient,
) -> None:
    documents = [
        {"content": " ", "id": "empty"},
        {"content": "a", "id": "1"},
        {"content": ""},
        {"content": "b", "id": "2"},
    ]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert [(result["id"], result["status"]) for result in answer["results"]] == [
        ("1", "queued"), ("2", "queued"), ("empty", "error"), ("", "error")
    ]  # fmt: skip
    assert (answer["count"], answer["failed"]) == (2, 2)
    assert "empty" in answer["results"][2]["details"]


async def test_a_batch_of_failures_only_begins_no_namespace(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document/batch", {"documents": [{"content": "\n"}]})
    await client.fails(404, "GET", "/ns/alice")


async def test_the_same_id_twice_in_a_batch_is_taken_in_order(service: Service, client: ContractClient) -> None:
    documents = [{"content": "a", "id": "x"}, {"content": "b", "id": "x"}, {"content": "b", "id": "x"}]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert [result["id"] for result in answer["results"]] == ["x", "x", "x"]
    assert [event.content.text for event in await submissions(service) if event.content] == ["a", "b"]


async def test_a_deleted_document_takes_its_chunks_and_memories_along(service: Service, client: ContractClient) -> None:
    for public in ("one", "two"):
        await client.ok("POST", "/ns/alice/document", {"content": public, "id": public})
    await service.store_rows(chunk("one"), chunk("two"), memory("only", "one"), memory("both", "one", "two"))
    deleted = await client.ok("DELETE", "/ns/alice/document", {"ids": ["one", "nope", "one"]})
    assert deleted["count"] == 1
    assert [error["id"] for error in deleted["errors"]] == ["nope"]
    await client.fails(404, "GET", "/ns/alice/document/one")
    await client.fails(404, "GET", "/ns/alice/memories/only")
    listed = [
        (await client.ok("POST", f"/ns/alice/list/{kind}"))["pagination"]["totalItems"]
        for kind in ("documents", "chunks", "memories")
    ]
    assert listed == [1, 1, 1]
    assert (await client.ok("GET", "/ns"))["namespaces"][0]["documentCount"] == 1
    assert (await client.ok("GET", "/ns"))["namespaces"][0]["memoryCount"] == 1


async def test_a_deleted_document_may_come_back(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("DELETE", "/ns/alice/document", {"ids": ["note"]})
    await client.ok("POST", "/ns/alice/document", NOTE)
    assert (await client.ok("GET", "/ns/alice/document/note"))["system"]["status"] == "queued"


@pytest.mark.parametrize("content", ["", " \n\t ", "\x00", "a\x00b"])
async def test_content_that_says_nothing_or_is_no_text_is_refused(client: ContractClient, content: str) -> None:
    await client.fails(400, "POST", "/ns/alice/document", {"content": content})


async def test_a_failed_document_says_why_in_lists_too(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    read = await client.ok("GET", "/ns/alice/document/note")
    assert "error" not in read["system"]
    await service.mark_documents_done("note", status="failed", error="The file is protected by a password.")
    read = await client.ok("GET", "/ns/alice/document/note")
    (listed,) = (await client.ok("POST", "/ns/alice/list/documents"))["documents"]
    for shown in (read, listed):
        assert shown["system"]["error"] == "The file is protected by a password."
        assert shown["metadata"] == {}


async def test_a_file_goes_by_its_name_until_a_title_is_found_in_it(service: Service, client: ContractClient) -> None:
    added = await client.ok("POST", "/ns/alice/document/file", files={"file": ("plan.pdf", b"%PDF")})
    assert (await client.ok("GET", f"/ns/alice/document/{added['id']}"))["title"] == "plan.pdf"
    await service.mark_documents_done(added["id"], title="The plan")
    assert (await client.ok("GET", f"/ns/alice/document/{added['id']}"))["title"] == "The plan"


async def test_a_patch_that_changes_nothing_leaves_no_trace(service: Service, client: ContractClient) -> None:
    body = {"metadata": {"a": 1}, "date": "2024", "supportingContext": "s", "group": {"g": 1}}
    await client.ok("POST", "/ns/alice/document", {**NOTE, **body})
    await service.mark_documents_done("note")
    before = await client.ok("GET", "/ns/alice/document/note")
    service.clock.advance(1)
    changes: list[dict[str, Any]] = [body, {"content": NOTE["content"]}, {"metadata": {}}]
    for patch in changes:
        answer = await client.ok("PATCH", "/ns/alice/document/note", patch)
        assert answer == {"id": "note", "status": "done"}
    assert await client.ok("GET", "/ns/alice/document/note") == before
    assert len(await submissions(service)) == 1


async def test_a_patch_with_what_was_appended_last_still_replaces_the_whole(
    service: Service, client: ContractClient
) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("POST", "/ns/alice/document", {"content": "More.", "id": "note"})
    await service.mark_documents_done("note", text="Ada lives in Berlin.\n\nMore.")
    answer = await client.ok("PATCH", "/ns/alice/document/note", {"content": "More."})
    assert answer["status"] == "queued"
    assert (await submissions(service))[-1].operation == "patch"


async def test_an_empty_value_in_a_patch_clears(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "date": "2024", "supportingContext": "s"})
    await client.ok("PATCH", "/ns/alice/document/note", {"date": "", "supportingContext": ""})
    (row,) = (await service.store.documents.find_by_public_id(["alice#0"], ["note"])).values()
    assert (row.date, row.supporting_context) == ("", "")


async def test_many_empty_metadata_values_are_refused(client: ContractClient) -> None:
    tags: dict[str, list[str]] = {"tags": [""] * MAX_METADATA_CHARS}
    for metadata in (tags, {str(number): [""][:0] for number in range(MAX_METADATA_CHARS)}):
        await client.fails(400, "POST", "/ns/alice/document", {**NOTE, "metadata": metadata})
        form = {"metadata": json.dumps(metadata)}
        await client.fails(400, "POST", "/ns/alice/document/file", files={"file": ("a.txt", b"Ada.")}, data=form)
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"tags": [""] * 1000}})


async def test_a_document_does_not_grow_by_empty_metadata_values(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"a": [""] * 40_000}})
    await client.fails(400, "PATCH", "/ns/alice/document/note", {"metadata": {"b": [""] * 40_000}})


async def test_a_body_with_repeated_keys_is_refused(client: ContractClient) -> None:
    body = b'{"content": "Ada.", "metadata": {"a": 1, "a": 2}}'
    answer = await client("POST", "/ns/alice/document", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, "the key 'a' occurs twice" in answer.json()["error"]) == (400, True)
    form = {"metadata": '{"a": 1, "a": 2}'}
    await client.fails(400, "POST", "/ns/alice/document/file", files={"file": ("a.txt", b"Ada.")}, data=form)


@pytest.mark.parametrize("name", [".", ".."])
async def test_ids_that_clients_remove_from_a_path_are_refused(client: ContractClient, name: str) -> None:
    await client.fails(400, "POST", "/ns/alice/document", {**NOTE, "id": name})
    await client.fails(400, "POST", "/ns/alice/document/batch", {"documents": [{**NOTE, "id": name}]})
    for path, field in (("/v3/documents", "customId"), ("/v4/conversations", "conversationId")):
        body = {field: name, "content": "Ada.", "messages": [{"role": "user", "content": "Ada."}]}
        assert (await client("POST", path, body)).status_code == 400
    await client.fails(404, "GET", "/ns/alice/document/%2e%2e")


@pytest.mark.parametrize(
    "url", ["https://ada:secret@example.org/", " HTTP://ada@example.org ", "https://ada:se\\@example.org/a?b#c"]
)
async def test_a_url_with_a_password_is_refused_before_it_is_stored(url: str, client: ContractClient) -> None:
    answer = await client.fails(400, "POST", "/ns/alice/document", {"content": url})
    assert "before the @" in answer["details"]
    batch = {"documents": [{"content": url}, {"content": "Write to ada@example.org, see https://example.org/@ada."}]}
    results = (await client.ok("POST", "/ns/alice/document/batch", batch))["results"]
    assert sorted(result["status"] for result in results) == ["error", "queued"]
    await client.fails(400, "POST", "/v3/documents", {"content": url, "containerTag": "alice"})


async def test_a_url_with_an_at_sign_in_its_path_is_taken(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"content": "https://example.org/@ada"})


@pytest.mark.parametrize("date", ["yesterday", "01/03/2024", "2024-13-01", "9999-12-31"])
async def test_a_date_that_cannot_be_read_is_refused(client: ContractClient, date: str) -> None:
    for method, path in (("POST", "/ns/alice/document"), ("PATCH", "/ns/alice/document/note")):
        answer = await client.fails(400, method, path, {"content": "x", "date": date})
        assert "ISO 8601" in json.dumps(answer)
    await client.fails(400, "POST", "/v3/documents", {"content": "x", "documentDate": date})
