"""The hot cache: bounded, loaded once, and never behind its tables."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import OutageError
from pipeline.index import namespace_index_cache as cache_module
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.segments import document_store
from pipeline.rows import ChunkColumns, DocumentColumns
from pipeline.store import ShardedChunkTable, ShardedDocumentTable
from tests.support.fakes import UNUSED_DIR
from tests.support.index_harness import INCARNATION, UNLIMITED_BYTES, IndexHarness, force_spilled_segments

pytestmark = pytest.mark.anyio


class BlockedDocuments:
    """The documents table, whose reading waits until it is let go."""

    def __init__(self, table: ShardedDocumentTable) -> None:
        self._table = table
        self.subscribe = table.subscribe
        self.reads = 0
        self.reading = asyncio.Event()
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def columns(self, incarnations: Sequence[str]) -> DocumentColumns:
        self.reads += 1
        columns = await self._table.columns(incarnations)
        self.reading.set()
        await self.go.wait()
        if self.error:
            raise self.error
        return columns


class BlockedChunks:
    """The chunks table, whose reading waits after its first look."""

    def __init__(self, table: ShardedChunkTable) -> None:
        self._table = table
        self.subscribe = table.subscribe
        self.reading = asyncio.Event()
        self.go = asyncio.Event()

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        batches = [batch async for batch in self._table.stream(incarnations)]
        self.reading.set()
        await self.go.wait()
        for batch in batches:
            yield batch


def _cache_over(world: IndexHarness, *, documents: object = None, chunks: object = None) -> NamespaceIndexCache:
    store = world.store
    return NamespaceIndexCache(
        documents or store.documents,  # type: ignore[arg-type] # only what the cache uses
        chunks or store.chunks,  # type: ignore[arg-type] # only what the cache uses
        store.memories,
        store.catalog,
        UNLIMITED_BYTES,
        folder=UNUSED_DIR,
    )


async def test_changes_during_loading_are_not_lost(world: IndexHarness) -> None:
    await world.add_document("a", "green tea")
    await world.add_document("b", "black coffee")
    slow = BlockedChunks(world.store.chunks)
    world.cache = _cache_over(world, chunks=slow)
    opening = asyncio.create_task(world.open_index())
    await slow.reading.wait()
    await world.add_document("a", "red wine")
    await world.add_document("c", "white milk")
    await world.remove_document("b")
    await world.add_memory("m", "Alice drinks milk", "c")
    slow.go.set()
    await opening
    assert set(await world.found_ids("tea coffee wine milk", threshold=0.0)) == {"a-0", "c-0", "m"}
    assert [hit.text for hit in await world.hits("wine")] == ["red wine"]


async def test_a_namespace_is_loaded_once_however_many_ask(world: IndexHarness) -> None:
    slow = BlockedDocuments(world.store.documents)
    world.cache = _cache_over(world, documents=slow)
    asking = [asyncio.create_task(world.open_index()) for _ in range(5)]
    await slow.reading.wait()
    slow.go.set()
    assert len({id(entry) for entry in await asyncio.gather(*asking)}) == 1
    assert slow.reads == 1


async def test_a_caller_who_goes_away_leaves_the_load_to_the_others(world: IndexHarness) -> None:
    slow = BlockedDocuments(world.store.documents)
    world.cache = _cache_over(world, documents=slow)
    first, second = asyncio.create_task(world.open_index()), asyncio.create_task(world.open_index())
    await slow.reading.wait()
    first.cancel()
    slow.go.set()
    assert isinstance(await second, NamespaceIndex)


async def test_a_load_that_fails_is_tried_again_by_the_next(world: IndexHarness) -> None:
    slow = BlockedDocuments(world.store.documents)
    slow.go.set()
    slow.error = OSError("disk")
    world.cache = _cache_over(world, documents=slow)
    with pytest.raises(OSError, match="disk"):
        await world.open_index()
    slow.error = None
    assert isinstance(await world.open_index(), NamespaceIndex)


async def test_the_least_recently_used_namespace_goes_first(world: IndexHarness) -> None:
    names = ["one", "two", "three"]
    for name in names:
        world.assign_incarnations(name, f"{name}#0")
        await world.add_document(f"{name}-d", *["green tea"] * 50, incarnation=f"{name}#0")
    await world.open_index("one")
    world.cache._limit_bytes = int(world.cache.nbytes * 2.5)
    await world.open_index("two")
    await world.open_index("one")
    await world.open_index("three")
    assert world.cache.cached_namespaces == ["one", "three"]
    assert world.cache.nbytes <= world.cache._limit_bytes


async def test_a_namespace_of_which_most_went_is_loaded_again_without_it(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_store, "_MAX_OVERRIDES", 2)
    await world.add_document("kept", "green tea")
    first = await world.open_index()
    for number in range(6):
        await world.add_document(f"d{number}", "black coffee")
        assert await world.found_ids("coffee") == [f"d{number}-0"]
        await world.remove_document(f"d{number}")
        await world.set_chunks(f"d{number}")
        assert await world.found_ids("tea") == ["kept-0"]
    last = await world.open_index()
    assert last is not first
    assert len(first.documents.present) - 1 == 1 + 3
    assert len(last.documents.present) - 1 < 1 + 3


async def test_what_no_change_touches_is_not_looked_at_again(world: IndexHarness) -> None:
    await world.add_document("a", *["green tea"] * 40)
    await world.add_memory("m", "Ann drinks tea", "a")
    before = await _first_segments(world)
    await world.add_document("b", "black coffee")
    assert await _first_segments(world) == before
    await world.remove_document("b")
    assert await _first_segments(world) == before
    await world.remove_document("a")
    assert await world.found_ids("tea") == []


async def _first_segments(world: IndexHarness) -> list[object]:
    """Indices as searches see them: compared by identity."""
    namespace = await world.open_index()
    return [namespace.chunks.snapshot()[0], namespace.memories.snapshot()[0]]


async def test_a_namespace_that_outgrows_the_bound_is_mapped(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_spilled_segments(monkeypatch)
    await world.add_document("a", "green tea")
    await world.open_index()
    world.cache._limit_bytes = world.cache.nbytes + 100
    await world.add_document("b", *["black coffee"] * 50)
    assert len(await world.found_ids("coffee", limit=100)) == 50
    namespace = await world.open_index()
    assert all(entry.segment.is_spilled for entry in namespace.chunks.snapshot())
    await world.add_document("b", "red wine")
    await world.add_document("c", *["white milk"] * 3)
    assert [hit.text for hit in await world.hits("wine")] == ["red wine"]
    assert await world.found_ids("coffee") == []
    assert len(await world.found_ids("milk")) == 3
    assert all(entry.segment.is_spilled for entry in (await world.open_index()).chunks.snapshot())


async def _spilled_folder(world: IndexHarness, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A namespace with one document that is mapped, and the folder of its files."""
    force_spilled_segments(monkeypatch)
    await world.add_document("a", "green tea")
    world.cache.loader = replace(world.cache.loader, limit_bytes=0)
    assert await world.found_ids("tea") == ["a-0"]
    return world.cache.loader.mmap_store.folder


async def test_a_disk_that_takes_nothing_is_away_and_loses_no_change(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await _spilled_folder(world, monkeypatch)
    folder.rmdir()
    folder.touch()
    await world.add_document("b", "black tea")
    await world.add_memory("m", "User likes tea", "b")
    for _ in range(2):
        with pytest.raises(OutageError, match="mapped from files"):
            await world.found_ids("tea")
    folder.unlink()
    assert set(await world.found_ids("tea")) == {"a-0", "b-0", "m"}


async def test_what_fits_is_found_while_the_disk_takes_nothing(world: IndexHarness) -> None:
    await world.add_document("a", "green tea")
    world.cache.loader.mmap_store.folder.touch()
    assert await world.found_ids("tea") == ["a-0"]
    await world.add_document("b", "black tea")
    assert set(await world.found_ids("tea")) == {"a-0", "b-0"}


async def test_mapped_files_have_no_name_and_need_no_care(world: IndexHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = await _spilled_folder(world, monkeypatch)
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


async def test_a_move_shows_the_rows_under_their_new_name(world: IndexHarness) -> None:
    await world.add_document("a", "green tea")
    world.assign_incarnations("bob", "bob#0")
    assert await world.found_ids("tea", "bob") == []
    world.assign_incarnations("alice")
    world.assign_incarnations("bob", "bob#0", INCARNATION)
    assert await world.found_ids("tea", "bob") == ["a-0"]
    await world.add_document("a", "black coffee")
    assert await world.found_ids("coffee", "bob") == ["a-0"]


async def test_a_search_under_the_name_before_a_move_keeps_no_later_change_from_the_new_name(
    world: IndexHarness,
) -> None:
    before = world.namespace("alice")
    world.assign_incarnations("alice")
    world.assign_incarnations("bob", "bob#0", INCARNATION)
    await world.open_index("bob")
    await world.cache.open(before)
    await world.add_document("a", "black coffee")
    assert await world.found_ids("coffee", "bob") == ["a-0"]


async def test_a_namespace_that_is_no_more_leaves_the_cache(world: IndexHarness) -> None:
    await world.open_index()
    world.assign_incarnations("alice")
    world.assign_incarnations("bob", "bob#0")
    await world.open_index("bob")
    assert world.cache.cached_namespaces == ["bob"]


async def test_a_namespace_that_changes_much_unseen_is_loaded_anew(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "MAX_PENDING_CHANGES", 5)
    await world.open_index()
    for at in range(4):
        await world.add_document(f"d{at}", "green tea")
    assert world.cache.cached_namespaces == []
    assert len(await world.found_ids("tea")) == 4


async def test_many_changes_are_worked_in_a_few_at_a_time(world: IndexHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.open_index()
    monkeypatch.setattr(cache_module, "_APPLY_BATCH_SIZE", 2)
    for at in range(9):
        await world.add_document(f"d{at}", "green tea", "black coffee")
    await world.remove_document("d0")
    both = await asyncio.gather(
        world.found_ids("tea", threshold=0.0, limit=100), world.found_ids("coffee", threshold=0.0, limit=100)
    )
    assert [len(found) for found in both] == [16, 16]


async def test_where_somebody_searches_a_change_is_worked_in_before_the_next_search(
    world: IndexHarness,
) -> None:
    await world.add_document("a", "green tea")
    index = await world.open_index()
    await world.add_document("b", "black tea")
    await world.add_memory("m", "Ann drinks tea", "b")
    await asyncio.sleep(0)
    settled = index.revision
    assert set(await world.found_ids("tea")) == {"a-0", "b-0", "m"}
    assert index.revision == settled


async def test_where_nobody_searched_for_long_changes_wait(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(cache_module, "perf_counter", lambda: now)
    index = await world.open_index()
    settled, now = index.revision, 60.0
    await world.add_document("a", "green tea")
    await asyncio.sleep(0)
    assert index.revision == settled
    assert await world.found_ids("tea") == ["a-0"]


async def test_many_changes_wait_for_whoever_searches(world: IndexHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_MAX_EAGER_CHANGES", 1)
    await world.add_document("a", "green tea")
    index = await world.open_index()
    settled = index.revision
    await world.add_document("b", "black tea")
    await asyncio.sleep(0)
    assert index.revision == settled
    assert set(await world.found_ids("tea")) == {"a-0", "b-0"}


async def test_a_change_that_can_t_be_worked_in_ahead_is_told_to_the_next_search(
    world: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OutageError("the disk is full")

    await world.add_document("a", "green tea")
    index = await world.open_index()
    monkeypatch.setattr(index, "apply_changes", fails)
    await world.add_document("b", "black tea")
    await asyncio.sleep(0)
    assert world.cache.cached_namespaces == []
    assert set(await world.found_ids("tea")) == {"a-0", "b-0"}
