"""The interfaces v3 and v4: every answer has its published shape, and operations do what they say."""

import json
import re
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from tests.support.service_world import ADMIN, RunningService, wait_until

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parents[1] / "data"


@cache
def published_responses() -> dict[str, dict[str, Any]]:
    """Schemas of successful answers, by operation and status."""
    read: dict[str, dict[str, Any]] = json.loads((DATA / "v3v4-responses.json").read_text())
    return read


def published_schemas(method: str, path: str) -> dict[str, Any]:
    """The schemas of an operation by status; literal paths win over those with parameters."""
    names = sorted(published_responses(), key=lambda name: name.count("{"))
    for name in names:
        operation, _, template = name.partition(" ")
        if operation == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return published_responses()[name]
    raise AssertionError(f"{method} {path} is not published")


class EarlierInterface:
    """Requests whose answers must have the published shape."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def __call__(self, method: str, path: str, body: Any = None) -> Any:
        response = await self._send(method, path, body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        schema = published_schemas(method, path.partition("?")[0])[str(response.status_code)]
        if response.status_code == 204:
            return None
        found = () if schema is None else _errors(schema, response.json())
        errors = [f"{error.instance_path}: {error.message}" for error in found]
        assert not errors, f"{method} {path}: {response.text[:500]}: {errors}"
        return response.json()

    async def refused(self, status: int, method: str, path: str, body: Any = None) -> str:
        """The reason of an answer that must be this failure."""
        response = await self._send(method, path, body)
        assert response.status_code == status, f"{method} {path}: {response.status_code} {response.text}"
        body = response.json()
        assert body.keys() == {"error", "details"}
        return f"{body['error']}: {body['details']}"

    async def reason_of_forgetting(self, namespace: str, memory: str) -> str | None:
        """The reason that is kept with a forgotten memory."""
        response = await self._send("GET", f"/ns/{namespace}/explain/memories/{memory}", None)
        reason: str | None = response.json()["forgetReason"]
        return reason

    async def until(self, path: str, condition: Callable[[Any], bool]) -> dict[str, Any]:
        """The answer of a GET once it is as expected."""

        async def read() -> dict[str, Any] | None:
            answer: dict[str, Any] = await self("GET", path)
            return answer if condition(answer) else None

        answer = await wait_until(read, f"{path} as expected")
        assert answer is not None
        return answer

    async def _send(self, method: str, path: str, body: Any) -> httpx2.Response:
        options = {} if body is None else {"json": body}
        return await self._http.request(method, path, **options)


def _errors(schema: dict[str, Any], body: Any) -> Any:
    return jsonschema_rs.validator_for(schema, validate_formats=True).iter_errors(body)


@pytest.fixture
async def call(service: RunningService) -> AsyncIterator[EarlierInterface]:
    """The service, asked over v3 and v4 with the admin key."""
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(service.app), base_url="http://test", headers=headers
    ) as http:
        yield EarlierInterface(http)


async def wait_until_done(call: EarlierInterface, document: str) -> dict[str, Any]:
    """The document when it can be found and its memories are formed."""
    return await call.until(
        f"/v3/documents/{document}", lambda read: read["status"] == "done" and read["dreamingStatus"] == "done"
    )


async def test_documents_are_added_found_changed_and_deleted(call: EarlierInterface, ns: str) -> None:
    body = {
        "content": "Ada keeps bees in Bergen.",
        "containerTag": ns,
        "customId": f"{ns}-bees",
        "metadata": {"year": 2024, "tags": ["a", "b"]},
        "filepath": "/notes/bees.md",
        "dreaming": "instant",
        "unknown field of a newer client": 1,
    }
    added = await call("POST", "/v3/documents", body)
    batch = await call(
        "POST", "/v3/documents/batch", {"containerTag": ns, "documents": ["One.", {"content": "Two."}, " "]}
    )
    assert [result["status"] == "error" for result in batch["results"]] == [False, False, True]
    read = await wait_until_done(call, added["id"])
    assert (read["customId"], read["containerTags"], read["filepath"]) == (
        body["customId"],
        [ns],
        "/notes/bees.md",
    )
    assert (await call("GET", f"/v3/documents/{body['customId']}"))["id"] == added["id"]
    assert (await call("GET", f"/v3/documents/{added['id']}/chunks"))["total"] == 1
    assert (await call("GET", f"/v3/documents/processing?containerTags={ns}-none,{ns}-other"))["documents"] == []
    assert "Failed documents" in await call.refused(501, "GET", "/v3/documents/processing?view=all")
    changed = await call("PATCH", f"/v3/documents/{added['id']}", {"metadata": {"seen": True}})
    assert changed["id"] == added["id"]
    listed = await call("POST", "/v3/documents/list", {"containerTags": [ns], "includeContent": True})
    assert listed["pagination"]["totalItems"] == 3
    deleted = await call("DELETE", "/v3/documents/bulk", {"ids": [batch["results"][0]["id"], "unknown"]})
    assert (deleted["deletedCount"], [error["id"] for error in deleted["errors"]]) == (1, ["unknown"])
    await call("DELETE", f"/v3/documents/{added['id']}")
    await call.refused(404, "GET", f"/v3/documents/{added['id']}")
    assert (await call("DELETE", "/v3/documents/bulk", {"containerTags": [ns]}))["deletedCount"] == 1


async def test_a_customer_id_that_is_sent_again_appends_to_its_document(call: EarlierInterface, ns: str) -> None:
    first = await call("POST", "/v3/documents", {"content": "One.", "containerTag": ns, "customId": ns})
    again = await call("POST", "/v3/documents", {"content": "Two.", "containerTag": ns, "customId": ns})
    assert again["id"] == first["id"]
    read = await call.until(f"/v3/documents/{first['id']}", lambda read: "Two." in (read["content"] or ""))
    assert "One." in read["content"]


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({"AND": [{"key": "year", "value": "2024"}]}, True),
        ({"AND": [{"key": "year", "value": "2024", "negate": True}]}, False),
        ({"AND": [{"key": "year", "value": "2020", "filterType": "numeric", "numericOperator": ">"}]}, True),
        (
            {"OR": [{"key": "year", "value": "1"}, {"AND": [{"key": "kind", "value": "NOTE", "ignoreCase": "true"}]}]},
            True,
        ),
        ({"AND": [{"key": "tags", "value": "b", "filterType": "array_contains"}]}, True),
        ({"AND": [{"key": "kind", "value": "ot", "filterType": "string_contains", "negate": "true"}]}, False),
        ('{"AND": [{"key": "kind", "value": "note"}]}', True),
        ({"AND": [{"key": "kind", "value": "note"}], "OR": [{"key": "year", "value": "1"}]}, False),
    ],
)
async def test_filters_select_by_metadata(filters: Any, matches: bool, call: EarlierInterface) -> None:
    tag = "earlier-filters"
    metadata = {"year": 2024, "kind": "note", "tags": ["a", "b"]}
    await call(
        "POST", "/v3/documents", {"content": "Filtered.", "containerTag": tag, "customId": tag, "metadata": metadata}
    )
    listed = await call("POST", "/v3/documents/list", {"containerTags": [tag], "filters": filters})
    assert (listed["pagination"]["totalItems"] == 1) == matches


async def test_a_folder_is_the_beginning_of_a_file_path(call: EarlierInterface, ns: str) -> None:
    for path in ("/notes/a.md", "/notes/deep/b.md", "/old/notes/c.md", "/notes.md"):
        body = {"content": f"Text of {path}.", "containerTag": ns, "customId": path.strip("/"), "filepath": path}
        await call("POST", "/v3/documents", body)
    listed = await call("POST", "/v3/documents/list", {"containerTags": [ns], "filepath": "/notes/"})
    assert {document["filepath"] for document in listed["memories"]} == {"/notes/a.md", "/notes/deep/b.md"}
    deleted = await call("DELETE", "/v3/documents/bulk", {"containerTags": [ns], "filepath": "/notes/"})
    assert deleted["deletedCount"] == 2
    left = await call("POST", "/v3/documents/list", {"containerTags": [ns]})
    assert {document["filepath"] for document in left["memories"]} == {"/old/notes/c.md", "/notes.md"}


async def test_searches_and_profiles_find_what_was_added(call: EarlierInterface, ns: str) -> None:
    text = "Grace Hopper lives in Arlington and repairs clocks."
    added = await call("POST", "/v3/documents", {"content": text, "containerTag": ns, "dreaming": "instant"})
    await wait_until_done(call, added["id"])
    question = {"q": "Where does Grace Hopper live?", "containerTag": ns}
    documents = await call(
        "POST", "/v3/search", {**question, "includeFullDocs": True, "includeSummary": True, "onlyMatchingChunks": False}
    )
    assert (documents["results"][0]["documentId"], documents["results"][0]["content"]) == (added["id"], text)
    assert (await call("POST", "/v3/search", {**question, "docId": added["id"]}))["total"] == 1
    include = {"documents": True, "summaries": True, "relatedMemories": True, "chunks": True}
    for mode in ("memories", "hybrid", "documents"):
        found = await call("POST", "/v4/search", {**question, "searchMode": mode, "threshold": 0, "include": include})
        assert found["results"][0]["documents"][0]["id"] == added["id"]
        assert found["results"][0]["chunks"][0]["content"] == text
    profile = await call("POST", "/v4/profile", {"containerTag": ns, "q": "Grace Hopper", "include": ["static"]})
    assert profile["profile"].keys() == {"static"}
    assert profile["searchResults"]["results"]
    assert (await call("POST", "/v4/search", {"q": "Grace Hopper Arlington clocks", "threshold": 0}))["timing"] >= 0


async def test_a_search_in_one_document_finds_it_among_many_that_match_better(call: EarlierInterface, ns: str) -> None:
    better = [{"content": f"Otters sleep on the river, pair {number}."} for number in range(120)]
    batch = {"containerTag": ns, "documents": better, "taskType": "superrag"}
    await call("POST", "/v3/documents/batch", batch)
    text = "The minutes of a long meeting, at whose end somebody spoke of otters."
    added = await call("POST", "/v3/documents", {"content": text, "containerTag": ns, "customId": "minutes"})
    await call.until(f"/v3/documents/{added['id']}", lambda read: read["status"] == "done")
    question = {"q": "otters sleep on the river", "docId": "minutes"}
    for tags, found in (([], 1), ([ns], 1), ([f"{ns}-other"], 0)):
        assert (await call("POST", "/v3/search", {**question, "containerTags": tags}))["total"] == found


async def test_memories_are_stored_replaced_listed_and_forgotten(call: EarlierInterface, ns: str) -> None:
    memories = [{"content": "Bob works at Acme", "isStatic": True}, {"content": "Bob plays chess"}]
    created = await call("POST", "/v4/memories", {"containerTag": ns, "memories": memories})
    assert [memory["isStatic"] for memory in created["memories"]] == [True, False]
    replaced = await call(
        "PATCH",
        "/v4/memories",
        {"containerTag": ns, "content": "Bob works at Acme", "newContent": "Bob works at Globex"},
    )
    assert (replaced["version"], replaced["parentMemoryId"]) == (2, created["memories"][0]["id"])
    listed = (await call("POST", "/v4/memories/list", {"containerTags": [ns]}))["memoryEntries"]
    history = {entry["memory"]: [version["memory"] for version in entry["history"]] for entry in listed}
    assert history == {"Bob works at Globex": ["Bob works at Acme"], "Bob plays chess": []}
    dry = {"containerTag": ns, "query": "Bob plays chess", "dryRun": True}
    assert [match["memory"] for match in (await call("POST", "/v4/memories/forget-matching", dry))["candidates"]] == [
        "Bob plays chess"
    ]
    forgotten = await call("DELETE", "/v4/memories", {"containerTag": ns, "content": "Bob plays chess"})
    assert forgotten == {"id": created["memories"][1]["id"], "forgotten": True}
    await call.refused(404, "DELETE", "/v4/memories", {"containerTag": ns, "content": "Bob plays chess"})
    job = {"containerTag": ns, "content": "Bob works at Globex", "reason": "he retired"}
    forgotten = await call("DELETE", "/v4/memories", job)
    assert await call.reason_of_forgetting(ns, forgotten["id"]) == "he retired"


async def test_a_conversation_that_goes_on_is_one_document(call: EarlierInterface, ns: str) -> None:
    messages = [{"role": "user", "content": "I moved to Porto."}]
    body = {"conversationId": ns, "messages": messages, "containerTags": [ns]}
    first = await call("POST", "/v4/conversations", body)
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}
    again = await call("POST", "/v4/conversations", {**body, "messages": [*messages, answer]})
    assert again["id"] == first["id"]
    expected = "user: I moved to Porto.\nassistant: Noted."
    await call.until(f"/v3/documents/{first['id']}", lambda read: read["content"] == expected)


async def test_a_call_of_a_tool_is_a_line_of_its_conversation(call: EarlierInterface, ns: str) -> None:
    function = {"name": "book_table", "arguments": '{"where": "Cervejaria"}'}
    messages = [
        {"role": "user", "content": "Book a table. I am allergic to peanuts."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "content": "Booked for eight.", "tool_call_id": "1"},
        {"role": "assistant", "content": "Done.", "tool_calls": [{"unknown": ["shape"]}]},
    ]
    stored = await call(
        "POST", "/v4/conversations", {"conversationId": ns, "messages": messages, "containerTags": [ns]}
    )
    read = await wait_until_done(call, stored["id"])
    assert read["content"].splitlines() == [
        "user: Book a table. I am allergic to peanuts.",
        'assistant: [calls book_table {"where": "Cervejaria"}]',
        "tool: Booked for eight.",
        'assistant: Done. [calls {"unknown": ["shape"]}]',
    ]
    listed = (await call("POST", "/v4/memories/list", {"containerTags": [ns]}))["memoryEntries"]
    assert [memory["memory"] for memory in listed] == ["User is allergic to peanuts"]


async def test_container_tags_are_described_merged_and_deleted(call: EarlierInterface, ns: str) -> None:
    source, target = f"{ns}-a", f"{ns}-b"
    for tag in (source, target):
        await call("POST", "/v3/documents", {"content": f"Text of {tag}.", "containerTag": tag})
    bucket = {"key": "work", "description": "Jobs"}
    changed = await call("PATCH", f"/v3/container-tags/{target}", {"entityContext": "Ada", "profileBuckets": [bucket]})
    assert changed["entityContext"] == "Ada"
    assert bucket in (await call("POST", "/v4/profile/buckets", {"containerTag": target}))["buckets"]
    assert (await call("PATCH", f"/v3/container-tags/{target}", {"profileBuckets": None}))["entityContext"] == "Ada"
    assert (await call("PATCH", f"/v3/container-tags/{target}", {"entityContext": None}))["entityContext"] is None
    merge = await call("POST", "/v3/container-tags/merge", {"containerTags": [source], "targetContainerTag": target})
    await call.until(f"/v3/container-tags/merge/{merge['mergeId']}", lambda state: state["status"] == "done")
    assert (await call("POST", "/v3/documents/list", {"containerTags": [target]}))["pagination"]["totalItems"] == 2
    assert (await call("DELETE", f"/v3/container-tags/{target}"))["deletedDocumentsCount"] == 2
    await call.refused(404, "GET", f"/v3/container-tags/{target}")


async def test_what_this_service_does_not_do_is_said_with_the_reason(call: EarlierInterface, ns: str) -> None:
    await call("GET", "/v3/settings")
    asked = {"shouldLLMFilter": True, "filterPrompt": "Remember how things are built."}
    assert (await call("PATCH", "/v3/settings", asked))["updated"]["filterPrompt"] == asked["filterPrompt"]
    assert (await call("PATCH", "/v3/settings", {"filterPrompt": None}))["updated"]["filterPrompt"] is None
    assert "chunkSize" in await call.refused(501, "PATCH", "/v3/settings", {"chunkSize": 100})
    body = {"content": "x", "containerTags": [f"{ns}-a", f"{ns}-b"]}
    assert "one container" in await call.refused(501, "POST", "/v3/documents", body)
    added = await call("POST", "/v3/documents", {"content": "x", "containerTag": ns})
    assert "address" in await call.refused(501, "GET", f"/v3/documents/{added['id']}/file-url")
    assert "filters" in await call.refused(400, "POST", "/v3/documents/list", {"filters": {"AND": "x"}})
    question = {"q": "x", "containerTag": ns}
    assert "categories" in await call.refused(501, "POST", "/v3/search", {**question, "categoriesFilter": ["work"]})
    await call("POST", "/v3/search", {**question, "categoriesFilter": []})
    case = {"key": "tags", "value": "A", "filterType": "array_contains", "ignoreCase": True}
    assert "ignoreCase" in await call.refused(501, "POST", "/v3/search", {**question, "filters": {"AND": [case]}})
    expiry = {"content": "Bob is away", "forgetReason": "back on Monday"}
    assert "expiry" in await call.refused(501, "POST", "/v4/memories", {"containerTag": ns, "memories": [expiry]})
