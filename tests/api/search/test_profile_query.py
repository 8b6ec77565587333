"""Profiles from memories: sections, buckets, filters, bounds."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.search.profile_query import ProfileQuery
from pipeline.errors import NotReadyError
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.profile.profile_cache import ProfileCache
from pipeline.rows import DocumentRow, MemoryColumns, MemoryRow, OrganizationRow
from pipeline.text.analyzer import hash_terms
from schemas.http.v5.profile_bodies import Profile, ProfileBody, ProfileFact
from tests.support.fakes import (
    EPOCH,
    UNUSED_DIR,
    FakeCatalog,
    FakeChunkTable,
    FakeDocumentTable,
    FakeMemoryTable,
    FixedClock,
)

pytestmark = pytest.mark.anyio


class Home:
    """A namespace `alice` with one document per fact."""

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        limit_bytes: int = 1 << 30,
        memories: FakeMemoryTable | None = None,
    ) -> None:
        self.embedder = embedder or open_embedder("none")
        self.documents = FakeDocumentTable()
        self.memories = memories or FakeMemoryTable()
        catalog = FakeCatalog()
        self.namespace = catalog.create("alice")
        self.cache = NamespaceIndexCache(
            self.documents, FakeChunkTable(), self.memories, catalog, limit_bytes, folder=UNUSED_DIR
        )
        self.profiles = ProfileCache(
            documents=self.documents,
            memories=self.memories,
            catalog=catalog,
            embedder=self.embedder,
            clock=FixedClock(),
        )
        self.catalog = catalog
        self.organization = OrganizationRow()

    def define(self, **buckets: str) -> None:
        self.namespace = self.catalog.namespaces_by_name["alice"] = replace(self.namespace, buckets=buckets)

    async def know(self, text: str, *, static: bool = True, key: str = "d", **fields: object) -> MemoryRow:
        at = EPOCH + timedelta(minutes=len(self.memories.rows))
        vector = (await self.embedder.embed_documents([text]))[0]
        row = MemoryRow(
            f"m{len(self.memories.rows)}",
            "alice#0",
            text,
            (key,),
            0,
            at,
            at,
            vector,
            hash_terms(text),
            is_static=static,
        )
        row = replace(row, **fields)  # type: ignore[arg-type]  # whatever a test wants to be different
        document = DocumentRow(key, "alice#0", key, 0, 0, EPOCH, EPOCH, metadata={"from": key})
        await self.documents.update([key], lambda _, __: [document])
        await self.memories.update([row.id], lambda _, __: [row])
        return row

    async def profile(self, **body: object) -> Profile:
        return await ProfileQuery(self.profiles, self.cache, FixedClock())(
            self.namespace, self.organization, ProfileBody.model_validate(body)
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


async def test_a_filter_looks_at_the_metadata_of_the_sources() -> None:
    home = Home()
    await home.know("mine", key="a")
    await home.know("other", key="b")
    found = await home.profile(filter={"field": "from", "operator": "eq", "value": "a"})
    assert texts(found.static) == ["mine"]


async def test_facts_go_into_the_buckets_that_they_belong_to() -> None:
    home = Home(open_embedder("wordllama"))
    home.define(work="Jobs, employers, projects", health="Allergies, diet")
    for text in (
        "User works at Acme as an engineer",
        "User is allergic to peanuts",
        "The museum closes at six",
    ):
        await home.know(text)
    found = await home.profile()
    assert {name: texts(facts) for name, facts in found.buckets.items()} == {
        "work": ["User works at Acme as an engineer"],
        "health": ["User is allergic to peanuts"],
    }


async def test_a_filter_narrows_buckets_too() -> None:
    home = Home(open_embedder("wordllama"))
    home.define(work="Jobs, employers, projects")
    await home.know("User works at Acme as an engineer", key="a")
    await home.know("User has a new job at Initech", key="b")
    for _ in range(2):  # what is remembered of the first says the same
        found = await home.profile(filter={"field": "from", "operator": "eq", "value": "a"})
        assert texts(found.buckets["work"]) == ["User works at Acme as an engineer"]


async def test_likes_are_preferences_where_nothing_is_configured() -> None:
    home = Home(open_embedder("wordllama"))
    for text in ("User likes green tea", "User's favourite colour is green", "User lives in Berlin"):
        await home.know(text)
    found = await home.profile()
    assert texts(found.buckets["preferences"]) == ["User's favourite colour is green", "User likes green tea"]


async def test_the_organization_wins_and_only_requested_buckets_are_shown() -> None:
    home = Home()
    home.define(work="boats", health="allergies")
    home.organization = OrganizationRow(buckets={"work": "employers and jobs at companies"})
    await home.know("User changed jobs and employers")
    found = await home.profile(buckets=["work", "unknown"])
    assert {name: texts(facts) for name, facts in found.buckets.items()} == {
        "work": ["User changed jobs and employers"],
        "unknown": [],
    }
    assert np.all(home.memories.rows[0].vector == 0)


FROM_A = {"field": "from", "operator": "eq", "value": "a"}
STEPS = st.lists(
    st.tuples(st.sampled_from(["slept", "ate", "ran"]), st.sampled_from("ab"), st.booleans())
    | st.sampled_from(["ask", "wait", "define", "forget", "delete"]),
    max_size=14,
)


@given(STEPS)
@settings(max_examples=40, deadline=None)
async def test_what_was_narrowed_before_is_what_it_would_be_now(
    steps: list[tuple[str, str, bool] | str],
) -> None:
    home, clock = Home(), FixedClock(EPOCH + timedelta(days=20))
    kept = ProfileQuery(home.profiles, home.cache, clock)
    for step in [*steps, "ask"]:
        match step:
            case (str(text), str(key), bool(static)):
                await home.know(text, key=key, static=static)
            case "wait":
                clock.advance(20 * 24 * 3600)
            case "define":
                home.define(work=f"Jobs {len(home.namespace.buckets)}")
            case "forget":
                deleted = [row.id for row in home.memories.rows[:1]]
                await home.memories.update(deleted, lambda _, rows: [replace(rows[0], forgotten_at=EPOCH)])
            case "delete":
                await home.documents.update(["a"], lambda _, __: [])
            case "ask":
                for expression in (FROM_A, FROM_A | {"value": "b"}, FROM_A):
                    body = ProfileBody.model_validate({"filter": expression})
                    fresh = ProfileQuery(home.profiles, home.cache, clock)
                    found = await kept(home.namespace, home.organization, body)
                    assert found == await fresh(home.namespace, home.organization, body)


async def test_a_filter_that_was_asked_for_before_costs_nothing_until_something_changes() -> None:
    home = Home()
    await home.know("mine", key="a")
    kept = ProfileQuery(home.profiles, home.cache, FixedClock())
    body = ProfileBody.model_validate({"filter": FROM_A})
    expression = body.filter
    first = await kept.snapshot(home.namespace, home.organization, expression)
    assert await kept.snapshot(home.namespace, home.organization, expression) is first
    await home.know("new", key="a")
    again = await kept.snapshot(home.namespace, home.organization, expression)
    assert [fact.text for fact in again.static] == ["new", "mine"]


@pytest.mark.parametrize("expression", [None, FROM_A])
async def test_who_asks_while_a_large_namespace_is_read_is_told_when_to_ask_again(
    expression: dict[str, object] | None,
) -> None:
    class Large(FakeMemoryTable):
        """Read once it may be."""

        def __init__(self) -> None:
            super().__init__()
            self.may, self.readings = asyncio.Event(), 0

        async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[MemoryColumns]:
            self.readings += 1
            await self.may.wait()
            async for batch in super().stream(incarnations):
                yield batch

    memories = Large()
    home = Home(memories=memories)
    await home.know("mine", key="a")
    asked = ProfileBody.model_validate({"filter": expression}).filter
    hurried = ProfileQuery(home.profiles, home.cache, FixedClock(), timeout_seconds=0)
    for _ in range(2):
        with pytest.raises(NotReadyError, match="alice are being read") as raised:
            await hurried.snapshot(home.namespace, home.organization, asked)
        assert raised.value.retry_after_seconds > 0
    memories.may.set()
    patient = ProfileQuery(home.profiles, home.cache, FixedClock())
    found = await patient.snapshot(home.namespace, home.organization, asked)
    assert [fact.text for fact in found.static] == ["mine"]
    assert memories.readings == 1
