"""Explanations and origins of results from a whole service, checked against its log."""

import math
from typing import Any

import pytest

from schemas.topics import ALL_TOPICS
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService

pytestmark = pytest.mark.anyio
QUESTIONS = ("Where does Ada live?", "When did Ada move to Rome?", "How many cats has Ben?", "tea in 2023")


async def _add_sample_texts(service: RunningService, ns: str) -> None:
    for document, date, content in (
        (
            "one",
            "2023-03-01",
            "Ada: I live in Berlin.\nBen: I have three cats, and I drink tea every morning.",
        ),
        ("two", "2023-06-01", "Ada: I live in Rome now. I moved last May."),
    ):
        body = {"content": content, "id": document, "dreaming": "instant", "date": date}
        headers = {"x-request-id": f"asked-for-{document}"}
        assert (await service.client("POST", f"/ns/{ns}/document", body, headers=headers)).is_success
        await service.wait_idle()


async def _explain(client: ContractClient, ns: str, kind: str, id_: str) -> Any:
    return await client.ok("GET", f"/ns/{ns}/explain/{kind}/{id_}")


async def _memory_id(service: RunningService, ns: str, text: str) -> Any:
    every = await service.list_items(ns, "memories", include={"forgotten": True})
    (found,) = (memory for memory in every if text in memory["memory"])
    return await _explain(service.client, ns, "memories", found["id"])


@pytest.mark.parametrize("rerank", ["none", "order", "aggregate"])
async def test_an_explained_search_is_the_search_with_a_sum_for_each_result(
    service: RunningService, ns: str, rerank: str
) -> None:
    await _add_sample_texts(service, ns)
    for query in QUESTIONS:
        body = {"query": query, "threshold": 0, "rerank": rerank, "include": {"related": True}}
        plain = (await service.client.ok("POST", f"/ns/{ns}/search", body))["results"]
        answer = await service.client.ok("POST", f"/ns/{ns}/explain/search", body)
        scale = answer["scale"]
        assert plain
        for result, expected in zip(answer["results"], plain, strict=True):
            why, _ = result.pop("explanation"), result.pop("highlights")
            assert result == expected
            assert sum(part["score"] for part in why["contributions"]) == pytest.approx(why["rawScore"], abs=1e-3)
            similarity = 1 / (1 + math.exp((scale["midpoint"] - why["rawScore"]) / scale["width"]))
            assert similarity == pytest.approx(result["similarity"], abs=1e-3)


async def test_nothing_is_explained_of_a_namespace_that_is_not_there(client: ContractClient, ns: str) -> None:
    answer = await client.ok("POST", f"/ns/{ns}/explain/search", {"query": "tea"})
    assert answer["results"] == []
    for kind in ("documents", "chunks", "memories"):
        await client.fails(404, "GET", f"/ns/{ns}/explain/{kind}/one")


async def test_a_memory_says_which_events_made_it_and_why_it_replaced_another(service: RunningService, ns: str) -> None:
    await _add_sample_texts(service, ns)
    why = await _memory_id(service, ns, "Ada lives in Rome")
    (statement,) = why["statements"]
    assert statement["document"]["id"] == "two"
    assert statement["span"]["text"].startswith("I live in Rome")
    assert [event["stage"] for event in statement["events"]] == ["submit", "extract", "memories"]
    assert {event["requestId"] for event in statement["events"]} == {"asked-for-two"}
    assert statement["events"][-1]["extractedBy"] == "rules"
    (relation,) = why["relations"]
    assert (relation["kind"], relation["direction"], relation["memory"]) == (
        "updates",
        "to",
        "Ada lives in Berlin",
    )
    assert relation["evidence"] == "berlin -> rome"
    assert relation["attribute"] == "residence of ada"
    assert (why["version"], why["isLatest"], why["notes"]) == (2, True, [])
    before = await _memory_id(service, ns, "Ada lives in Berlin")
    assert [(relation["direction"], relation["id"]) for relation in before["relations"]] == [("from", why["id"])]


async def test_every_event_that_is_named_is_that_record_of_the_log(service: RunningService, ns: str) -> None:
    await _add_sample_texts(service, ns)
    await service.patch_document(ns, "two", content="Ada: I live in Oslo now.")
    await service.wait_idle()
    memory = await _memory_id(service, ns, "Oslo")
    document = await _explain(service.client, ns, "documents", "two")
    assert [event.get("operation") for event in document["events"]] == ["add", "patch", None]
    topics = {topic.name: topic for topic in ALL_TOPICS}
    events = [*document["events"], *memory["statements"][0]["events"]]
    key = (await service.pipeline.store.documents.find_by_public_id([f"{ns}#0"], ["two"]))["two"].key
    for event in events:
        from_there = service.pipeline.bus.read(event["topic"], event["partition"], event["offset"])
        record, *_ = [record async for record in from_there]
        assert record.offset == event["offset"]
        told = topics[event["topic"]].event_type.model_validate_json(record.value)
        assert told.document == key


async def test_a_chunk_stands_where_it_says_in_its_document(service: RunningService, ns: str) -> None:
    await _add_sample_texts(service, ns)
    text = (await service.read_document(ns, "one"))["content"]
    for chunk in await service.list_items(ns, "chunks"):
        why = await _explain(service.client, ns, "chunks", chunk["id"])
        span = why["span"]
        if why["document"]["id"] == "one":
            assert text[span["start"] : span["end"]] == span["text"] == chunk["content"]
        assert [event["stage"] for event in why["events"]] == ["submit", "extract"]
        assert why["notes"] == []


async def test_a_forgotten_memory_says_when_and_by_which_request(service: RunningService, ns: str) -> None:
    await _add_sample_texts(service, ns)
    memory = await _memory_id(service, ns, "tea")
    headers = {"x-request-id": "let-go"}
    asked = await service.client("DELETE", f"/ns/{ns}/memories", {"ids": [memory["id"]]}, headers=headers)
    assert asked.is_success
    why = await _explain(service.client, ns, "memories", memory["id"])
    assert why["isForgotten"]
    (event,) = why["events"]
    assert (event["stage"], event["requestId"], event["at"]) == ("forget", "let-go", why["forgottenAt"])


async def test_what_is_explained_needs_the_rights_of_what_is_read(service: RunningService, ns: str) -> None:
    await _add_sample_texts(service, ns)
    memory = await _memory_id(service, ns, "tea")
    created = await service.client.ok(
        "POST", "/admin/keys", {"name": "other", "role": "read", "namespaces": ["elsewhere"]}
    )
    other = service.client.as_key(created["key"])
    await other.fails(403, "POST", f"/ns/{ns}/explain/search", {"query": "tea"})
    await other.fails(403, "GET", f"/ns/{ns}/explain/memories/{memory['id']}")
    await other.fails(404, "GET", f"/ns/elsewhere/explain/memories/{memory['id']}")
    used_up = {"name": "used up", "role": "read", "monthlySearches": 0}
    spent = service.client.as_key((await service.client.ok("POST", "/admin/keys", used_up))["key"])
    await spent.fails(402, "POST", f"/ns/{ns}/explain/search", {"query": "tea"})
