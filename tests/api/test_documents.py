"""Documents over HTTP: every write is in the log, and every read shows it at once."""

import json
from typing import Any

import pytest

from schemas.events import DocumentSubmitted
from schemas.limits import INLINE_BYTES, METADATA_BYTES
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.api.conftest import Service
from tests.api.rows import chunk, memory
from tests.contract import Client

pytestmark = pytest.mark.anyio

NOTE = {"content": "Ada lives in Berlin.", "id": "note"}


async def submissions(service: Service) -> list[DocumentSubmitted]:
    """What the log holds, in order of partition and offset."""
    return [
        DocumentSubmitted.model_validate_json(record.value)
        async for record in service.bus.read(DOCUMENTS_SUBMITTED.name)
    ]


async def test_a_document_is_found_the_moment_it_was_accepted(client: Client) -> None:
    assert await client.ok("POST", "/ns/alice/document", NOTE) == {"id": "note", "status": "queued"}
    read = await client.ok("GET", "/ns/alice/document/note")
    assert read["system"]["status"] == "queued"
    assert read["system"]["dreamingStatus"] == "dreaming"
    assert read["content"] is None
    assert read["metadata"] == {}
    assert "chunks" not in read
    assert "memories" not in read


async def test_a_document_for_search_only_forms_no_memories(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "taskType": "superrag"})
    read = await client.ok("GET", "/ns/alice/document/note")
    assert read["system"]["dreamingStatus"] == "done"


async def test_chunks_and_memories_are_there_when_asked_for_even_when_there_are_none(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    read = await client.ok("GET", "/ns/alice/document/note?include=chunks,memories")
    assert read["chunks"] == []
    assert read["memories"] == []


async def test_a_finished_document_shows_its_text_chunks_and_memories(
    service: Service, client: Client
) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"lang": "en"}})
    await service.finish("note", title="Note")
    await service.hold(
        chunk("note", 1), chunk("note", 0), memory("m1", "note"), memory("old", "note", is_latest=False)
    )
    read = await client.ok("GET", "/ns/alice/document/note?include=chunks&include=memories")
    assert (read["content"], read["title"]) == (NOTE["content"], "Note")
    assert [one["position"] for one in read["chunks"]] == [0, 1]
    assert [one["id"] for one in read["memories"]] == ["m1"]
    assert read["chunks"][0]["metadata"] == read["memories"][0]["metadata"] == {"lang": "en"}


async def test_an_id_may_hold_slashes(client: Client) -> None:
    for public in ("s3://bucket/key", "a/b/c", "file/x"):
        await client.ok("POST", "/ns/alice/document", {**NOTE, "id": public})
        assert (await client.ok("GET", f"/ns/alice/document/{public}"))["id"] == public


async def test_an_id_that_begins_like_the_path_of_files_is_changed_as_json_and_as_a_file(
    client: Client,
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
        gone = await client.ok("DELETE", "/ns/alice/document", {"ids": [public]})
        assert gone == {"count": 1, "errors": []}
        await client.refused(404, "PATCH", path, {"metadata": {"a": 1}})


async def test_metadata_that_grows_beyond_its_bound_change_by_change_is_refused(client: Client) -> None:
    large = "x" * (METADATA_BYTES // 2)
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": {"a": large}})
    path = "/ns/alice/document/note"
    refused = await client.refused(400, "PATCH", path, {"metadata": {"b": large}})
    assert "65,536" in refused["details"]
    files = {"file": ("a.txt", b"Ada.")}
    form = {"metadata": json.dumps({"b": large})}
    await client.refused(400, "PATCH", "/ns/alice/document/file/note", files=files, data=form)
    await client.refused(400, "POST", "/ns/alice/document", {**NOTE, "metadata": {"b": large}})
    batch = {"documents": [{**NOTE, "metadata": {"b": large}}, {"content": "Ada.", "id": "good"}]}
    answer = await client.ok("POST", "/ns/alice/document/batch", batch)
    assert [(one["id"], one["status"]) for one in answer["results"]] == [
        ("good", "queued"),
        ("note", "error"),
    ]
    assert (answer["count"], answer["failed"]) == (1, 1)
    await client.ok("PATCH", path, {"metadata": {"a": "short"}})
    await client.ok("PATCH", path, {"metadata": {"b": large}})
    assert (await client.ok("GET", path))["metadata"] == {"a": "short", "b": large}


async def test_an_id_is_found_in_its_own_namespace_only(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("POST", "/ns/bob/document", {"content": "Bob."})
    await client.refused(404, "GET", "/ns/bob/document/note")
    await client.refused(404, "GET", "/ns/nobody/document/note")


async def test_a_large_text_goes_to_the_blobs_before_its_event_points_to_it(
    service: Service, client: Client
) -> None:
    text = "Ada. " * INLINE_BYTES
    await client.ok("POST", "/ns/alice/document", {"content": text, "id": "long"})
    (event,) = await submissions(service)
    assert event.content is not None
    assert event.content.text is None
    assert await service.state.blobs.text(event.content) == text


async def test_metadata_keeps_its_types(client: Client) -> None:
    metadata = {"s": "é\u2028", "n": 1.5, "i": 2**53, "b": True, "l": ["x", "y"], "a.b": "'\";--"}
    await client.ok("POST", "/ns/alice/document", {**NOTE, "metadata": metadata})
    assert (await client.ok("GET", "/ns/alice/document/note"))["metadata"] == metadata


async def test_a_patch_without_content_leaves_the_content_alone(service: Service, client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await service.finish("note")
    changed = await client.ok("PATCH", "/ns/alice/document/note", {"metadata": {"a": 1}})
    assert changed == {"id": "note", "status": "done"}
    assert (await client.ok("GET", "/ns/alice/document/note"))["metadata"] == {"a": 1}


async def test_a_patch_with_content_queues_the_document_again(service: Service, client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await service.finish("note")
    assert (await client.ok("PATCH", "/ns/alice/document/note", {"content": "New."}))["status"] == "queued"


@pytest.mark.parametrize("body", [{}, {"taskType": "memory"}, {"dreaming": "instant"}, {"content": None}])
async def test_a_patch_that_changes_nothing_is_refused(client: Client, body: dict[str, Any]) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.refused(400, "PATCH", "/ns/alice/document/note", body)


async def test_a_patch_of_an_unknown_document_is_not_found(client: Client) -> None:
    await client.refused(404, "PATCH", "/ns/alice/document/nope", {"content": "x"})


async def test_a_batch_is_one_write_to_the_log(service: Service, client: Client) -> None:
    before = service.bus.transactions
    documents = [{"content": f"Document {number}"} for number in range(600)]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert (answer["count"], answer["failed"]) == (600, 0)
    assert len({one["id"] for one in answer["results"]}) == 600
    assert service.bus.transactions - before == 2  # the namespace, and the documents
    assert (await client.ok("POST", "/ns/alice/list/documents"))["pagination"]["totalItems"] == 600


async def test_a_batch_answers_accepted_documents_first_then_those_that_failed(client: Client) -> None:
    documents = [
        {"content": " ", "id": "empty"},
        {"content": "a", "id": "1"},
        {"content": ""},
        {"content": "b", "id": "2"},
    ]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert [(one["id"], one["status"]) for one in answer["results"]] == [
        ("1", "queued"), ("2", "queued"), ("empty", "error"), ("", "error")
    ]  # fmt: skip
    assert (answer["count"], answer["failed"]) == (2, 2)
    assert "empty" in answer["results"][2]["details"]


async def test_a_batch_of_failures_only_begins_no_namespace(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document/batch", {"documents": [{"content": "\n"}]})
    await client.refused(404, "GET", "/ns/alice")


async def test_the_same_id_twice_in_a_batch_is_taken_in_order(service: Service, client: Client) -> None:
    documents = [{"content": "a", "id": "x"}, {"content": "b", "id": "x"}, {"content": "b", "id": "x"}]
    answer = await client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
    assert [one["id"] for one in answer["results"]] == ["x", "x", "x"]
    assert [event.content.text for event in await submissions(service) if event.content] == ["a", "b"]


async def test_a_deleted_document_takes_its_chunks_and_memories_along(
    service: Service, client: Client
) -> None:
    for public in ("one", "two"):
        await client.ok("POST", "/ns/alice/document", {"content": public, "id": public})
    await service.hold(chunk("one"), chunk("two"), memory("only", "one"), memory("both", "one", "two"))
    gone = await client.ok("DELETE", "/ns/alice/document", {"ids": ["one", "nope", "one"]})
    assert gone["count"] == 1
    assert [error["id"] for error in gone["errors"]] == ["nope"]
    await client.refused(404, "GET", "/ns/alice/document/one")
    await client.refused(404, "GET", "/ns/alice/memories/only")
    listed = [
        (await client.ok("POST", f"/ns/alice/list/{kind}"))["pagination"]["totalItems"]
        for kind in ("documents", "chunks", "memories")
    ]
    assert listed == [1, 1, 1]
    assert (await client.ok("GET", "/ns"))["namespaces"][0]["documentCount"] == 1
    assert (await client.ok("GET", "/ns"))["namespaces"][0]["memoryCount"] == 1


async def test_a_deleted_document_may_come_back(client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("DELETE", "/ns/alice/document", {"ids": ["note"]})
    await client.ok("POST", "/ns/alice/document", NOTE)
    assert (await client.ok("GET", "/ns/alice/document/note"))["system"]["status"] == "queued"


@pytest.mark.parametrize("content", ["", " \n\t ", "\x00", "a\x00b"])
async def test_content_that_says_nothing_or_is_no_text_is_refused(client: Client, content: str) -> None:
    await client.refused(400, "POST", "/ns/alice/document", {"content": content})


async def test_a_failed_document_says_why_in_lists_too(service: Service, client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    read = await client.ok("GET", "/ns/alice/document/note")
    assert "error" not in read["system"]
    await service.finish("note", status="failed", error="The file is protected by a password.")
    read = await client.ok("GET", "/ns/alice/document/note")
    (listed,) = (await client.ok("POST", "/ns/alice/list/documents"))["documents"]
    for shown in (read, listed):
        assert shown["system"]["error"] == "The file is protected by a password."
        assert shown["metadata"] == {}


async def test_a_file_goes_by_its_name_until_a_title_is_found_in_it(service: Service, client: Client) -> None:
    added = await client.ok("POST", "/ns/alice/document/file", files={"file": ("plan.pdf", b"%PDF")})
    assert (await client.ok("GET", f"/ns/alice/document/{added['id']}"))["title"] == "plan.pdf"
    await service.finish(added["id"], title="The plan")
    assert (await client.ok("GET", f"/ns/alice/document/{added['id']}"))["title"] == "The plan"


async def test_a_patch_that_changes_nothing_leaves_no_trace(service: Service, client: Client) -> None:
    body = {"metadata": {"a": 1}, "date": "2024", "supportingContext": "s", "group": {"g": 1}}
    await client.ok("POST", "/ns/alice/document", {**NOTE, **body})
    await service.finish("note")
    before = await client.ok("GET", "/ns/alice/document/note")
    service.clock.advance(1)
    changes: list[dict[str, Any]] = [body, {"content": NOTE["content"]}, {"metadata": {}}]
    for patch in changes:
        answer = await client.ok("PATCH", "/ns/alice/document/note", patch)
        assert answer == {"id": "note", "status": "done"}
    assert await client.ok("GET", "/ns/alice/document/note") == before
    assert len(await submissions(service)) == 1


async def test_a_patch_with_what_was_appended_last_still_replaces_the_whole(
    service: Service, client: Client
) -> None:
    await client.ok("POST", "/ns/alice/document", NOTE)
    await client.ok("POST", "/ns/alice/document", {"content": "More.", "id": "note"})
    await service.finish("note", text="Ada lives in Berlin.\n\nMore.")
    answer = await client.ok("PATCH", "/ns/alice/document/note", {"content": "More."})
    assert answer["status"] == "queued"
    assert (await submissions(service))[-1].operation == "patch"


async def test_an_empty_value_in_a_patch_clears(service: Service, client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", {**NOTE, "date": "2024", "supportingContext": "s"})
    await client.ok("PATCH", "/ns/alice/document/note", {"date": "", "supportingContext": ""})
    (row,) = (await service.store.documents.find(["alice#0"], ["note"])).values()
    assert (row.date, row.supporting_context) == ("", "")
