"""Lookup of memories by key: it says what the table says, and what they are compared by."""

from collections.abc import Collection, Sequence

import pytest

from pipeline.memory.versioning.fact_comparison import FactRecord
from pipeline.memory.versioning.fact_lookup import to_comparable
from pipeline.rows import MemoryRow
from pipeline.text.analyzer import hash_terms
from schemas.events import Relation
from tests.support.index_harness import INCARNATION, NOW, IndexHarness

pytestmark = pytest.mark.anyio

MOVED = Relation(kind="updates", target="rome", reason="she moved", attribute="home", score=0.8)
EVERY = ("home", "work", "pet")


def _facts(rows: Collection[MemoryRow], keys: Sequence[str]) -> dict[str, FactRecord | None]:
    """Those that have one of the keys: of what is held, the keys are not said."""
    return {
        row.id: to_comparable(row) for row in rows if not row.comparison_keys or set(row.comparison_keys) & set(keys)
    }


async def _assert_matches_table(world: IndexHarness, *incarnations: str) -> None:
    for keys in ([key] for key in EVERY):
        held = await world.cache.find_by_keys(incarnations, keys)
        assert _facts(held, keys) == _facts(await world.store.memories.find_by_keys(incarnations, keys), keys)
        assert {row.id: row.incarnation for row in held}.keys() <= {"rome", "oslo", "acme", "cat"}


async def _filled(world: IndexHarness) -> None:
    for key in "dp":
        await world.add_document(key, "A document.")
    await world.add_memory("rome", "Ann lives in Rome", "d", "p", comparison_keys=("home",), is_latest=False)
    await world.add_memory(
        "oslo",
        "Ann lives in Oslo",
        "p",
        comparison_keys=("home",),
        date="2026-02",
        relations=(MOVED,),
        is_static=True,
    )
    await world.add_memory("acme", "Ann works at Acme", "d", comparison_keys=("work", "home"), forgotten_at=NOW)
    await world.add_memory(
        "cat", "Ann has a cat", "d", incarnation="bob#0", comparison_keys=("pet",), is_inference=True
    )
    await world.add_memory("none", "Ann is well", "d")


async def test_what_is_read_from_tables_and_what_came_since_is_found_by_its_keys(
    either: IndexHarness,
) -> None:
    either.assign_incarnations("alice", INCARNATION, "bob#0")
    await either.open_index()
    await _filled(either)
    await _assert_matches_table(either, INCARNATION, "bob#0")
    await _assert_matches_table(either, INCARNATION)
    await either.store.flush()
    either.assign_incarnations("alice", "bob#0", INCARNATION)  # so that it is read anew
    await _assert_matches_table(either, INCARNATION, "bob#0")
    assert {row.id for row in await either.cache.find_by_keys([INCARNATION], ["home"])} == {
        "rome",
        "oslo",
        "acme",
    }


async def test_what_changed_or_went_is_found_as_it_is_now(either: IndexHarness) -> None:
    await either.open_index()
    await _filled(either)
    await either.change_memory("rome", text="Ann lives in Roma", comparison_keys=("home", "work"))
    await either.change_memory("acme", comparison_keys=(), forgotten_at=None, terms=hash_terms("acme"))
    await either.store.memories.update(["oslo"], lambda _, __: [])
    await _assert_matches_table(either, INCARNATION)
    found = {row.text for row in await either.cache.find_by_keys([INCARNATION], ["work"])}
    assert found == {"Ann lives in Roma"}


async def test_sources_that_are_gone_are_left_out(either: IndexHarness) -> None:
    await _filled(either)
    await either.remove_document("d")
    rows = await either.cache.find_by_keys([INCARNATION], ["home"])
    assert {row.id: row.sources for row in rows} == {"rome": ("p",), "oslo": ("p",), "acme": ()}


async def test_of_a_incarnation_that_nobody_owns_nothing_is_held(either: IndexHarness) -> None:
    assert await either.cache.find_by_keys(["carol#0"], EVERY) == []
    assert await either.cache.find_by_keys([], EVERY) == []
