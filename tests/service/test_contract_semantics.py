"""Decisions where the contract is silent, observed at the end of the pipeline: a test per sentence."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService

pytestmark = pytest.mark.anyio

NAMESPACE_OPERATIONS = (("GET", None), ("PATCH", {"supportingContext": "x"}), ("DELETE", None))
NEGATIONS = ("neq", "notContains", "arrayNotContains")
VALUES: dict[str, dict[str, Any]] = {
    "nora": {},
    "stella": {"k": "1"},
    "noah": {"k": 1},
    "felix": {"k": True},
    "lisa": {"k": ["1"]},
}


async def _texts(service: RunningService, ns: str, document: str) -> tuple[str, list[str], list[str]]:
    """Content, chunks and memories of a document."""
    read = await service.read_document(ns, document)
    return (
        read["content"],
        [chunk["content"] for chunk in read["chunks"]],
        [memory["memory"] for memory in read["memories"]],
    )


async def test_the_public_document_id_is_the_callers_id_where_one_was_given(service: RunningService, ns: str) -> None:
    assert await service.add_document(ns, "Ada lives in Berlin.", id="mine/ü 1") == "mine/ü 1"
    await service.wait_idle()
    assert (await service.read_document(ns, quote("mine/ü 1", safe="")))["id"] == "mine/ü 1"
    assert [document["id"] for document in await service.list_items(ns, "documents")] == ["mine/ü 1"]
    assert {result["included"]["document"]["id"] for result in await service.search(ns, "Ada")} == {"mine/ü 1"}
    assert [chunk["documentId"] for chunk in await service.list_items(ns, "chunks")] == ["mine/ü 1"]


async def test_without_one_the_id_comes_from_the_content_so_a_blind_retry_changes_nothing(
    service: RunningService, ns: str
) -> None:
    said: dict[str, Any] = {"metadata": {"a": 1, "b": [" "]}, "date": "2024-05-01"}
    first = await service.add_document(ns, "Ada lives in Berlin.", **said)
    await service.wait_idle()
    before = await service.read_document(ns, first)
    assert await service.add_document(ns, "Ada lives in Berlin.", **said) == first
    await service.wait_idle()
    assert await service.read_document(ns, first) == before
    assert await service.add_document(ns, "Bob collects old maps.", **said) != first
    for other in ({"metadata": {"a": 2}}, {"date": "2024-05-02"}):
        assert await service.add_document(ns, "Ada lives in Berlin.", **{**said, **other}) != first
    assert await service.add_document(f"{ns}-other", "Ada lives in Berlin.", **said) != first


async def test_post_with_an_existing_id_appends(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle()
    added = {"content": "Ada plays the cello.", "id": "x", "dreaming": "instant"}
    assert (await service.client.ok("POST", f"/ns/{ns}/document", added))["status"] == "queued"
    await service.wait_idle()
    content, chunks, memories = await _texts(service, ns, "x")
    assert content == "Ada lives in Berlin.\n\nAda plays the cello."
    assert "cello" in "".join(chunks)
    assert any("Berlin" in memory for memory in memories)


async def test_text_that_begins_with_the_old_text_replaces_it(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.add_document(ns, "Ada lives in Berlin. She is a baker.", id="x")
    await service.wait_idle()
    content, chunks, _ = await _texts(service, ns, "x")
    assert [content, *chunks] == ["Ada lives in Berlin. She is a baker."] * 2


async def test_unchanged_content_does_no_work_and_answers_the_current_status(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle()
    before = await service.read_document(ns, "x")
    again = {"content": "Ada lives in Berlin.", "id": "x"}
    assert await client.ok("POST", f"/ns/{ns}/document", again) == {"id": "x", "status": "done"}
    await service.wait_idle()
    assert await service.read_document(ns, "x") == before


async def test_patch_content_replaces(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"a": 1})
    await service.wait_idle()
    await service.patch_document(ns, "x", content="Bob collects old maps.")
    await service.wait_idle()
    content, chunks, memories = await _texts(service, ns, "x")
    assert [content, *chunks] == ["Bob collects old maps."] * 2
    assert not any("Ada" in memory for memory in memories)
    assert not any("Ada" in str(result) for result in await service.search(ns, "Where does Ada live?"))


async def test_patch_metadata_merges_key_by_key_and_leaves_content_and_memories(
    service: RunningService, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"a": 1, "b": 1})
    await service.wait_idle()
    before = await _texts(service, ns, "x")
    await service.patch_document(ns, "x", metadata={"b": 2, "c": 2})
    merged = {"a": 1, "b": 2, "c": 2}
    assert all(result["metadata"] == merged for result in await service.search(ns, "Ada"))
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert [item["metadata"] for item in [read, *read["chunks"], *read["memories"]]] == [merged] * 3
    assert await _texts(service, ns, "x") == before


async def test_a_memory_names_its_day_in_the_metadata_unless_the_document_does(
    service: RunningService, ns: str
) -> None:
    for id_, metadata in (("x", {"a": 1}), ("y", {"eventDates": "mine"})):
        text = "I moved to Oslo last Friday." if id_ == "x" else "I sold my car last Friday."
        await service.add_document(ns, text, id=id_, date="2026-05-13", metadata=metadata)
    await service.wait_idle()
    (moved,), (sold,) = [(await service.read_document(ns, id_))["memories"] for id_ in ("x", "y")]
    assert moved["memory"] == "User moved to Oslo on 8 May 2026"
    assert moved["metadata"] == {"a": 1, "eventDates": ["2026-05-08"]}
    assert sold["metadata"] == {"eventDates": "mine"}
    found = {result["id"]: result["metadata"] for result in await service.search(ns, "Where did I move?")}
    assert found[moved["id"]] == moved["metadata"]


async def test_post_document_file_replaces_everything(service: RunningService, client: ContractClient, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"a": 1}, supportingContext="s")
    await service.wait_idle()
    files = {"file": ("maps.txt", b"Bob collects old maps.", "text/plain")}
    await client.ok("POST", f"/ns/{ns}/document/file/x", files=files, data={"dreaming": "instant"})
    await service.wait_idle()
    content, chunks, memories = await _texts(service, ns, "x")
    assert [content, *chunks] == ["Bob collects old maps."] * 2
    assert not any("Ada" in memory for memory in memories)
    assert (await service.read_document(ns, "x"))["metadata"] == {}


async def test_patch_document_file_keeps_what_is_not_said(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"a": 1})
    files = {"file": ("maps.txt", b"Bob collects old maps.", "text/plain")}
    await client.ok("PATCH", f"/ns/{ns}/document/file/x", files=files)
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["content"], read["metadata"]) == ("Bob collects old maps.", {"a": 1})


async def _everywhere(service: RunningService, ns: str, expression: dict[str, Any]) -> set[str]:
    """The documents whose items pass a filter; every place agrees. A document is named in its text."""
    found = {
        "documents": {document["id"] for document in await service.list_items(ns, "documents", filter=expression)},
        "chunks": {chunk["documentId"] for chunk in await service.list_items(ns, "chunks", filter=expression)},
        "memories": {
            memory["memory"].split()[0].lower()
            for memory in await service.list_items(ns, "memories", filter=expression)
        },
    }
    for mode in ("hybrid", "chunks", "memories"):
        results = await service.search(ns, "Berlin", filter=expression, searchMode=mode)
        found[f"search {mode}"] = {result["included"]["document"]["id"] for result in results}
    assert all(names == found["documents"] for names in found.values()), found
    return found["documents"]


async def _of_every_type(service: RunningService, ns: str) -> None:
    for name, metadata in VALUES.items():
        await service.add_document(ns, f"{name.title()} lives in Berlin.", id=name, metadata=metadata)
    await service.wait_idle()
    assert {memory["memory"].split()[0].lower() for memory in await service.list_items(ns, "memories")} == set(VALUES)


async def test_neq_notcontains_and_arraynotcontains_match_items_that_lack_the_key(
    service: RunningService, ns: str
) -> None:
    await _of_every_type(service, ns)
    for operator in NEGATIONS:
        expression = {"field": "nowhere", "operator": operator, "value": "1"}
        assert await _everywhere(service, ns, expression) == set(VALUES), operator
        lost = "lisa" if operator == "arrayNotContains" else "stella"
        expression["field"] = "k"
        assert await _everywhere(service, ns, expression) == set(VALUES) - {lost}, operator


async def test_eq_never_matches_an_array_and_numbers_booleans_and_strings_never_equal_each_other(
    service: RunningService, ns: str
) -> None:
    await _of_every_type(service, ns)
    for name, value in (("stella", "1"), ("noah", 1), ("noah", 1.0), ("felix", True), (None, False)):
        found = await _everywhere(service, ns, {"field": "k", "operator": "eq", "value": value})
        assert found == ({name} if name else set()), value


async def test_chunks_and_memories_are_matched_on_their_documents_metadata(service: RunningService, ns: str) -> None:
    for name in ("ada", "bob"):
        await service.add_document(ns, f"{name.title()} lives in Berlin.", id=name)
    await service.wait_idle()
    expression = {"field": "k", "operator": "eq", "value": "v"}
    assert await _everywhere(service, ns, expression) == set()
    await service.patch_document(ns, "bob", metadata={"k": "v"})
    for _ in range(2):  # at once, and when the log was read
        assert await _everywhere(service, ns, expression) == {"bob"}
        await service.wait_idle()


async def test_a_memory_of_two_documents_is_found_by_the_metadata_of_either(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    for name in ("ada", "bob"):
        await service.add_document(ns, "Ada lives in Berlin.", id=name, metadata={"from": name}, dreaming="instant")
    await service.wait_idle()
    for name in ("ada", "bob"):
        body = {"filter": {"field": "from", "operator": "eq", "value": name}}
        (listed,) = await service.list_items(ns, "memories", **body)
        (found,) = await service.search(ns, "Where does Ada live?", searchMode="memories", **body)
        assert listed["metadata"] == found["metadata"] == {"from": name}
        known = (await client.ok("POST", f"/ns/{ns}/profile", body))["profile"]
        assert [fact["memory"] for fact in known["static"] + known["dynamic"]] == ["Ada lives in Berlin"]


async def test_search_list_profile_and_get_buckets_on_an_unknown_namespace_answer_200_and_empty(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    for mode in ("hybrid", "chunks", "memories"):
        assert await service.search(ns, "x", searchMode=mode, rerank="aggregate", rewriteQuery=True) == []
    for kind in ("documents", "chunks", "memories"):
        assert await service.list_items(ns, kind) == []
    profile = await client.ok("POST", f"/ns/{ns}/profile", {"buckets": ["work"]})
    assert profile == {"profile": {"static": [], "dynamic": [], "buckets": {"work": []}}}
    assert await client.ok("GET", f"/ns/{ns}/profile/buckets") == {"buckets": {}}
    assert (await client.ok("POST", f"/ns/{ns}/list/documents/memory-counts", {"ids": ["x"]})) == {"counts": []}
    for path in ("document", "memories"):
        await client.ok("DELETE", f"/ns/{ns}/{path}", {"ids": ["x"]})
    for method, body in NAMESPACE_OPERATIONS:  # nothing of this has begun it
        await client.fails(404, method, f"/ns/{ns}", body)


async def test_a_namespace_that_was_deleted_is_as_unknown_as_any(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await client.ok("PUT", f"/ns/{ns}/profile/buckets", {"buckets": {"work": "Jobs"}})
    await service.wait_idle()
    deleted = await client.ok("DELETE", f"/ns/{ns}")
    assert (deleted["deletedDocumentsCount"], deleted["deletedMemoriesCount"]) == (1, 1)
    for _ in range(2):  # at once, and when the rows are purged
        for method, body in NAMESPACE_OPERATIONS:
            await client.fails(404, method, f"/ns/{ns}", body)
        await client.fails(404, "GET", f"/ns/{ns}/document/x")
        assert await service.search(ns, "Ada") == []
        assert await client.ok("GET", f"/ns/{ns}/profile/buckets") == {"buckets": {}}
        await service.wait_idle()


async def test_namespaces_begin_with_their_first_write_also_after_they_were_deleted(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await client.ok("PATCH", f"/ns/{ns}", {"supportingContext": "letters"})
    await client.ok("DELETE", f"/ns/{ns}")
    await service.add_document(ns, "Bob collects old maps.", id="x")
    await service.wait_idle()
    assert (await client.ok("GET", f"/ns/{ns}"))["supportingContext"] is None
    assert (await _texts(service, ns, "x"))[:2] == ("Bob collects old maps.", ["Bob collects old maps."])
    assert not any("Ada" in str(result) for result in await service.search(ns, "Ada"))


@pytest.mark.parametrize("include", ["chunks,memories", "chunks&include=memories", "chunks%2Cmemories"])
async def test_include_on_gets_is_accepted_repeated_and_comma_separated(
    service: RunningService, client: ContractClient, ns: str, include: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle()
    read = await client.ok("GET", f"/ns/{ns}/document/x?include={include}")
    assert (len(read["chunks"]), len(read["memories"])) == (1, 1)
    assert not {"chunks", "memories"} & (await client.ok("GET", f"/ns/{ns}/document/x")).keys()


async def test_memories_of_a_document_stand_in_the_order_of_its_text_whatever_the_tables_are_made_of(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    cities = ("Zurich", "Berlin", "Madrid", "Athens", "Oslo", "Cairo")
    people = ("Zoe", "Ada", "Mia", "Ben", "Tom", "Eva")
    sentences = [f"{person} lives in {city}." for person, city in zip(people, cities, strict=True)]
    await service.add_document(ns, " ".join(sentences), id="x")
    await service.wait_idle()
    for _ in range(2):
        read = await client.ok("GET", f"/ns/{ns}/document/x?include=memories")
        assert [memory["memory"].split()[-1] for memory in read["memories"]] == list(cities)
        await service.replay()


async def test_json_null_counts_as_absent(service: RunningService, client: ContractClient, ns: str) -> None:
    names = ("supportingContext", "metadata", "group", "date", "taskType", "dreaming")
    body = {"content": "Ada lives in Berlin.", "id": "x", **dict.fromkeys(names)}
    await client.ok("POST", f"/ns/{ns}/document", body)
    await client.ok("POST", f"/ns/{ns}-other/document", {"content": "y", "id": None, "metadata": {"a": None, "b": 1}})
    await service.patch_document(ns, "x", metadata={"a": 1}, content=None, date=None)
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["content"], read["metadata"]) == ("Ada lives in Berlin.", {"a": 1})
    everything = await service.search(ns, "Ada")
    options = ("threshold", "filter", "include", "rerank", "rewriteQuery", "searchMode", "limit")
    await client.ok("POST", f"/ns/{ns}/search", {"query": "x", "include": {"related": None}})
    await client.ok("POST", f"/ns/{ns}/list/documents", {"filter": None, "include": None})
    asked = {"query": "Where does Ada live?", **dict.fromkeys(options)}
    found = (await client.ok("POST", f"/ns/{ns}/search", asked))["results"]
    assert {result["id"] for result in found} <= {result["id"] for result in everything}
    assert found


async def test_null_clears_supportingcontext_and_organizationalcontext(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.")
    for path, name in ((f"/ns/{ns}", "supportingContext"), ("/organization", "organizationalContext")):
        await client.ok("PATCH", path, {name: "letters"})
        await service.wait_idle()
        assert (await client.ok("GET", path))[name] == "letters"
        await client.ok("PATCH", path, {name: None})
        await service.wait_idle()
        assert (await client.ok("GET", path))[name] is None


@pytest.mark.parametrize("body", [{"moveTo": "elsewhere"}, {}, []])
async def test_delete_of_a_namespace_with_a_body_is_a_400_and_destroys_nothing(
    service: RunningService, client: ContractClient, ns: str, body: Any
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await client.fails(400, "DELETE", f"/ns/{ns}", body)
    await service.wait_idle()
    assert await service.search(ns, "Ada")


async def test_patch_of_a_document_that_is_still_processing_is_accepted_and_ordered_by_the_log(
    service: RunningService, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    for number in range(5):
        await service.patch_document(ns, "x", content=f"Bob collects {number} old maps.", metadata={"n": number})
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["content"], read["metadata"]) == ("Bob collects 4 old maps.", {"n": 4})
    assert [chunk["content"] for chunk in read["chunks"]] == ["Bob collects 4 old maps."]
    assert read["system"]["status"] == read["system"]["dreamingStatus"] == "done"


async def test_a_namespace_that_moves_takes_everything_along(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    target = f"{ns}-target"
    await service.add_document(ns, "Ada lives in Berlin.", id="x", metadata={"k": 1})
    await service.add_document(target, "Bob collects old maps.", id="x")
    await client.ok("DELETE", f"/ns/{ns}?moveTo={target}")
    await service.wait_idle()
    await client.fails(404, "GET", f"/ns/{ns}")
    moved = f"x~{ns}"
    assert {document["id"] for document in await service.list_items(target, "documents")} == {"x", moved}
    assert (await _texts(service, target, moved))[:2] == ("Ada lives in Berlin.", ["Ada lives in Berlin."])
    await service.patch_document(target, moved, metadata={"k": 2})
    assert (await service.delete_documents(target, "x"))["count"] == 1
    await client.fails(404, "GET", f"/ns/{target}/document/x")
    await service.add_document(target, "Cleo bakes bread.", id="x")
    await service.wait_idle()
    assert (await service.read_document(target, moved))["metadata"] == {"k": 2}
    assert (await service.read_document(target, "x"))["content"] == "Cleo bakes bread."
    assert (await service.delete_documents(target, moved, "x")) == {"count": 2, "errors": []}
    assert await service.search(target, "Ada") == []


async def test_a_profile_as_markdown_says_of_which_day_its_current_facts_are(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "I live in Porto. I'm training for a marathon.", date="2031-03-02")
    await service.wait_idle()
    page = await service.client("POST", f"/ns/{ns}/profile", {}, headers={"accept": "text/markdown"})
    assert "- User is training for a marathon (as of 2031-03-02)" in page.text
    assert "- User lives in Porto\n" in page.text
