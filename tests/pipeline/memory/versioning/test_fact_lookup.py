"""Fact lookup: complete version closures without repeated reads, and a correct cache."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.attributes.attribute_extraction import extract_attributes
from pipeline.memory.versioning.fact_cache import FactCache
from pipeline.memory.versioning.fact_lookup import FactLookup, comparison_keys_of, fact_keys, to_comparable
from pipeline.rows import MemoryRow
from schemas.events import Relation
from tests.support.fakes import UNUSED_DIR as FOLDER
from tests.support.fakes import FakeCatalog, FakeChunkTable, FakeDocumentTable, FakeMemoryTable
from tests.support.store_rows import document, memory, open_test_store, store_memories

pytestmark = pytest.mark.anyio

INCARNATION = "alice#0"


class CountingMemories(FakeMemoryTable):
    """A table that counts reads of memories by id after a key had found them."""

    def __init__(self) -> None:
        super().__init__()
        self.found_ids: set[str] = set()
        self.repeated_reads = Counter[str]()
        self.requested_keys: list[str] = []

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[MemoryRow]]:
        self.repeated_reads.update(memory_id for memory_id in entity_keys if memory_id in self.found_ids)
        return await super().get(entity_keys)

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        self.requested_keys += keys
        rows = await super().find_by_keys(incarnations, keys)
        self.found_ids |= {row.id for row in rows}
        return rows


class CountingKeyIndex:
    """An empty index that counts lookups."""

    def __init__(self) -> None:
        self.requested_keys: list[str] = []

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        self.requested_keys += keys
        return []


def _version(city: str, *before: MemoryRow) -> MemoryRow:
    relations = tuple(Relation(kind="updates", target=predecessor.id, reason="moved") for predecessor in before)
    row = memory(f"User lives in {city}", ["p"], relations=relations)
    return replace(row, comparison_keys=comparison_keys_of(row))


@pytest.mark.parametrize("first", [0, 1, 2, 3])
async def test_a_version_family_is_found_from_any_member_without_repeated_reads(first: int) -> None:
    rome = _version("Rome")
    oslo = _version("Oslo", rome)
    lima = _version("Lima", oslo)
    chain = [rome, oslo, lima, _version("Bonn", lima)]
    table = CountingMemories()
    table.rows_by_key = {row.id: [row] for row in chain}
    facts = await FactLookup(table).version_closure([INCARNATION], {chain[first].id: chain[first]})
    assert {fact.id for fact in facts} == {row.id for row in chain}
    assert not table.repeated_reads


CITIES = ("Rome", "Oslo", "Lima")
PEOPLE = ("Ann", "Bob")
TEXTS = [f"{who} lives in {city}" for who in PEOPLE for city in CITIES]
ROW_STATES = st.none() | st.fixed_dictionaries({"is_latest": st.booleans(), "sources": st.sampled_from("pq")})
STEPS = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from((INCARNATION, "bob#0")), ROW_STATES)
    | st.tuples(st.sampled_from(PEOPLE), st.sampled_from(([INCARNATION], [INCARNATION, "bob#0"]))),
    max_size=30,
)


def _lives(text: str, incarnation: str, sources: Sequence[str] = "p", *, is_latest: bool = True) -> MemoryRow:
    row = memory(text, list(sources), incarnation=incarnation, is_latest=is_latest)
    return replace(row, comparison_keys=comparison_keys_of(row))


async def _put(table: FakeMemoryTable, id_: str, row: MemoryRow | None) -> None:
    await table.update([id_], lambda _, __: [] if row is None else [row])


def _index(table: FakeMemoryTable) -> NamespaceIndexCache:
    """Build an index of a namespace with two incarnations, with the memories' documents."""
    catalog, documents = FakeCatalog(), FakeDocumentTable()
    catalog.namespaces_by_name["alice"] = replace(catalog.create("alice"), incarnations=(INCARNATION, "bob#0"))
    documents.rows_by_key = {key: [replace(document(key), key=key)] for key in "pq"}
    return NamespaceIndexCache(documents, FakeChunkTable(), table, catalog, 1 << 20, folder=FOLDER)


@given(STEPS, st.integers(0, 6), st.booleans())
@settings(max_examples=80, deadline=None)
async def test_cached_and_indexed_lookups_equal_a_fresh_lookup(
    steps: list[tuple[str, list[str]] | tuple[str, str, dict[str, Any] | None]], capacity: int, by_index: bool
) -> None:
    table = FakeMemoryTable()
    ledger = FactLookup(table, cache=FactCache(to_comparable, fact_keys, capacity))
    index = _index(table) if by_index else None
    for step in steps:
        if len(step) == 3:
            place, incarnation, held = step
            row = None if held is None else _lives(place, incarnation, **held)
            await _put(table, _lives(place, incarnation).id, row)
            continue
        who, incarnations = step
        attributes = extract_attributes(f"{who} lives in Paris")
        fresh = await FactLookup(table).candidates_for(incarnations, attributes)
        facts = await ledger.candidates_for(incarnations, attributes, index=index)
        assert facts.candidates_for(incarnations, attributes) == fresh.candidates_for(incarnations, attributes)
        assert {fact.id for fact in facts} == {fact.id for fact in fresh}


async def test_an_indexed_namespace_reads_no_table() -> None:
    table = CountingMemories()
    ledger, index, attributes = FactLookup(table), _index(table), extract_attributes("Ann lives in Paris")
    for city in CITIES:
        row = _lives(f"Ann lives in {city}", INCARNATION)
        await _put(table, row.id, row)
        facts = await ledger.candidates_for([INCARNATION], attributes, index=index)
        assert row.text in {fact.text for fact in facts}
    assert not table.requested_keys


async def test_a_cached_key_is_not_looked_up_again() -> None:
    table = CountingMemories()
    ledger = FactLookup(table)
    attributes = extract_attributes("Ann lives in Paris")
    for _ in range(2):
        await ledger.candidates_for([INCARNATION], attributes)
        row = _lives("Ann lives in Rome", INCARNATION)
        await _put(table, row.id, row)
    assert len(table.requested_keys) == len(set(table.requested_keys)) > 0
    facts = (await ledger.candidates_for([INCARNATION], attributes)).candidates_for([INCARNATION], attributes)
    assert [fact.text for fact in facts] == ["Ann lives in Rome"]


async def test_a_key_found_in_the_index_is_cached() -> None:
    table = FakeMemoryTable()
    ledger, index, attributes = (
        FactLookup(table),
        CountingKeyIndex(),
        extract_attributes("Ann lives in Paris"),
    )
    for _ in range(3):
        await ledger.candidates_for([INCARNATION], attributes, index=index)
    assert len(index.requested_keys) == len(set(index.requested_keys)) > 0


async def test_a_key_changed_during_its_lookup_is_not_cached() -> None:
    class Slow(FakeMemoryTable):
        """A table to which a row is written right after a lookup read it."""

        async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
            rows = await super().find_by_keys(incarnations, keys)
            row = _lives("Ann lives in Rome", INCARNATION)
            await self.update([row.id], lambda _, __: [row])
            return rows

    ledger = FactLookup(Slow())
    attributes = extract_attributes("Ann lives in Paris")
    assert not list(await ledger.candidates_for([INCARNATION], attributes))
    assert [fact.text for fact in await ledger.candidates_for([INCARNATION], attributes)] == ["Ann lives in Rome"]


@pytest.mark.parametrize("held", [False, True])
async def test_facts_of_another_process_are_found_despite_the_cache(tmp_path: Path, held: bool) -> None:
    ours, theirs = await open_test_store(tmp_path, shared=True), await open_test_store(tmp_path, shared=True)
    catalog = FakeCatalog()
    catalog.create("alice")
    cache = NamespaceIndexCache(ours.documents, ours.chunks, ours.memories, catalog, 1 << 20, folder=tmp_path / "index")
    ledger, attributes = FactLookup(ours.memories), extract_attributes("Ann lives in Paris")
    for city in CITIES:
        await store_memories(theirs, _lives(f"Ann lives in {city}", INCARNATION))
        before = CITIES[: CITIES.index(city) + 1]
        facts = await ledger.candidates_for([INCARNATION], attributes, index=cache if held else None)
        assert sorted(fact.text for fact in facts) == sorted(f"Ann lives in {place}" for place in before)
    await ours.close()
    await theirs.close()
