"""Incrementally maintained profiles equal those built from the table."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.profile import profile_cache, profile_state
from pipeline.profile.profile_cache import MAX_PENDING_CHANGES, ProfileCache
from pipeline.profile.profile_sections import ProfileSnapshot
from pipeline.rows import DocumentRow, MemoryColumns, MemoryRow, NamespaceRow, OrganizationRow, Vector
from pipeline.text.analyzer import hash_terms
from tests.support.fakes import EPOCH, FakeCatalog, FakeDocumentTable, FakeMemoryTable, FixedClock
from tests.support.store_rows import DIMENSIONS, open_test_store
from tests.support.store_rows import memory as stored_memory

pytestmark = pytest.mark.anyio

ZERO_VECTOR = np.zeros(1, np.float32)
NO_ORGANIZATION = OrganizationRow()


class ProfileCacheHarness:
    """A profile of the namespace `alice`, with buckets decided by words."""

    def __init__(self, embedder: Embedder | None = None, capacity: int = 1000) -> None:
        self.documents, self.memories = FakeDocumentTable(), FakeMemoryTable()
        self.catalog = FakeCatalog()
        self.catalog.create("alice", buckets={"work": "employers and jobs"})
        self.embedder = embedder or open_embedder("none")
        self.capacity = capacity
        self.profiles = self.new_cache()

    @property
    def namespace(self) -> NamespaceRow:
        return self.catalog.namespaces_by_name["alice"]

    def new_cache(self) -> ProfileCache:
        return ProfileCache(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            embedder=self.embedder,
            clock=FixedClock(),
            capacity=self.capacity,
        )

    async def put_memories(self, rows: Mapping[str, MemoryRow | None]) -> None:
        def change(key: str, _: object) -> list[MemoryRow]:
            row = rows[key]
            return [] if row is None else [row]

        await self.memories.update(list(rows), change)

    async def get_profile(self) -> ProfileSnapshot:
        return await self.profiles.get_profile(self.namespace, NO_ORGANIZATION)

    async def dynamic_texts(self) -> list[str]:
        return [entry.text for entry in (await self.get_profile()).dynamic]


class FlakyEmbedder:
    """An embedder whose first call fails."""

    name, dimensions, away = "moody", 1, True

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.away:
            raise OSError("away")
        return [ZERO_VECTOR for _ in texts]

    async def embed_query(self, text: str, term_weight: object = None) -> Vector:
        if self.away:
            raise OSError("away")
        return ZERO_VECTOR


def memory(id_: str, text: str, minute: int = 0, **fields: object) -> MemoryRow:
    at = EPOCH + timedelta(minutes=minute)
    row = MemoryRow(id_, "alice#0", text, ("d",), 0, at, at, ZERO_VECTOR, hash_terms(text))
    return replace(row, **fields)  # type: ignore[arg-type]  # whatever a test wants to be different


STATES = st.none() | st.fixed_dictionaries(
    {
        "minute": st.integers(0, 40),
        "is_static": st.booleans(),
        "is_latest": st.booleans(),
        "forgotten_at": st.sampled_from([None, None, None, EPOCH]),
        "date": st.sampled_from([None, "2025-01-01", "2025-06", "no date"]),
        "text": st.sampled_from(["Ada has new jobs and employers", "Ada is away", "Ada lives in Rome"]),
    }
)
CHANGES = st.lists(st.tuples(st.integers(0, 14), STATES, st.booleans()), max_size=60)


@given(CHANGES)
@settings(max_examples=40, deadline=None)
async def test_a_maintained_profile_equals_one_built_from_the_table(
    changes: list[tuple[int, object, bool]],
) -> None:
    home = ProfileCacheHarness()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile_state, "SECTION_CAPACITY", 4)
        patch.setattr(profile_state, "MIN_SECTION_SIZE", 2)
        for number, state, ask in changes:
            id_ = f"m{number}"
            fields = dict(state) if isinstance(state, dict) else None
            row = None if fields is None else memory(id_, fields.pop("text") + f" {number}", **fields)
            await home.put_memories({id_: row})
            if ask:
                await home.get_profile()
        kept = await home.get_profile()
        assert kept == await home.new_cache().get_profile(home.namespace, NO_ORGANIZATION)


async def test_a_change_is_visible_in_the_next_profile() -> None:
    home = ProfileCacheHarness()
    assert await home.dynamic_texts() == []
    await home.put_memories({"a": memory("a", "Ada is away")})
    assert await home.dynamic_texts() == ["Ada is away"]
    await home.put_memories({"a": memory("a", "Ada is away", is_latest=False)})
    assert await home.dynamic_texts() == []


async def test_many_pending_changes_are_applied_without_a_request() -> None:
    home = ProfileCacheHarness()
    await home.get_profile()
    count = 2 * MAX_PENDING_CHANGES + 5
    await home.put_memories(
        {f"m{number}": memory(f"m{number}", f"Ada is at thing {number}", number) for number in range(count)}
    )
    assert (await home.dynamic_texts())[0] == f"Ada is at thing {count - 1}"


async def test_evicted_facts_return_when_others_are_deleted() -> None:
    home = ProfileCacheHarness()
    await home.get_profile()
    count = 2 * profile_state.SECTION_CAPACITY + 10
    rows = {f"m{number:04}": memory(f"m{number:04}", f"Ada is at thing {number}", number) for number in range(count)}
    await home.put_memories(rows)
    await home.put_memories(dict.fromkeys(list(rows)[5:]))
    assert await home.dynamic_texts() == [f"Ada is at thing {number}" for number in reversed(range(5))]


async def test_a_fact_disappears_with_its_last_document_at_once() -> None:
    home = ProfileCacheHarness()
    document = DocumentRow("d", "alice#0", "d", 0, 0, EPOCH, EPOCH)
    await home.documents.update(["d"], lambda _, __: [document])
    await home.put_memories({"a": memory("a", "Ada is away"), "b": memory("b", "Ada is eating", sources=("d", "e"))})
    assert await home.dynamic_texts() == ["Ada is away", "Ada is eating"]
    await home.documents.update(["d"], lambda _, __: [])
    assert await home.dynamic_texts() == ["Ada is eating"]
    await home.documents.update(["d"], lambda _, __: [document])
    assert await home.dynamic_texts() == ["Ada is away", "Ada is eating"]


async def test_changed_bucket_descriptions_reclassify_everything() -> None:
    home = ProfileCacheHarness()
    await home.put_memories({"a": memory("a", "Ada has two cats and three dogs")})
    assert (await home.get_profile()).buckets == {"work": []}
    home.catalog.namespaces_by_name["alice"] = replace(home.namespace, buckets={"animals": "cats and dogs"})
    buckets = (await home.get_profile()).buckets
    assert {name: [entry.id for entry in facts] for name, facts in buckets.items()} == {"animals": ["a"]}


class GatedMemories(FakeMemoryTable):
    """A memory table whose stream waits for a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        async for batch in super().stream(incarnations):
            yield batch
            await self.may_continue.wait()


@pytest.mark.parametrize("whose", ["namespace", "organization"])
async def test_no_request_waits_for_the_reclassification_of_many_memories(
    whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_cache, "MAX_FACTS_RECLASSIFIED_INLINE", 0)
    home, gated = ProfileCacheHarness(), GatedMemories()
    home.memories = gated
    home.profiles = home.new_cache()
    organization = OrganizationRow()

    async def sorted_() -> dict[str, list[str]]:
        buckets = (await home.profiles.get_profile(home.namespace, organization)).buckets
        return {name: [entry.id for entry in facts] for name, facts in buckets.items()}

    await home.put_memories(
        {"a": memory("a", "Ada has new jobs and employers"), "b": memory("b", "Ada has cats and dogs")}
    )
    assert await sorted_() == {"work": ["a"]}
    gated.may_continue.clear()
    anew = {"work": "cats and dogs"}
    if whose == "organization":
        organization = OrganizationRow(buckets={**anew, "fun": "games and films"})
    else:
        home.catalog.namespaces_by_name["alice"] = replace(home.namespace, buckets={**anew, "fun": "games and films"})
    assert await sorted_() == {"work": ["a"], "fun": []}
    await home.put_memories(
        {"c": memory("c", "Bea likes jobs and employers", 1), "d": memory("d", "Bea has cats and dogs", 2)}
    )
    assert await sorted_() == {"work": ["c", "a"], "fun": []}
    gated.may_continue.set()
    loading = home.profiles._entries["alice"].load_task
    assert loading is not None
    await loading
    assert await sorted_() == {"work": ["d", "b"], "fun": []}


async def test_buckets_stay_when_reclassification_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_cache, "MAX_FACTS_RECLASSIFIED_INLINE", 0)
    home = ProfileCacheHarness(FlakyEmbedder())
    home.embedder.away = False  # type: ignore[attr-defined]  # Moody's own
    await home.put_memories({"a": memory("a", "Ada has new jobs and employers")})
    assert (await home.get_profile()).buckets["work"]
    home.embedder.away = True  # type: ignore[attr-defined]  # as above
    home.catalog.namespaces_by_name["alice"] = replace(home.namespace, buckets={"work": "cats and dogs"})
    for _ in range(2):
        assert [entry.id for entry in (await home.get_profile()).buckets["work"]] == ["a"]
        loading = home.profiles._entries["alice"].load_task
        assert loading is not None
        await asyncio.wait([loading])
    home.embedder.away = False  # type: ignore[attr-defined]  # as above
    await home.get_profile()
    loading = home.profiles._entries["alice"].load_task
    assert loading is not None
    await loading
    assert (await home.get_profile()).buckets == {"work": []}


async def test_moved_incarnations_take_their_facts_along() -> None:
    home = ProfileCacheHarness()
    await home.put_memories({"a": memory("a", "Ada is away"), "b": memory("b", "Bob is away", incarnation="bob#0")})
    assert await home.dynamic_texts() == ["Ada is away"]
    home.catalog.namespaces_by_name["alice"] = replace(home.namespace, incarnations=("alice#0", "bob#0"))
    assert await home.dynamic_texts() == ["Ada is away", "Bob is away"]
    await home.put_memories({"b": None})
    assert await home.dynamic_texts() == ["Ada is away"]


async def test_the_number_of_cached_facts_is_bounded() -> None:
    home = ProfileCacheHarness(capacity=1)
    home.catalog.create("bob")
    await home.put_memories({"a": memory("a", "Ada is away"), "b": memory("b", "Bob is away", incarnation="bob#0")})
    assert await home.dynamic_texts() == ["Ada is away"]
    bob = await home.profiles.get_profile(home.catalog.namespaces_by_name["bob"], NO_ORGANIZATION)
    assert [entry.text for entry in bob.dynamic] == ["Bob is away"]
    assert list(home.profiles._entries) == ["bob"]
    await home.put_memories({"a": None})
    assert await home.dynamic_texts() == []


async def test_a_failed_embedder_is_called_again() -> None:
    moody = FlakyEmbedder()
    home = ProfileCacheHarness(moody)
    with pytest.raises(OSError, match="away"):
        await home.get_profile()
    moody.away = False
    assert await home.dynamic_texts() == []


class ZeroEmbedder:
    """An embedder of zero vectors, with the width of the sample tables."""

    name, dimensions = "blank", DIMENSIONS

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [np.zeros(DIMENSIONS, np.float32) for _ in texts]

    async def embed_query(self, text: str, term_weight: object = None) -> Vector:
        return np.zeros(DIMENSIONS, np.float32)


async def test_changes_of_another_process_become_visible(tmp_path: Path) -> None:
    ours, theirs = await open_test_store(tmp_path, shared=True), await open_test_store(tmp_path, shared=True)
    catalog = FakeCatalog()
    namespace = catalog.create("alice")
    profiles = ProfileCache(
        documents=ours.documents,
        memories=ours.memories,
        catalog=catalog,
        embedder=ZeroEmbedder(),
        clock=FixedClock(),
    )
    assert (await profiles.get_profile(namespace, NO_ORGANIZATION)).dynamic == []
    row = stored_memory("Ada is away", ["d"])
    await theirs.memories.update([row.id], lambda _, __: [row])
    await ours.refresh()
    assert [entry.text for entry in (await profiles.get_profile(namespace, NO_ORGANIZATION)).dynamic] == ["Ada is away"]
    await theirs.memories.update([row.id], lambda _, __: [])
    await ours.refresh()
    assert (await profiles.get_profile(namespace, NO_ORGANIZATION)).dynamic == []
