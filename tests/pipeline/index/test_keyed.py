"""What is held says of memories by their keys what the table says, and what they are compared by."""

from collections.abc import Collection, Sequence

import pytest

from pipeline.memory.ledger import compared
from pipeline.memory.relations import Known
from pipeline.rows import MemoryRow
from pipeline.text.terms import hashed
from schemas.events import Relation
from tests.pipeline.index.world import NOW, SPACE, World

pytestmark = pytest.mark.anyio

MOVED = Relation(kind="updates", target="rome", why="she moved", slot="home", score=0.8)
EVERY = ("home", "work", "pet")


def _facts(rows: Collection[MemoryRow], keys: Sequence[str]) -> dict[str, Known | None]:
    """Those that have one of the keys: of what is held, the keys are not said."""
    return {row.id: compared(row) for row in rows if not row.keys or set(row.keys) & set(keys)}


async def _says_what_the_table_says(world: World, *spaces: str) -> None:
    for keys in ([one] for one in EVERY):
        held = await world.cache.keyed(spaces, keys)
        assert _facts(held, keys) == _facts(await world.store.memories.keyed(spaces, keys), keys)
        assert {row.id: row.space for row in held}.keys() <= {"rome", "oslo", "acme", "cat"}


async def _filled(world: World) -> None:
    for key in "dp":
        await world.document(key, "A document.")
    await world.memory("rome", "Ann lives in Rome", "d", "p", keys=("home",), is_latest=False)
    await world.memory(
        "oslo", "Ann lives in Oslo", "p", keys=("home",), date="2026-02", relations=(MOVED,), is_static=True
    )
    await world.memory("acme", "Ann works at Acme", "d", keys=("work", "home"), forgotten_at=NOW)
    await world.memory("cat", "Ann has a cat", "d", space="bob#0", keys=("pet",), is_inference=True)
    await world.memory("none", "Ann is well", "d")


async def test_what_is_read_from_tables_and_what_came_since_is_found_by_its_keys(either: World) -> None:
    either.own("alice", SPACE, "bob#0")
    await either.open()
    await _filled(either)
    await _says_what_the_table_says(either, SPACE, "bob#0")
    await _says_what_the_table_says(either, SPACE)
    await either.store.flush()
    either.own("alice", "bob#0", SPACE)  # so that it is read anew
    await _says_what_the_table_says(either, SPACE, "bob#0")
    assert {row.id for row in await either.cache.keyed([SPACE], ["home"])} == {"rome", "oslo", "acme"}


async def test_what_changed_or_went_is_found_as_it_is_now(either: World) -> None:
    await either.open()
    await _filled(either)
    await either.change_memory("rome", text="Ann lives in Roma", keys=("home", "work"))
    await either.change_memory("acme", keys=(), forgotten_at=None, terms=hashed("acme"))
    await either.store.memories.update(["oslo"], lambda _, __: [])
    await _says_what_the_table_says(either, SPACE)
    found = {row.text for row in await either.cache.keyed([SPACE], ["work"])}
    assert found == {"Ann lives in Roma"}


async def test_sources_that_are_gone_are_left_out(either: World) -> None:
    await _filled(either)
    await either.remove_document("d")
    rows = await either.cache.keyed([SPACE], ["home"])
    assert {row.id: row.sources for row in rows} == {"rome": ("p",), "oslo": ("p",), "acme": ()}


async def test_of_a_space_that_nobody_owns_nothing_is_held(either: World) -> None:
    assert await either.cache.keyed(["carol#0"], EVERY) == []
    assert await either.cache.keyed([], EVERY) == []
