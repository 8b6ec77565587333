"""What versions may depend on is found step by step, and what was looked up is not read again."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.cache import NamespaceCache
from pipeline.memory.ledger import Ledger, compared, keys_of, places
from pipeline.memory.recent import Recent
from pipeline.memory.slots.reading import slots
from pipeline.rows import MemoryRow
from schemas.events import Relation
from tests.fakes import HELD as FOLDER
from tests.fakes import FakeCatalog, FakeChunks, FakeDocuments, FakeMemories
from tests.pipeline.store.samples import document, memory, opened, store_memories

pytestmark = pytest.mark.anyio

SPACE = "alice#0"


class Counted(FakeMemories):
    """Counts how often a memory was read by its id once a key had led to it."""

    def __init__(self) -> None:
        super().__init__()
        self.led_to: set[str] = set()
        self.again = Counter[str]()
        self.asked: list[str] = []

    async def get(self, groups: Collection[str]) -> dict[str, list[MemoryRow]]:
        self.again.update(one for one in groups if one in self.led_to)
        return await super().get(groups)

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        self.asked += keys
        found = await super().keyed(spaces, keys)
        self.led_to |= {row.id for row in found}
        return found


class CountedIndex:
    """Holds nothing, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        self.asked += keys
        return []


def _version(city: str, *before: MemoryRow) -> MemoryRow:
    relations = tuple(Relation(kind="updates", target=one.id, why="moved") for one in before)
    row = memory(f"User lives in {city}", ["p"], relations=relations)
    return replace(row, keys=keys_of(row))


@pytest.mark.parametrize("first", [0, 1, 2, 3])
async def test_a_family_is_found_from_any_of_it_and_what_a_key_led_to_is_not_read_again(first: int) -> None:
    rome = _version("Rome")
    oslo = _version("Oslo", rome)
    lima = _version("Lima", oslo)
    chain = [rome, oslo, lima, _version("Bonn", lima)]
    table = Counted()
    table.groups = {row.id: [row] for row in chain}
    facts = await Ledger(table).around([SPACE], {chain[first].id: chain[first]})
    assert {fact.id for fact in facts} == {row.id for row in chain}
    assert not table.again


CITIES = ("Rome", "Oslo", "Lima")
PEOPLE = ("Ann", "Bob")
SAID = [f"{who} lives in {city}" for who in PEOPLE for city in CITIES]
HELD = st.none() | st.fixed_dictionaries({"is_latest": st.booleans(), "sources": st.sampled_from("pq")})
STEPS = st.lists(
    st.tuples(st.sampled_from(SAID), st.sampled_from((SPACE, "bob#0")), HELD)
    | st.tuples(st.sampled_from(PEOPLE), st.sampled_from(([SPACE], [SPACE, "bob#0"]))),
    max_size=30,
)


def _lives(text: str, space: str, sources: Sequence[str] = "p", *, is_latest: bool = True) -> MemoryRow:
    row = memory(text, list(sources), space=space, is_latest=is_latest)
    return replace(row, keys=keys_of(row))


async def _put(table: FakeMemories, id_: str, row: MemoryRow | None) -> None:
    await table.update([id_], lambda _, __: [] if row is None else [row])


def _index(table: FakeMemories) -> NamespaceCache:
    """What holds a namespace of two spaces, with the documents that its memories are from."""
    catalog, documents = FakeCatalog(), FakeDocuments()
    catalog.names["alice"] = replace(catalog.create("alice"), spaces=(SPACE, "bob#0"))
    documents.groups = {key: [document(key, key=key)] for key in "pq"}
    return NamespaceCache(documents, FakeChunks(), table, catalog, 1 << 20, folder=FOLDER)


@given(STEPS, st.integers(0, 6), st.booleans())
@settings(max_examples=80, deadline=None)
async def test_what_is_held_or_was_looked_up_before_is_what_a_fresh_look_finds(
    steps: list[tuple[str, list[str]] | tuple[str, str, dict[str, Any] | None]], capacity: int, by_index: bool
) -> None:
    table = FakeMemories()
    ledger = Ledger(table, looked_up=Recent(compared, places, capacity))
    index = _index(table) if by_index else None
    for step in steps:
        if len(step) == 3:
            said, space, held = step
            one = _lives(said, space)
            row = None if held is None else _lives(said, space, **held)
            await _put(table, one.id, row)
            continue
        who, spaces = step
        wanted = slots(f"{who} lives in Paris")
        fresh = await Ledger(table).sharing(spaces, wanted)
        found = await ledger.sharing(spaces, wanted, index=index)
        assert found.sharing(spaces, wanted) == fresh.sharing(spaces, wanted)
        assert {fact.id for fact in found} == {fact.id for fact in fresh}


async def test_of_what_is_held_no_table_is_asked() -> None:
    table = Counted()
    ledger, index, wanted = Ledger(table), _index(table), slots("Ann lives in Paris")
    for city in CITIES:
        row = _lives(f"Ann lives in {city}", SPACE)
        await _put(table, row.id, row)
        found = await ledger.sharing([SPACE], wanted, index=index)
        assert row.text in {fact.text for fact in found}
    assert not table.asked


async def test_a_key_that_was_looked_up_is_not_looked_up_again() -> None:
    table = Counted()
    ledger = Ledger(table)
    wanted = slots("Ann lives in Paris")
    for _ in range(2):
        await ledger.sharing([SPACE], wanted)
        row = _lives("Ann lives in Rome", SPACE)
        await _put(table, row.id, row)
    assert len(table.asked) == len(set(table.asked)) > 0
    found = (await ledger.sharing([SPACE], wanted)).sharing([SPACE], wanted)
    assert [one.text for one in found] == ["Ann lives in Rome"]


async def test_what_the_hot_index_found_it_is_not_asked_again() -> None:
    table = FakeMemories()
    ledger, index, wanted = Ledger(table), CountedIndex(), slots("Ann lives in Paris")
    for _ in range(3):
        await ledger.sharing([SPACE], wanted, index=index)
    assert len(index.asked) == len(set(index.asked)) > 0


async def test_what_changes_while_it_is_looked_up_is_looked_up_again() -> None:
    class Slow(FakeMemories):
        """A row comes after the table was read."""

        async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
            found = await super().keyed(spaces, keys)
            row = _lives("Ann lives in Rome", SPACE)
            await self.update([row.id], lambda _, __: [row])
            return found

    ledger = Ledger(Slow())
    wanted = slots("Ann lives in Paris")
    assert not list(await ledger.sharing([SPACE], wanted))
    assert [one.text for one in await ledger.sharing([SPACE], wanted)] == ["Ann lives in Rome"]


@pytest.mark.parametrize("held", [False, True])
async def test_what_another_process_says_is_found_by_who_looked_before(tmp_path: Path, held: bool) -> None:
    ours, theirs = await opened(tmp_path, shared=True), await opened(tmp_path, shared=True)
    catalog = FakeCatalog()
    catalog.create("alice")
    cache = NamespaceCache(
        ours.documents, ours.chunks, ours.memories, catalog, 1 << 20, folder=tmp_path / "index"
    )
    ledger, wanted = Ledger(ours.memories), slots("Ann lives in Paris")
    for city in CITIES:
        await store_memories(theirs, _lives(f"Ann lives in {city}", SPACE))
        before = CITIES[: CITIES.index(city) + 1]
        found = await ledger.sharing([SPACE], wanted, index=cache if held else None)
        assert sorted(one.text for one in found) == sorted(f"Ann lives in {one}" for one in before)
    await ours.close()
    await theirs.close()
