"""Why a result is one, and where it comes from: asked of a whole service, checked against its log."""

import math
from typing import Any

import pytest

from schemas.topics import ALL
from tests.contract import Client
from tests.service.world import World

pytestmark = pytest.mark.anyio
QUESTIONS = ("Where does Ada live?", "When did Ada move to Rome?", "How many cats has Ben?", "tea in 2023")


async def _told(service: World, ns: str) -> None:
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
        await service.settled()


async def _why(client: Client, ns: str, kind: str, id_: str) -> Any:
    return await client.ok("GET", f"/ns/{ns}/explain/{kind}/{id_}")


async def _memory(service: World, ns: str, text: str) -> Any:
    every = await service.listed(ns, "memories", include={"forgotten": True})
    (found,) = (one for one in every if text in one["memory"])
    return await _why(service.client, ns, "memories", found["id"])


@pytest.mark.parametrize("rerank", ["none", "order", "aggregate"])
async def test_an_explained_search_is_the_search_with_a_sum_for_each_result(
    service: World, ns: str, rerank: str
) -> None:
    await _told(service, ns)
    for query in QUESTIONS:
        body = {"query": query, "threshold": 0, "rerank": rerank, "include": {"related": True}}
        plain = (await service.client.ok("POST", f"/ns/{ns}/search", body))["results"]
        answer = await service.client.ok("POST", f"/ns/{ns}/explain/search", body)
        scale = answer["scale"]
        assert plain
        for one, expected in zip(answer["results"], plain, strict=True):
            why = one.pop("why")
            assert one == expected
            assert sum(part["score"] for part in why["parts"]) == pytest.approx(why["raw"], abs=1e-3)
            similarity = 1 / (1 + math.exp((scale["middle"] - why["raw"]) / scale["width"]))
            assert similarity == pytest.approx(one["similarity"], abs=1e-3)


async def test_nothing_is_explained_of_a_namespace_that_is_not_there(client: Client, ns: str) -> None:
    answer = await client.ok("POST", f"/ns/{ns}/explain/search", {"query": "tea"})
    assert answer["results"] == []
    for kind in ("documents", "chunks", "memories"):
        await client.refused(404, "GET", f"/ns/{ns}/explain/{kind}/one")


async def test_a_memory_says_which_events_made_it_and_why_it_replaced_another(
    service: World, ns: str
) -> None:
    await _told(service, ns)
    why = await _memory(service, ns, "Ada lives in Rome")
    (statement,) = why["statements"]
    assert statement["document"]["id"] == "two"
    assert statement["span"]["text"].startswith("I live in Rome")
    assert [event["stage"] for event in statement["events"]] == ["submit", "extract", "memories"]
    assert {event["requestId"] for event in statement["events"]} == {"asked-for-two"}
    assert statement["events"][-1]["by"] == "rules"
    (relation,) = why["relations"]
    assert (relation["kind"], relation["direction"], relation["memory"]) == (
        "updates",
        "to",
        "Ada lives in Berlin",
    )
    assert relation["evidence"] == "berlin -> rome"
    assert (why["version"], why["isLatest"], why["notes"]) == (2, True, [])
    before = await _memory(service, ns, "Ada lives in Berlin")
    assert [(one["direction"], one["id"]) for one in before["relations"]] == [("from", why["id"])]


async def test_every_event_that_is_named_is_that_record_of_the_log(service: World, ns: str) -> None:
    await _told(service, ns)
    await service.patch(ns, "two", content="Ada: I live in Oslo now.")
    await service.settled()
    memory = await _memory(service, ns, "Oslo")
    document = await _why(service.client, ns, "documents", "two")
    assert [one.get("operation") for one in document["events"]] == ["add", "patch", None]
    topics = {topic.name: topic for topic in ALL}
    events = [*document["events"], *memory["statements"][0]["events"]]
    key = (await service.pipeline.store.documents.find([f"{ns}#0"], ["two"]))["two"].key
    for event in events:
        from_there = service.pipeline.bus.read(event["topic"], event["partition"], event["offset"])
        record, *_ = [one async for one in from_there]
        assert record.offset == event["offset"]
        told = topics[event["topic"]].event.model_validate_json(record.value)
        assert told.document == key


async def test_a_chunk_stands_where_it_says_in_its_document(service: World, ns: str) -> None:
    await _told(service, ns)
    text = (await service.read(ns, "one"))["content"]
    for chunk in await service.listed(ns, "chunks"):
        why = await _why(service.client, ns, "chunks", chunk["id"])
        span = why["span"]
        if why["document"]["id"] == "one":
            assert text[span["start"] : span["end"]] == span["text"] == chunk["content"]
        assert [event["stage"] for event in why["events"]] == ["submit", "extract"]
        assert why["notes"] == []


async def test_a_forgotten_memory_says_when_and_by_which_request(service: World, ns: str) -> None:
    await _told(service, ns)
    memory = await _memory(service, ns, "tea")
    headers = {"x-request-id": "let-go"}
    asked = await service.client("DELETE", f"/ns/{ns}/memories", {"ids": [memory["id"]]}, headers=headers)
    assert asked.is_success
    why = await _why(service.client, ns, "memories", memory["id"])
    assert why["isForgotten"]
    (event,) = why["events"]
    assert (event["stage"], event["requestId"], event["at"]) == ("forget", "let-go", why["forgottenAt"])


async def test_what_is_explained_needs_the_rights_of_what_is_read(service: World, ns: str) -> None:
    await _told(service, ns)
    memory = await _memory(service, ns, "tea")
    created = await service.client.ok(
        "POST", "/admin/keys", {"name": "other", "role": "read", "namespaces": ["elsewhere"]}
    )
    other = service.client.as_key(created["key"])
    await other.refused(403, "POST", f"/ns/{ns}/explain/search", {"query": "tea"})
    await other.refused(403, "GET", f"/ns/{ns}/explain/memories/{memory['id']}")
    await other.refused(404, "GET", f"/ns/elsewhere/explain/memories/{memory['id']}")
    used_up = {"name": "used up", "role": "read", "monthlySearches": 0}
    spent = service.client.as_key((await service.client.ok("POST", "/admin/keys", used_up))["key"])
    await spent.refused(402, "POST", f"/ns/{ns}/explain/search", {"query": "tea"})
