"""Upkeep of a large table leaves alone what is merged and indexed, and loses nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.rows import DocumentRow, MemoryRow
from pipeline.store import Store
from pipeline.store.base import Base
from pipeline.store.links import Links
from pipeline.store.readable import Readable
from pipeline.store.stored import FAILURES
from tests.pipeline.store.samples import (
    document,
    forget_recent,
    full_document,
    full_memory,
    memory,
    opened,
    plain,
    store_documents,
    store_memories,
)

pytestmark = pytest.mark.anyio

LARGE = 6_000
BURST = 20


@pytest.fixture
async def store(tmp_path: Path) -> Store:
    """A table of documents and one of memories that are worth leaving alone."""
    store = await opened(tmp_path, shards=1)
    await store_documents(store, *(document(f"d{number}") for number in range(LARGE)))
    await store_memories(store, *(memory(f"m{number}", ["d"], keys=("k",)) for number in range(LARGE)))
    await store.flush()
    await store.maintain()
    return store


async def test_a_burst_leaves_the_fragment_that_was_there(store: Store) -> None:
    await burst(store)
    first = await places(store.documents), await places(store.memories)
    await upkeep(store)
    assert (await places(store.documents), await places(store.memories)) == first
    assert await fragments(store.documents) == await fragments(store.memories) == 2
    await store.close()


async def test_every_row_and_link_is_as_it_was(store: Store) -> None:
    await burst(store)
    forget_recent(store.documents)
    forget_recent(store.memories)
    documents, memories = await everything(store.documents), await everything(store.memories)
    await upkeep(store)
    assert await everything(store.documents) == documents
    assert await everything(store.memories) == memories
    assert [row.text for row in await store.memories.keyed(["alice#0"], ["new3"])] == ["new 3"]
    assert len(await store.memories.of_documents(["source7"])) == 1
    await store.close()


async def test_what_was_merged_is_known_when_the_table_is_opened_again(store: Store, tmp_path: Path) -> None:
    await burst(store)
    await upkeep(store)
    await store.close()
    again = await opened(tmp_path, shards=1)
    assert base(again.documents)._fragments._sizes == [LARGE - 1, BURST + 2]
    assert base(again.documents).upkeep_in(idle=True) is None
    await again.close()


async def test_links_that_a_killed_merge_left_twice_are_found_once_and_go_together(store: Store) -> None:
    await burst(store)
    links = base(store.memories)._links
    assert links is not None
    await kill_between(links)
    forget_recent(store.memories)
    found = await store.memories.keyed(["alice#0"], ["new3"])
    assert [row.text for row in found] == ["new 3"]
    await store.memories.update([found[0].id], lambda _, __: [])
    await store.memories.flush()
    assert await store.memories.keyed(["alice#0"], ["new3"]) == []
    await store.close()


async def kill_between(links: Links) -> None:
    """Merge, but for the last step: what was written anew stays where it was as well."""
    table, links._table = links._table, Undeletable(links._table)  # type: ignore[assignment]
    with pytest.raises(FAILURES):
        await links._merge_newest()
    links._table = table


class Undeletable:
    """A table that loses its disk before anything is deleted."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    async def delete(self, where: str) -> None:
        """Fails."""
        raise OSError(where)


async def burst(store: Store) -> None:
    """New rows and changed ones, old and young, a commit each."""
    for number in range(BURST):
        await store_documents(store, document(f"new{number}", metadata={"n": number}))
        await store_memories(store, memory(f"new {number}", [f"source{number}"], keys=(f"new{number}",)))
        await store.flush()
    await store_documents(store, replace(document("d1"), title="Changed"), full_document())
    await store_memories(store, replace(memory("m1", ["d"]), is_latest=False), full_memory("d"))
    await store.flush()


async def upkeep(store: Store) -> None:
    """What is due."""
    for table in (store.documents, store.memories):
        assert base(table).upkeep_in(idle=True) is not None
        await base(table).maintain(whole=False)


def base(table: Readable[Any]) -> Base[Any]:
    """The one of a table with one shard."""
    (one,) = table._bases
    assert isinstance(one, Base)
    return one


async def places(table: Readable[Any]) -> Sequence[int]:
    """Where the rows lie that were there before the burst."""
    found = await base(table).places("seq = 1", [table.codec.group])
    rows = zip(found.column(table.codec.group).to_pylist(), found.column("_rowid").to_pylist(), strict=True)
    return sorted(place for _, place in rows if place >> 32 == min(found.column("_rowid").to_pylist()) >> 32)


async def fragments(table: Readable[Any]) -> int:
    """How many there are."""
    stats: Any = await base(table)._table.stats()
    return int(stats["fragment_stats"]["num_fragments"])


async def everything(table: Readable[DocumentRow] | Readable[MemoryRow]) -> list[dict[str, Any]]:
    """All rows, in the order of their ids."""
    rows = [plain(row) for row in await table.in_spaces(["alice#0"])]
    return sorted(rows, key=lambda row: str(row[table.codec.id]))
