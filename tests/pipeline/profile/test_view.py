"""What is kept up to date is what a fresh look at the table says."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inference import open_embedder
from pipeline.ports import Embedder
from pipeline.profile import holding, view
from pipeline.profile.sections import Portrait
from pipeline.profile.view import AT_ONCE, Profiles
from pipeline.rows import DocumentRow, MemoryColumns, MemoryRow, NamespaceRow, OrganizationRow, Vector
from pipeline.text.terms import hashed
from tests.fakes import EPOCH, FakeCatalog, FakeDocuments, FakeMemories, FixedClock
from tests.pipeline.store.samples import DIMENSIONS, opened
from tests.pipeline.store.samples import memory as stored_memory

pytestmark = pytest.mark.anyio

FLAT = np.zeros(1, np.float32)
NOBODY = OrganizationRow()


class Home:
    """The namespace `alice`, whose buckets go by words."""

    def __init__(self, embedder: Embedder | None = None, capacity: int = 1000) -> None:
        self.documents, self.memories = FakeDocuments(), FakeMemories()
        self.catalog = FakeCatalog()
        self.catalog.create("alice", buckets={"work": "employers and jobs"})
        self.embedder = embedder or open_embedder("none")
        self.capacity = capacity
        self.profiles = self.fresh()

    @property
    def namespace(self) -> NamespaceRow:
        return self.catalog.names["alice"]

    def fresh(self) -> Profiles:
        return Profiles(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            embedder=self.embedder,
            clock=FixedClock(),
            capacity=self.capacity,
        )

    async def put(self, rows: Mapping[str, MemoryRow | None]) -> None:
        def change(one: str, _: object) -> list[MemoryRow]:
            row = rows[one]
            return [] if row is None else [row]

        await self.memories.update(list(rows), change)

    async def portrait(self) -> Portrait:
        return await self.profiles.portrait(self.namespace, NOBODY)

    async def dynamic(self) -> list[str]:
        return [one.text for one in (await self.portrait()).dynamic]


class Moody:
    """An embedder that is away at first."""

    name, dimensions, away = "moody", 1, True

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.away:
            raise OSError("away")
        return [FLAT for _ in texts]

    async def query(self, text: str, weight: object = None) -> Vector:
        return FLAT


def memory(id_: str, text: str, minute: int = 0, **fields: object) -> MemoryRow:
    at = EPOCH + timedelta(minutes=minute)
    row = MemoryRow(id_, "alice#0", text, ("d",), 0, at, at, FLAT, hashed(text))
    return replace(row, **fields)  # type: ignore[arg-type]  # whatever a test wants to be different


STATES = st.none() | st.fixed_dictionaries(
    {
        "minute": st.integers(0, 40),
        "is_static": st.booleans(),
        "is_latest": st.booleans(),
        "forgotten_at": st.sampled_from([None, None, None, EPOCH]),
        "date": st.sampled_from([None, "2025-01-01", "2025-06", "no date"]),
        "text": st.sampled_from(["Ada has new jobs and employers", "Ada slept", "Ada lives in Rome"]),
    }
)
CHANGES = st.lists(st.tuples(st.integers(0, 14), STATES, st.booleans()), max_size=60)


@given(CHANGES)
@settings(max_examples=40, deadline=None)
async def test_whatever_changes_it_is_what_the_table_says(changes: list[tuple[int, object, bool]]) -> None:
    home = Home()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holding, "KEPT", 4)
        patch.setattr(holding, "FEW", 2)
        for number, state, ask in changes:
            id_ = f"m{number}"
            fields = dict(state) if isinstance(state, dict) else None
            row = None if fields is None else memory(id_, fields.pop("text") + f" {number}", **fields)
            await home.put({id_: row})
            if ask:
                await home.portrait()
        kept = await home.portrait()
        assert kept == await home.fresh().portrait(home.namespace, NOBODY)


async def test_a_change_shows_at_the_next_question() -> None:
    home = Home()
    assert await home.dynamic() == []
    await home.put({"a": memory("a", "Ada slept")})
    assert await home.dynamic() == ["Ada slept"]
    await home.put({"a": memory("a", "Ada slept", is_latest=False)})
    assert await home.dynamic() == []


async def test_many_changes_wait_for_nobody() -> None:
    home = Home()
    await home.portrait()
    count = 2 * AT_ONCE + 5
    await home.put(
        {f"m{number}": memory(f"m{number}", f"Ada did thing {number}", number) for number in range(count)}
    )
    assert (await home.dynamic())[0] == f"Ada did thing {count - 1}"


async def test_what_was_cut_off_comes_back_when_the_rest_goes() -> None:
    home = Home()
    await home.portrait()
    count = 2 * holding.KEPT + 10
    rows = {
        f"m{number:04}": memory(f"m{number:04}", f"Ada did thing {number}", number) for number in range(count)
    }
    await home.put(rows)
    await home.put(dict.fromkeys(list(rows)[5:]))
    assert await home.dynamic() == [f"Ada did thing {number}" for number in reversed(range(5))]


async def test_a_fact_goes_with_its_last_document_at_once() -> None:
    home = Home()
    document = DocumentRow("d", "alice#0", "d", 0, 0, EPOCH, EPOCH)
    await home.documents.update(["d"], lambda _, __: [document])
    await home.put({"a": memory("a", "Ada slept"), "b": memory("b", "Ada ate", sources=("d", "e"))})
    assert await home.dynamic() == ["Ada slept", "Ada ate"]
    await home.documents.update(["d"], lambda _, __: [])
    assert await home.dynamic() == ["Ada ate"]
    await home.documents.update(["d"], lambda _, __: [document])
    assert await home.dynamic() == ["Ada slept", "Ada ate"]


async def test_changed_descriptions_sort_everything_anew() -> None:
    home = Home()
    await home.put({"a": memory("a", "Ada has two cats and three dogs")})
    assert (await home.portrait()).buckets == {"work": []}
    home.catalog.names["alice"] = replace(home.namespace, buckets={"animals": "cats and dogs"})
    found = (await home.portrait()).buckets
    assert {name: [one.id for one in facts] for name, facts in found.items()} == {"animals": ["a"]}


class Gated(FakeMemories):
    """Reads on when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()

    async def stream(self, spaces: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        async for batch in super().stream(spaces):
            yield batch
            await self.open.wait()


@pytest.mark.parametrize("whose", ["namespace", "organization"])
async def test_no_question_waits_while_many_memories_are_sorted_into_buckets_that_are_described_anew(
    whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "SMALL", 0)
    home, gated = Home(), Gated()
    home.memories = gated
    home.profiles = home.fresh()
    organization = OrganizationRow()

    async def sorted_() -> dict[str, list[str]]:
        found = (await home.profiles.portrait(home.namespace, organization)).buckets
        return {name: [one.id for one in facts] for name, facts in found.items()}

    await home.put(
        {"a": memory("a", "Ada has new jobs and employers"), "b": memory("b", "Ada has cats and dogs")}
    )
    assert await sorted_() == {"work": ["a"]}
    gated.open.clear()
    anew = {"work": "cats and dogs"}
    if whose == "organization":
        organization = OrganizationRow(buckets={**anew, "fun": "games and films"})
    else:
        home.catalog.names["alice"] = replace(home.namespace, buckets={**anew, "fun": "games and films"})
    assert await sorted_() == {"work": ["a"], "fun": []}
    await home.put(
        {"c": memory("c", "Bea likes jobs and employers", 1), "d": memory("d", "Bea has cats and dogs", 2)}
    )
    assert await sorted_() == {"work": ["c", "a"], "fun": []}
    gated.open.set()
    loading = home.profiles._entries["alice"].loading
    assert loading is not None
    await loading
    assert await sorted_() == {"work": ["d", "b"], "fun": []}


async def test_what_is_sorted_stays_where_sorting_it_anew_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "SMALL", 0)
    home = Home(Moody())
    home.embedder.away = False  # type: ignore[attr-defined]  # Moody's own
    await home.put({"a": memory("a", "Ada has new jobs and employers")})
    assert (await home.portrait()).buckets["work"]
    home.embedder.away = True  # type: ignore[attr-defined]  # as above
    home.catalog.names["alice"] = replace(home.namespace, buckets={"work": "cats and dogs"})
    for _ in range(2):
        assert [one.id for one in (await home.portrait()).buckets["work"]] == ["a"]
        loading = home.profiles._entries["alice"].loading
        assert loading is not None
        await asyncio.wait([loading])
    home.embedder.away = False  # type: ignore[attr-defined]  # as above
    await home.portrait()
    loading = home.profiles._entries["alice"].loading
    assert loading is not None
    await loading
    assert (await home.portrait()).buckets == {"work": []}


async def test_spaces_that_move_take_their_facts_along() -> None:
    home = Home()
    await home.put({"a": memory("a", "Ada slept"), "b": memory("b", "Bob ate", space="bob#0")})
    assert await home.dynamic() == ["Ada slept"]
    home.catalog.names["alice"] = replace(home.namespace, spaces=("alice#0", "bob#0"))
    assert await home.dynamic() == ["Ada slept", "Bob ate"]
    await home.put({"b": None})
    assert await home.dynamic() == ["Ada slept"]


async def test_only_so_many_facts_are_held() -> None:
    home = Home(capacity=1)
    home.catalog.create("bob")
    await home.put({"a": memory("a", "Ada slept"), "b": memory("b", "Bob ate", space="bob#0")})
    assert await home.dynamic() == ["Ada slept"]
    bob = await home.profiles.portrait(home.catalog.names["bob"], NOBODY)
    assert [one.text for one in bob.dynamic] == ["Bob ate"]
    assert list(home.profiles._entries) == ["bob"]
    await home.put({"a": None})
    assert await home.dynamic() == []


async def test_an_embedder_that_does_not_answer_is_asked_again() -> None:
    moody = Moody()
    home = Home(moody)
    with pytest.raises(OSError, match="away"):
        await home.portrait()
    moody.away = False
    assert await home.dynamic() == []


class Blank:
    """No embedder, of the width of the sample tables."""

    name, dimensions = "blank", DIMENSIONS

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        return [np.zeros(DIMENSIONS, np.float32) for _ in texts]

    async def query(self, text: str, weight: object = None) -> Vector:
        return np.zeros(DIMENSIONS, np.float32)


async def test_what_another_process_changes_shows_when_it_is_followed(tmp_path: Path) -> None:
    ours, theirs = await opened(tmp_path, shared=True), await opened(tmp_path, shared=True)
    catalog = FakeCatalog()
    namespace = catalog.create("alice")
    profiles = Profiles(
        documents=ours.documents,
        memories=ours.memories,
        catalog=catalog,
        embedder=Blank(),
        clock=FixedClock(),
    )
    assert (await profiles.portrait(namespace, NOBODY)).dynamic == []
    row = stored_memory("Ada slept", ["d"])
    await theirs.memories.update([row.id], lambda _, __: [row])
    await ours.refresh()
    assert [one.text for one in (await profiles.portrait(namespace, NOBODY)).dynamic] == ["Ada slept"]
    await theirs.memories.update([row.id], lambda _, __: [])
    await ours.refresh()
    assert (await profiles.portrait(namespace, NOBODY)).dynamic == []
