"""Lists, memories, profiles, connectors and feedback over HTTP."""

import pytest

from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.table_rows import chunk, memory

pytestmark = pytest.mark.anyio

LIST = "/ns/alice/list"


async def fill(service: Service, client: ContractClient) -> None:
    """Three documents of alice with a chunk and a memory each, a second apart."""
    for number in (1, 2, 3):
        body = {
            "content": f"Text {number}",
            "id": f"d{number}",
            "metadata": {"n": number, "even": number % 2 == 0},
        }
        await client.ok("POST", "/ns/alice/document", body)
        await service.store_rows(chunk(f"d{number}"), memory(f"m{number}", f"d{number}"))
        service.clock.advance(1)
    await service.mark_documents_done("d1", "d2", "d3", title="T")


async def test_documents_are_listed_newest_first_with_their_counts(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    listed = await client.ok("POST", f"{LIST}/documents?limit=2")
    assert [document["id"] for document in listed["documents"]] == ["d3", "d2"]
    assert [document["system"]["memoryCount"] for document in listed["documents"]] == [1, 1]
    assert listed["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    assert listed["chunks"] == listed["memories"] == []
    assert "content" not in listed["documents"][0]


async def test_a_list_shows_content_and_hides_counts_when_told_to(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    body = {"include": {"content": True, "memoryCount": False}}
    listed = await client.ok("POST", f"{LIST}/documents?order=asc", body)
    assert [document["content"] for document in listed["documents"]] == ["Text 1", "Text 2", "Text 3"]
    assert "memoryCount" not in listed["documents"][0]["system"]


@pytest.mark.parametrize(("kind", "expected"), [("documents", "d2"), ("chunks", "chunk-d2-0"), ("memories", "m2")])
async def test_every_list_is_filtered_by_the_metadata_of_documents(
    service: Service, client: ContractClient, kind: str, expected: str
) -> None:
    await fill(service, client)
    listed = await client.ok("POST", f"{LIST}/{kind}", {"filter": {"field": "even", "operator": "eq", "value": True}})
    assert [item["id"] for item in listed[kind]] == [expected]
    assert listed["pagination"]["totalItems"] == 1
    assert listed[kind][0]["metadata"] == {"n": 2, "even": True}


async def test_chunks_say_their_documents_public_id(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    listed = await client.ok("POST", f"{LIST}/chunks?sort=position&order=asc")
    assert {chunk["documentId"] for chunk in listed["chunks"]} == {"d1", "d2", "d3"}


async def test_forgotten_memories_are_listed_only_when_asked_for(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    await client.ok("DELETE", "/ns/alice/memories", {"ids": ["m1"]})
    assert (await client.ok("POST", f"{LIST}/memories"))["pagination"]["totalItems"] == 2
    shown = await client.ok("POST", f"{LIST}/memories", {"include": {"forgotten": True}})
    assert {memory["id"]: memory["isForgotten"] for memory in shown["memories"]} == {
        "m1": True,
        "m2": False,
        "m3": False,
    }


async def test_counts_are_given_for_known_documents_in_the_order_asked(
    service: Service, client: ContractClient
) -> None:
    await fill(service, client)
    await client.ok("DELETE", "/ns/alice/memories", {"ids": ["m1"]})
    counts = await client.ok("POST", f"{LIST}/documents/memory-counts", {"ids": ["d3", "nope", "d1", "d3"]})
    assert counts == {"counts": [{"id": "d3", "memoryCount": 1}, {"id": "d1", "memoryCount": 0}]}


async def test_a_page_beyond_the_last_is_empty(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    for kind in ("documents", "chunks", "memories"):
        listed = await client.ok("POST", f"{LIST}/{kind}?page=9007199254740991&limit=100")
        assert listed[kind] == []
        assert listed["pagination"]["totalItems"] == 3


async def test_a_memory_is_read_with_its_sources_metadata(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    read = await client.ok("GET", "/ns/alice/memories/m2")
    assert (read["memory"], read["metadata"]) == ("Fact m2", {"n": 2, "even": True})
    assert "included" not in read
    assert "included" in await client.ok("GET", "/ns/alice/memories/m2?include=related,documents&relatedLimit=5")
    await client.fails(404, "GET", "/ns/bob/memories/m2")


async def test_forgetting_hides_and_keeps_and_is_in_the_log(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    answer = await client.ok("DELETE", "/ns/alice/memories", {"ids": ["m1", "nope", "m1"]})
    assert (answer["count"], [match["id"] for match in answer["matches"]]) == (1, ["m1"])
    assert [error["id"] for error in answer["errors"]] == ["nope"]
    read = await client.ok("GET", "/ns/alice/memories/m1")
    assert (read["isForgotten"], read["isLatest"]) == (True, False)
    events = [
        MemoriesForgotten.model_validate_json(record.value)
        async for record in service.bus.read(MEMORIES_FORGOTTEN.name)
    ]
    assert [event.ids for event in events] == [("m1",)]


async def test_forgetting_twice_is_one_event(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    for _ in range(2):
        answer = await client.ok("DELETE", "/ns/alice/memories", {"ids": ["m1"]})
        assert answer["count"] + len(answer["errors"]) == 1
    assert len([record async for record in service.bus.read(MEMORIES_FORGOTTEN.name)]) == 1


async def test_a_dry_run_of_forgetting_only_shows(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    service.queries.matches = (await service.store.memories.get(["m2"]))["m2"]
    path = "/ns/alice/memories/semantic"
    shown = await client.ok("DELETE", path, {"query": "two", "dryRun": True})
    assert shown["matches"] == [{"id": "m2", "memory": "Fact m2"}]
    assert (await client.ok("GET", "/ns/alice/memories/m2"))["isForgotten"] is False
    assert await client.ok("DELETE", path, {"query": "two", "dryRun": False}) == shown
    assert (await client.ok("GET", "/ns/alice/memories/m2"))["isForgotten"] is True


async def test_a_profile_is_json_or_markdown_as_preferred(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    path = "/ns/alice/profile"
    assert (await client.ok("POST", path))["profile"]["static"] == [{"id": "m1", "memory": "Ada lives in\nBerlin"}]
    page = await client("POST", path, {}, headers={"accept": "text/markdown, application/json;q=0.5"})
    assert page.headers["content-type"].startswith("text/markdown")
    assert page.text == "# Profile of alice\n\n## What lasts\n\n- Ada lives in Berlin\n"
    both = await client("POST", path, {}, headers={"accept": "*/*"})
    assert both.headers["content-type"] == "application/json"


async def test_a_search_is_handed_on_with_its_defaults(service: Service, client: ContractClient) -> None:
    await fill(service, client)
    await client.ok("POST", "/ns/alice/search", {"query": "x", "limit": 3.0, "include": {"documents": True}})
    ((namespace, body),) = service.queries.searched
    assert namespace.name == "alice"
    assert (body.limit, body.threshold, body.search_mode, body.rerank) == (3, 0.3, "hybrid", "none")
    assert (body.include.documents, body.include.related) == (True, False)


async def test_connectors_are_told_honestly(client: ContractClient) -> None:
    for path in ("/connectors", "/ns/alice/connectors?provider=notion&page=2&limit=5"):
        assert (await client.ok("GET", path))["connectors"] == []
    refused = await client.fails(503, "POST", "/ns/alice/connectors", {"provider": "notion"})
    assert refused["error"] == "Not available on this deployment"
    await client.fails(404, "GET", "/ns/alice/connectors/x?include=syncs,picker&returnUrl=https://example.org/")
    await client.fails(404, "PATCH", "/ns/alice/connectors/x", {"documentLimit": 5})
    await client.fails(404, "DELETE", "/ns/alice/connectors/x?deleteDocuments=false")
    await client.fails(404, "POST", "/ns/alice/connectors/x/sync")


FEEDBACK = {"type": "bug", "title": "Slow", "description": "It is slow", "somethingElse": 1}


async def test_feedback_is_kept_three_times_a_day(service: Service, client: ContractClient) -> None:
    remaining = [(await client.ok("POST", "/feedback", FEEDBACK))["remaining"] for _ in range(3)]
    assert remaining == [2, 1, 0]
    response = await client("POST", "/feedback", FEEDBACK)
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) == 24 * 60 * 60
    service.clock.advance(24 * 60 * 60)
    await client.ok("POST", "/feedback", FEEDBACK)


async def test_feedback_needs_no_key_but_a_wrong_one_is_refused(client: ContractClient) -> None:
    await client.as_key(None).ok("POST", "/feedback", FEEDBACK)
    await client.as_key("wrong").fails(401, "POST", "/feedback", FEEDBACK)
