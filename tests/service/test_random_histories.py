"""Random operations in random order leave a consistent state."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.stages.namespace_operations_stage import conflict_free_ids
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService, running_service

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_runs = count(1)
SPACES = ("home", "work")
DOCUMENTS = ("ada", "bob")
CITIES = ("Berlin", "Lisbon", "Oslo")
SAID = st.builds(
    "{} lives in {}.{}".format,
    st.sampled_from(["Ada", "Bob"]),
    st.sampled_from(CITIES),
    st.sampled_from(["", " It rains there from the first day of autumn to the last day of spring."]),
)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    """A service with small chunks and several of everything."""
    folder = tmp_path_factory.mktemp("histories")
    async with running_service(folder, chunk_size=100, log_partitions=3, shards=2) as opened:
        yield opened


@dataclass
class SequentialDocument:
    """A document as the sequential rule has it."""

    content: str
    newest: str
    """Content that was sent last: sent once more, it is a retry."""
    metadata: dict[str, int] = field(default_factory=dict)
    failed: bool = False
    """True if the content after this one could not be read."""

    def append_text(self, said: str) -> None:
        if said == self.newest:
            return
        self.newest, self.failed = said, False
        if said.startswith(self.content):
            self.content = said
        elif said != self.content:
            self.content = f"{self.content}\n\n{said}"


class ServiceHistory:
    """Run: the changes made to the service, and the rows that must come out."""

    service: RunningService

    def __init__(self) -> None:
        self.prefix = f"run{next(_runs)}"
        self.model: dict[str, dict[str, SequentialDocument]] = {name: {} for name in SPACES}

    def namespace_name(self, incarnation: str) -> str:
        return f"{self.prefix}-{incarnation}"

    async def add(self, incarnation: str, document: str, said: str) -> None:
        await self.service.add_document(self.namespace_name(incarnation), said, id=document, dreaming="dynamic")
        there = self.model[incarnation].get(document)
        if there is None:
            self.model[incarnation][document] = SequentialDocument(said, said)
        else:
            there.append_text(said)

    async def patch(self, incarnation: str, document: str, said: str) -> None:
        if document not in self.model[incarnation]:
            path = f"/ns/{self.namespace_name(incarnation)}/document/{document}"
            await self.service.client.fails(404, "PATCH", path, {"content": said})
            return
        await self.service.patch_document(self.namespace_name(incarnation), document, content=said, dreaming="instant")
        there = self.model[incarnation][document]
        there.content = there.newest = said
        there.failed = False

    async def patch_unreadable(self, incarnation: str, document: str) -> None:
        """A change that can't be read."""
        if document in self.model[incarnation]:
            files = {"file": ("a.zip", b"PK\x03\x04", "application/zip")}
            path = f"/ns/{self.namespace_name(incarnation)}/document/file/{document}"
            await self.service.client.ok("PATCH", path, files=files)
            self.model[incarnation][document].newest = ""
            self.model[incarnation][document].failed = True

    async def upload(self, incarnation: str, document: str, said: str) -> None:
        if document in self.model[incarnation]:
            files = {"file": ("note.txt", said.encode(), "text/plain")}
            path = f"/ns/{self.namespace_name(incarnation)}/document/file/{document}"
            await self.service.client.ok("POST", path, files=files)
            self.model[incarnation][document] = SequentialDocument(said, "")

    async def add_concurrently(self, incarnation: str, said: str) -> None:
        """Add to both documents in both namespaces at the same time."""
        await asyncio.gather(*(self.add(key, document, said) for key in SPACES for document in DOCUMENTS))

    async def patch_metadata(self, incarnation: str, document: str, number: int) -> None:
        if document in self.model[incarnation]:
            await self.service.patch_document(self.namespace_name(incarnation), document, metadata={"n": number})
            self.model[incarnation][document].metadata["n"] = number

    async def delete(self, incarnation: str, document: str) -> None:
        answer = await self.service.delete_documents(self.namespace_name(incarnation), document)
        assert answer["count"] == (self.model[incarnation].pop(document, None) is not None)

    async def forget(self, incarnation: str, which: int) -> None:
        memories = await self.service.list_items(self.namespace_name(incarnation), "memories")
        if memories:
            ids = [memories[which % len(memories)]["id"]]
            path = f"/ns/{self.namespace_name(incarnation)}/memories"
            answer = await self.service.client.ok("DELETE", path, {"ids": ids})
            assert answer["count"] + len(answer["errors"]) == 1  # a document may have taken it back meanwhile

    async def move(self, incarnation: str) -> None:
        other = next(key for key in SPACES if key != incarnation)
        target = self.namespace_name(other)
        answer = await self.service.client("DELETE", f"/ns/{self.namespace_name(incarnation)}?moveTo={target}")
        if answer.status_code == 404:
            return
        await self.service.wait_idle()  # what is written while a namespace moves may land on either side
        leaving = self.model[incarnation]
        names = conflict_free_ids(list(leaving), set(self.model[other]), self.namespace_name(incarnation))
        self.model[other] |= {names.get(key, key): text for key, text in leaving.items()}
        self.model[incarnation] = {}

    async def end_namespace(self, incarnation: str) -> None:
        answer = await self.service.client("DELETE", f"/ns/{self.namespace_name(incarnation)}")
        if answer.status_code == 200:
            assert answer.json()["deletedDocumentsCount"] == len(self.model[incarnation])
        self.model[incarnation] = {}

    async def wait_idle(self, incarnation: str) -> None:
        await self.service.wait_idle()
        await assert_views_agree(self.service, self.namespace_name(incarnation), self.model[incarnation])


async def assert_views_agree(service: RunningService, name: str, model: Mapping[str, SequentialDocument]) -> None:
    """Documents, chunks, memories, counts and search of a namespace fit together."""
    documents = await service.list_items(name, "documents", include={"content": True, "memoryCount": True})
    assert {document["id"]: document["content"] for document in documents} == {
        document: model[document].content for document in model
    }
    assert {document["id"]: document["metadata"] for document in documents} == {
        document: model[document].metadata for document in model
    }
    states = {
        document["id"]: (document["system"]["status"], document["system"]["dreamingStatus"]) for document in documents
    }
    assert states == {key: ("failed" if model[key].failed else "done", "done") for key in model}
    chunks = await service.list_items(name, "chunks")
    assert {chunk["documentId"] for chunk in chunks} == set(model)
    for key, text in model.items():
        passages = (await service.read_document(name, key))["chunks"]
        assert {chunk["id"] for chunk in passages} == {chunk["id"] for chunk in chunks if chunk["documentId"] == key}
        assert [chunk["position"] for chunk in passages] == list(range(len(passages)))
        assert " ".join(chunk["content"] for chunk in passages).split() == text.content.split()
    await _assert_memories_agree(service, name, documents)
    await _assert_search_agrees(service, name, model, chunks)
    await _assert_namespace_agrees(service, name, documents)


async def _assert_memories_agree(service: RunningService, name: str, documents: list[Any]) -> None:
    memories = await service.list_items(name, "memories")
    assert all(memory["isLatest"] and not memory["isForgotten"] for memory in memories)
    history = await service.list_items(name, "memories", include={"forgotten": True})
    ids = {memory["id"] for memory in memories}
    assert ids == {memory["id"] for memory in history if memory["isLatest"] and not memory["isForgotten"]}
    shown = {document["id"]: document["system"]["memoryCount"] for document in documents}
    path = f"/ns/{name}/list/documents/memory-counts"
    asked = {"ids": [*shown, "unknown"]}
    counts = (await service.client.ok("POST", path, asked))["counts"]
    assert {document["id"]: document["memoryCount"] for document in counts} == shown
    supported = {key: (await service.read_document(name, key))["memories"] for key in shown}
    current = {key: {m["id"] for m in found if m["isLatest"]} for key, found in supported.items()}
    assert {key: len(found) for key, found in current.items()} == shown
    assert set().union(*current.values()) == ids, "a memory that no document supports, or the other way round"
    if len(ids) == sum(map(len, current.values())):
        assert sum(shown.values()) == len(ids)


async def _assert_search_agrees(
    service: RunningService, name: str, model: Mapping[str, SequentialDocument], chunks: list[Any]
) -> None:
    for rerank in ("none", "order"):
        found = await service.search(name, "Who lives in Berlin?", rerank=rerank)
        sources = {result["included"]["document"]["id"] for result in found}
        assert sources == set(model), "search finds every document that lives, and no other"
        ids = {result["id"] for result in found if "chunk" in result}
        assert ids == {chunk["id"] for chunk in chunks}
    memories = await service.search(name, "Who lives in Berlin?", searchMode="memories")
    listed = {memory["id"] for memory in await service.list_items(name, "memories")}
    assert {memory["id"] for memory in memories} == listed
    for memory in memories:
        assert memory["metadata"] == model[memory["included"]["document"]["id"]].metadata


async def _assert_namespace_agrees(service: RunningService, name: str, documents: list[Any]) -> None:
    answer = await service.client.ok("GET", f"/ns?q={name}&limit=100")
    if not answer["namespaces"]:
        assert documents == []
        return
    (listed,) = answer["namespaces"]
    memories = {memory["id"] for memory in await service.list_items(name, "memories")}
    assert (listed["documentCount"], listed["memoryCount"]) == (len(documents), len(memories))
    profile = (await service.client.ok("POST", f"/ns/{name}/profile", {}))["profile"]
    told = {memory["id"] for memory in [*profile["static"], *profile["dynamic"]]}
    assert told <= memories


STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("add"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("patch"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("upload"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("patch_unreadable"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("add_concurrently"), st.sampled_from(SPACES), SAID),
    st.tuples(st.just("patch_metadata"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), st.integers(0, 2)),
    st.tuples(st.just("delete"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("forget"), st.sampled_from(SPACES), st.integers(0, 3)),
    st.tuples(st.sampled_from(["move", "end_namespace", "wait_idle", "wait_idle"]), st.sampled_from(SPACES)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(steps=st.lists(STEPS, min_size=3, max_size=20))
async def test_counts_lists_searches_and_contents_agree_after_any_history(
    service: RunningService, steps: list[tuple[Any, ...]]
) -> None:
    history = ServiceHistory()
    history.service = service
    for step, *values in steps:
        await getattr(history, step)(*values)
    await service.wait_idle()
    for incarnation in SPACES:
        await assert_views_agree(service, history.namespace_name(incarnation), history.model[incarnation])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(lives=st.lists(st.lists(STEPS, min_size=2, max_size=8), min_size=2, max_size=4))
async def test_everything_agrees_after_any_history_in_which_the_service_is_closed_in_the_middle_of_its_work(
    lives: list[list[tuple[Any, ...]]],
) -> None:
    with TemporaryDirectory() as folder:
        history = ServiceHistory()
        for steps in lives:
            async with running_service(Path(folder), chunk_size=100) as history.service:
                for step, *values in steps:
                    await getattr(history, step)(*values)
        async with running_service(Path(folder), chunk_size=100) as service:
            await service.wait_idle()
            for incarnation in SPACES:
                await assert_views_agree(service, history.namespace_name(incarnation), history.model[incarnation])


async def test_the_namespaces_a_key_may_read_are_as_many_as_it_is_told(
    service: RunningService, client: ContractClient
) -> None:
    for name in ("team-a:one", "team-a:two", "team-b:one"):
        await service.add_document(name, "Ada lives in Berlin.")
    await client.ok("DELETE", "/ns/team-a:two")
    await service.add_document("team-a:two", "Ada lives in Berlin.")
    await client.ok("DELETE", "/ns/team-b:one?moveTo=team-b:two")
    await service.wait_idle()
    for prefixes in (None, ["team-a:*"], ["team-b:two", "team-a:one"], ["nobody"]):
        body = {"name": "of tests", "role": "read", "namespaces": prefixes}
        key = (await client.ok("POST", "/admin/keys", body))["key"]
        reader = client.as_key(key)
        total = (await reader.ok("GET", "/ns"))["pagination"]["totalItems"]
        assert (await reader.ok("GET", "/organization"))["namespaceCount"] == total
        names, pages = [], -(-total // 2)
        for page in range(1, pages + 1):
            names += (await reader.ok("GET", f"/namespaces?limit=2&page={page}"))["namespaces"]
        assert len({row["namespace"] for row in names}) == len(names) == total
        assert "team-b:one" not in {row["namespace"] for row in names}


async def test_the_status_counts_the_documents_that_the_namespaces_have(
    service: RunningService, client: ContractClient
) -> None:
    await service.add_document("status", "Ada lives in Berlin.")
    await service.wait_idle()
    total = (await client.ok("GET", "/ns"))["pagination"]["totalItems"]
    counts = [
        entry["documentCount"]
        for page in range(-(-total // 100))
        for entry in (await client.ok("GET", f"/ns?limit=100&page={page + 1}"))["namespaces"]
    ]
    status = await client.ok("GET", "/admin/status")
    assert status["namespaces"] == total == len(counts)
    assert sum(status["documents"].values()) == sum(counts) >= 1
    assert set(status["lag"].values()) == {0}
    assert status["deadLetters"] == {}
