"""Whatever is done in whatever order, everything that is shown afterwards agrees with itself."""

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

from pipeline.stages.operations import renamed
from tests.contract import Client
from tests.service.world import World, world

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
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    """A service with small chunks and several of everything."""
    folder = tmp_path_factory.mktemp("histories")
    async with world(folder, chunk_size=100, partitions=3, shards=2) as opened:
        yield opened


@dataclass
class Text:
    """A document as the sequential rule has it."""

    content: str
    newest: str
    """What was sent last: sent once more, it is a retry."""
    metadata: dict[str, int] = field(default_factory=dict)
    failed: bool = False
    """Whether what came after this content could not be read."""

    def append(self, said: str) -> None:
        if said == self.newest:
            return
        self.newest, self.failed = said, False
        if said.startswith(self.content):
            self.content = said
        elif said != self.content:
            self.content = f"{self.content}\n\n{said}"


class History:
    """One run: what is done to the service, and what must come out."""

    service: World

    def __init__(self) -> None:
        self.prefix = f"run{next(_runs)}"
        self.model: dict[str, dict[str, Text]] = {name: {} for name in SPACES}

    def name(self, space: str) -> str:
        return f"{self.prefix}-{space}"

    async def add(self, space: str, document: str, said: str) -> None:
        await self.service.add(self.name(space), said, id=document, dreaming="dynamic")
        there = self.model[space].get(document)
        if there is None:
            self.model[space][document] = Text(said, said)
        else:
            there.append(said)

    async def patch(self, space: str, document: str, said: str) -> None:
        if document not in self.model[space]:
            path = f"/ns/{self.name(space)}/document/{document}"
            await self.service.client.refused(404, "PATCH", path, {"content": said})
            return
        await self.service.patch(self.name(space), document, content=said, dreaming="instant")
        there = self.model[space][document]
        there.content = there.newest = said
        there.failed = False

    async def spoil(self, space: str, document: str) -> None:
        """A change that can't be read."""
        if document in self.model[space]:
            files = {"file": ("a.zip", b"PK\x03\x04", "application/zip")}
            path = f"/ns/{self.name(space)}/document/file/{document}"
            await self.service.client.ok("PATCH", path, files=files)
            self.model[space][document].newest = ""
            self.model[space][document].failed = True

    async def upload(self, space: str, document: str, said: str) -> None:
        if document in self.model[space]:
            files = {"file": ("note.txt", said.encode(), "text/plain")}
            path = f"/ns/{self.name(space)}/document/file/{document}"
            await self.service.client.ok("POST", path, files=files)
            self.model[space][document] = Text(said, "")

    async def together(self, space: str, said: str) -> None:
        """Both documents in both namespaces at the same time."""
        await asyncio.gather(*(self.add(one, document, said) for one in SPACES for document in DOCUMENTS))

    async def label(self, space: str, document: str, number: int) -> None:
        if document in self.model[space]:
            await self.service.patch(self.name(space), document, metadata={"n": number})
            self.model[space][document].metadata["n"] = number

    async def delete(self, space: str, document: str) -> None:
        answer = await self.service.delete(self.name(space), document)
        assert answer["count"] == (self.model[space].pop(document, None) is not None)

    async def forget(self, space: str, which: int) -> None:
        memories = await self.service.listed(self.name(space), "memories")
        if memories:
            ids = [memories[which % len(memories)]["id"]]
            path = f"/ns/{self.name(space)}/memories"
            answer = await self.service.client.ok("DELETE", path, {"ids": ids})
            assert answer["count"] + len(answer["errors"]) == 1  # a document may have taken it back meanwhile

    async def move(self, space: str) -> None:
        other = next(one for one in SPACES if one != space)
        target = self.name(other)
        answer = await self.service.client("DELETE", f"/ns/{self.name(space)}?moveTo={target}")
        if answer.status_code == 404:
            return
        await self.service.settled()  # what is written while a namespace moves may land on either side
        leaving = self.model[space]
        names = renamed(list(leaving), set(self.model[other]), self.name(space))
        self.model[other] |= {names.get(one, one): text for one, text in leaving.items()}
        self.model[space] = {}

    async def end(self, space: str) -> None:
        answer = await self.service.client("DELETE", f"/ns/{self.name(space)}")
        if answer.status_code == 200:
            assert answer.json()["deletedDocumentsCount"] == len(self.model[space])
        self.model[space] = {}

    async def settle(self, space: str) -> None:
        await self.service.settled()
        await agree(self.service, self.name(space), self.model[space])


async def agree(service: World, name: str, model: Mapping[str, Text]) -> None:
    """Documents, chunks, memories, counts and search of a namespace fit together."""
    documents = await service.listed(name, "documents", include={"content": True, "memoryCount": True})
    assert {one["id"]: one["content"] for one in documents} == {one: model[one].content for one in model}
    assert {one["id"]: one["metadata"] for one in documents} == {one: model[one].metadata for one in model}
    states = {one["id"]: (one["system"]["status"], one["system"]["dreamingStatus"]) for one in documents}
    assert states == {one: ("failed" if model[one].failed else "done", "done") for one in model}
    chunks = await service.listed(name, "chunks")
    assert {chunk["documentId"] for chunk in chunks} == set(model)
    for one, text in model.items():
        passages = (await service.read(name, one))["chunks"]
        assert {chunk["id"] for chunk in passages} == {
            chunk["id"] for chunk in chunks if chunk["documentId"] == one
        }
        assert [chunk["position"] for chunk in passages] == list(range(len(passages)))
        assert " ".join(chunk["content"] for chunk in passages).split() == text.content.split()
    await _memories_agree(service, name, documents)
    await _search_agrees(service, name, model, chunks)
    await _namespace_agrees(service, name, documents)


async def _memories_agree(service: World, name: str, documents: list[Any]) -> None:
    memories = await service.listed(name, "memories")
    assert all(one["isLatest"] and not one["isForgotten"] for one in memories)
    history = await service.listed(name, "memories", include={"forgotten": True})
    ids = {one["id"] for one in memories}
    assert ids == {one["id"] for one in history if one["isLatest"] and not one["isForgotten"]}
    shown = {one["id"]: one["system"]["memoryCount"] for one in documents}
    path = f"/ns/{name}/list/documents/memory-counts"
    asked = {"ids": [*shown, "unknown"]}
    counts = (await service.client.ok("POST", path, asked))["counts"]
    assert {one["id"]: one["memoryCount"] for one in counts} == shown
    supported = {one: (await service.read(name, one))["memories"] for one in shown}
    current = {one: {m["id"] for m in found if m["isLatest"]} for one, found in supported.items()}
    assert {one: len(found) for one, found in current.items()} == shown
    assert set().union(*current.values()) == ids, "a memory that no document supports, or the other way round"
    if len(ids) == sum(map(len, current.values())):
        assert sum(shown.values()) == len(ids)


async def _search_agrees(service: World, name: str, model: Mapping[str, Text], chunks: list[Any]) -> None:
    for rerank in ("none", "order"):
        found = await service.search(name, "Who lives in Berlin?", rerank=rerank)
        sources = {one["included"]["document"]["id"] for one in found}
        assert sources == set(model), "search finds every document that lives, and no other"
        ids = {one["id"] for one in found if "chunk" in one}
        assert ids == {chunk["id"] for chunk in chunks}
    memories = await service.search(name, "Who lives in Berlin?", searchMode="memories")
    listed = {one["id"] for one in await service.listed(name, "memories")}
    assert {one["id"] for one in memories} == listed
    for one in memories:
        assert one["metadata"] == model[one["included"]["document"]["id"]].metadata


async def _namespace_agrees(service: World, name: str, documents: list[Any]) -> None:
    answer = await service.client.ok("GET", f"/ns?q={name}&limit=100")
    if not answer["namespaces"]:
        assert documents == []
        return
    (listed,) = answer["namespaces"]
    memories = {one["id"] for one in await service.listed(name, "memories")}
    assert (listed["documentCount"], listed["memoryCount"]) == (len(documents), len(memories))
    profile = (await service.client.ok("POST", f"/ns/{name}/profile", {}))["profile"]
    told = {one["id"] for one in [*profile["static"], *profile["dynamic"]]}
    assert told <= memories
    assert bool(told) == bool(memories)


STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("add"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("patch"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("upload"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), SAID),
    st.tuples(st.just("spoil"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("together"), st.sampled_from(SPACES), SAID),
    st.tuples(st.just("label"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS), st.integers(0, 2)),
    st.tuples(st.just("delete"), st.sampled_from(SPACES), st.sampled_from(DOCUMENTS)),
    st.tuples(st.just("forget"), st.sampled_from(SPACES), st.integers(0, 3)),
    st.tuples(st.sampled_from(["move", "end", "settle", "settle"]), st.sampled_from(SPACES)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(steps=st.lists(STEPS, min_size=3, max_size=20))
async def test_counts_lists_searches_and_contents_agree_after_any_history(
    service: World, steps: list[tuple[Any, ...]]
) -> None:
    history = History()
    history.service = service
    for step, *values in steps:
        await getattr(history, step)(*values)
    await service.settled()
    for space in SPACES:
        await agree(service, history.name(space), history.model[space])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(lives=st.lists(st.lists(STEPS, min_size=2, max_size=8), min_size=2, max_size=4))
async def test_everything_agrees_after_any_history_in_which_the_service_is_closed_in_the_middle_of_its_work(
    lives: list[list[tuple[Any, ...]]],
) -> None:
    with TemporaryDirectory() as folder:
        history = History()
        for steps in lives:
            async with world(Path(folder), chunk_size=100) as history.service:
                for step, *values in steps:
                    await getattr(history, step)(*values)
        async with world(Path(folder), chunk_size=100) as service:
            await service.settled()
            for space in SPACES:
                await agree(service, history.name(space), history.model[space])


async def test_the_namespaces_a_key_may_read_are_as_many_as_it_is_told(
    service: World, client: Client
) -> None:
    for name in ("team-a:one", "team-a:two", "team-b:one"):
        await service.add(name, "Ada lives in Berlin.")
    await client.ok("DELETE", "/ns/team-a:two")
    await service.add("team-a:two", "Ada lives in Berlin.")
    await client.ok("DELETE", "/ns/team-b:one?moveTo=team-b:two")
    await service.settled()
    for prefixes in (None, ["team-a:*"], ["team-b:two", "team-a:one"], ["nobody"]):
        body = {"name": "of tests", "role": "read", "namespaces": prefixes}
        key = (await client.ok("POST", "/admin/keys", body))["key"]
        reader = client.as_key(key)
        total = (await reader.ok("GET", "/ns"))["pagination"]["totalItems"]
        assert (await reader.ok("GET", "/organization"))["namespaceCount"] == total
        names, pages = [], -(-total // 2)
        for page in range(1, pages + 1):
            names += (await reader.ok("GET", f"/namespaces?limit=2&page={page}"))["namespaces"]
        assert len({one["namespace"] for one in names}) == len(names) == total
        assert "team-b:one" not in {one["namespace"] for one in names}


async def test_the_status_counts_the_documents_that_the_namespaces_have(
    service: World, client: Client
) -> None:
    await service.add("status", "Ada lives in Berlin.")
    await service.settled()
    total = (await client.ok("GET", "/ns"))["pagination"]["totalItems"]
    counts = [
        one["documentCount"]
        for page in range(-(-total // 100))
        for one in (await client.ok("GET", f"/ns?limit=100&page={page + 1}"))["namespaces"]
    ]
    status = await client.ok("GET", "/admin/status")
    assert status["namespaces"] == total == len(counts)
    assert sum(status["documents"].values()) == sum(counts) >= 1
    assert set(status["lag"].values()) == {0}
    assert status["deadLetters"] == {}
