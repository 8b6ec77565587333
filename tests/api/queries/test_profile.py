"""Profiles from memories: sections, buckets, filters, bounds."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from api.queries.profile import CHARACTERS, FACTS, profile
from pipeline.index.cache import NamespaceCache
from pipeline.inference import open_embedder
from pipeline.ports import Embedder
from pipeline.rows import DocumentRow, MemoryRow, OrganizationRow
from pipeline.text.terms import hashed
from schemas.http.profile import Profile, ProfileBody, ProfileFact
from tests.fakes import EPOCH, FakeCatalog, FakeChunks, FakeDocuments, FakeMemories

pytestmark = pytest.mark.anyio


class Home:
    """A namespace `alice` with one document per fact."""

    def __init__(self, embedder: Embedder | None = None, *, limit_bytes: int = 1 << 30) -> None:
        self.embedder = embedder or open_embedder("none")
        self.documents = FakeDocuments()
        self.memories = FakeMemories()
        catalog = FakeCatalog()
        self.namespace = catalog.create("alice")
        self.cache = NamespaceCache(self.documents, FakeChunks(), self.memories, catalog, limit_bytes)
        self.organization = OrganizationRow()

    async def know(self, text: str, *, static: bool = True, key: str = "d", **fields: object) -> MemoryRow:
        at = EPOCH + timedelta(minutes=len(self.memories.rows))
        vector = (await self.embedder.documents([text]))[0]
        row = MemoryRow(
            f"m{len(self.memories.rows)}",
            "alice#0",
            text,
            (key,),
            0,
            at,
            at,
            vector,
            hashed(text),
            is_static=static,
        )
        row = replace(row, **fields)  # type: ignore[arg-type]  # whatever a test wants to be different
        document = DocumentRow(key, "alice#0", key, 0, 0, EPOCH, EPOCH, metadata={"from": key})
        await self.documents.update([key], lambda _, __: [document])
        await self.memories.update([row.id], lambda _, __: [row])
        return row

    async def profile(self, **body: object) -> Profile:
        return await profile(
            self.cache,
            self.embedder,
            self.namespace,
            self.organization,
            ProfileBody.model_validate(body),
        )


def texts(facts: list[ProfileFact]) -> list[str]:
    return [fact.memory for fact in facts]


@pytest.mark.parametrize("limit_bytes", [1 << 30, 1], ids=["in memory", "too large for memory"])
async def test_what_lasts_and_what_is_recent_newest_first(limit_bytes: int) -> None:
    home = Home(limit_bytes=limit_bytes)
    for text, static in (("one", True), ("two", False), ("three", True), ("four", False)):
        await home.know(text, static=static)
    found = await home.profile()
    assert (texts(found.static), texts(found.dynamic)) == (["three", "one"], ["four", "two"])


async def test_an_empty_namespace_has_all_sections_and_the_default_bucket() -> None:
    found = await Home().profile()
    assert (found.static, found.dynamic, found.buckets) == ([], [], {"preferences": []})


async def test_replaced_forgotten_and_orphaned_facts_are_left_out() -> None:
    home = Home()
    await home.know("old", is_latest=False)
    await home.know("forgotten", is_latest=False, forgotten_at=EPOCH)
    await home.know("orphan", key="gone")
    await home.documents.update(["gone"], lambda _, __: [])
    assert (await home.profile()).static == []


async def test_sections_are_bounded_in_facts_and_in_characters() -> None:
    home = Home()
    for number in range(FACTS + 5):
        await home.know(f"short {number}")
        await home.know(f"{number} " + "long " * 60, static=False)
    found = await home.profile()
    assert len(found.static) == FACTS
    assert sum(map(len, texts(found.dynamic))) <= CHARACTERS
    assert found.dynamic


async def test_a_filter_looks_at_the_metadata_of_the_sources() -> None:
    home = Home()
    await home.know("mine", key="a")
    await home.know("other", key="b")
    found = await home.profile(filter={"field": "from", "operator": "eq", "value": "a"})
    assert texts(found.static) == ["mine"]


async def test_facts_go_into_the_buckets_that_they_belong_to() -> None:
    home = Home(open_embedder("wordllama"))
    home.namespace = replace(
        home.namespace, buckets={"work": "Jobs, employers, projects", "health": "Allergies, diet"}
    )
    for text in ("User works at Acme as an engineer", "User is allergic to peanuts", "The build failed"):
        await home.know(text)
    found = await home.profile()
    assert {name: texts(facts) for name, facts in found.buckets.items()} == {
        "work": ["User works at Acme as an engineer"],
        "health": ["User is allergic to peanuts"],
    }


async def test_likes_are_preferences_where_nothing_is_configured() -> None:
    home = Home(open_embedder("wordllama"))
    for text in ("User likes green tea", "User's favourite colour is green", "User lives in Berlin"):
        await home.know(text)
    found = await home.profile()
    assert texts(found.buckets["preferences"]) == ["User's favourite colour is green", "User likes green tea"]


async def test_the_organization_wins_and_only_requested_buckets_are_shown() -> None:
    home = Home()
    home.namespace = replace(home.namespace, buckets={"work": "boats", "health": "allergies"})
    home.organization = OrganizationRow(buckets={"work": "employers and jobs at companies"})
    await home.know("User changed jobs and employers")
    found = await home.profile(buckets=["work", "unknown"])
    assert {name: texts(facts) for name, facts in found.buckets.items()} == {
        "work": ["User changed jobs and employers"],
        "unknown": [],
    }
    assert np.all(home.memories.rows[0].vector == 0)
