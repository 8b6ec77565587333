"""The hot cache: bounded, loaded once, and never behind its tables."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import OutageError
from pipeline.index import cache as cache_module
from pipeline.index import documents
from pipeline.index.cache import NamespaceCache
from pipeline.index.namespace import NamespaceIndex
from pipeline.rows import ChunkColumns, DocumentColumns
from pipeline.store import Chunks, Documents
from tests.fakes import HELD
from tests.pipeline.index.world import EVERYTHING, SPACE, World, with_small_segments

pytestmark = pytest.mark.anyio


class SlowDocuments:
    """The documents table, whose reading waits until it is let go."""

    def __init__(self, table: Documents) -> None:
        self._table = table
        self.subscribe = table.subscribe
        self.reads = 0
        self.reading = asyncio.Event()
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def columns(self, spaces: Sequence[str]) -> DocumentColumns:
        self.reads += 1
        columns = await self._table.columns(spaces)
        self.reading.set()
        await self.go.wait()
        if self.error:
            raise self.error
        return columns


class SlowChunks:
    """The chunks table, whose reading waits after its first look."""

    def __init__(self, table: Chunks) -> None:
        self._table = table
        self.subscribe = table.subscribe
        self.reading = asyncio.Event()
        self.go = asyncio.Event()

    async def stream(self, spaces: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        batches = [batch async for batch in self._table.stream(spaces)]
        self.reading.set()
        await self.go.wait()
        for batch in batches:
            yield batch


def _over(world: World, *, documents: object = None, chunks: object = None) -> NamespaceCache:
    store = world.store
    return NamespaceCache(
        documents or store.documents,  # type: ignore[arg-type] # only what the cache uses
        chunks or store.chunks,  # type: ignore[arg-type] # only what the cache uses
        store.memories,
        store.catalog,
        EVERYTHING,
        folder=HELD,
    )


async def test_changes_during_loading_are_not_lost(world: World) -> None:
    await world.document("a", "green tea")
    await world.document("b", "black coffee")
    slow = SlowChunks(world.store.chunks)
    world.cache = _over(world, chunks=slow)
    opening = asyncio.create_task(world.open())
    await slow.reading.wait()
    await world.document("a", "red wine")
    await world.document("c", "white milk")
    await world.remove_document("b")
    await world.memory("m", "Alice drinks milk", "c")
    slow.go.set()
    await opening
    assert set(await world.found("tea coffee wine milk", threshold=0.0)) == {"a-0", "c-0", "m"}
    assert [hit.text for hit in await world.hits("wine")] == ["red wine"]


async def test_a_namespace_is_loaded_once_however_many_ask(world: World) -> None:
    slow = SlowDocuments(world.store.documents)
    world.cache = _over(world, documents=slow)
    asking = [asyncio.create_task(world.open()) for _ in range(5)]
    await slow.reading.wait()
    slow.go.set()
    assert len({id(one) for one in await asyncio.gather(*asking)}) == 1
    assert slow.reads == 1


async def test_a_caller_who_goes_away_leaves_the_load_to_the_others(world: World) -> None:
    slow = SlowDocuments(world.store.documents)
    world.cache = _over(world, documents=slow)
    first, second = asyncio.create_task(world.open()), asyncio.create_task(world.open())
    await slow.reading.wait()
    first.cancel()
    slow.go.set()
    assert isinstance(await second, NamespaceIndex)


async def test_a_load_that_fails_is_tried_again_by_the_next(world: World) -> None:
    slow = SlowDocuments(world.store.documents)
    slow.go.set()
    slow.error = OSError("disk")
    world.cache = _over(world, documents=slow)
    with pytest.raises(OSError, match="disk"):
        await world.open()
    slow.error = None
    assert isinstance(await world.open(), NamespaceIndex)


async def test_the_least_recently_used_namespace_goes_first(world: World) -> None:
    names = ["one", "two", "three"]
    for name in names:
        world.own(name, f"{name}#0")
        await world.document(f"{name}-d", *["green tea"] * 50, space=f"{name}#0")
    await world.open("one")
    world.cache._limit = int(world.cache.nbytes * 2.5)
    await world.open("two")
    await world.open("one")
    await world.open("three")
    assert world.cache.names == ["one", "three"]
    assert world.cache.nbytes <= world.cache._limit


async def test_a_namespace_of_which_most_went_is_loaded_again_without_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_CHANGES", 2)
    await world.document("kept", "green tea")
    first = await world.open()
    for number in range(6):
        await world.document(f"d{number}", "black coffee")
        assert await world.found("coffee") == [f"d{number}-0"]
        await world.remove_document(f"d{number}")
        await world.chunks(f"d{number}")
        assert await world.found("tea") == ["kept-0"]
    last = await world.open()
    assert last is not first
    assert len(first.documents.present) - 1 == 1 + 3
    assert len(last.documents.present) - 1 < 1 + 3


async def test_what_no_change_touches_is_not_looked_at_again(world: World) -> None:
    await world.document("a", *["green tea"] * 40)
    await world.memory("m", "Ann drinks tea", "a")
    before = await _first_segments(world)
    await world.document("b", "black coffee")
    assert await _first_segments(world) == before
    await world.remove_document("b")
    assert await _first_segments(world) == before
    await world.remove_document("a")
    assert await world.found("tea") == []


async def _first_segments(world: World) -> list[object]:
    """As searches see them: compared by identity."""
    namespace = await world.open()
    return [namespace.chunks.view()[0], namespace.memories.view()[0]]


async def test_a_namespace_that_outgrows_the_bound_is_mapped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_small_segments(monkeypatch)
    await world.document("a", "green tea")
    await world.open()
    world.cache._limit = world.cache.nbytes + 100
    await world.document("b", *["black coffee"] * 50)
    assert len(await world.found("coffee", limit=100)) == 50
    namespace = await world.open()
    assert all(one.segment.mapped for one in namespace.chunks.view())
    await world.document("b", "red wine")
    await world.document("c", *["white milk"] * 3)
    assert [hit.text for hit in await world.hits("wine")] == ["red wine"]
    assert await world.found("coffee") == []
    assert len(await world.found("milk")) == 3
    assert all(one.segment.mapped for one in (await world.open()).chunks.view())


async def _mapped(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A namespace with one document that is mapped, and the folder of its files."""
    with_small_segments(monkeypatch)
    await world.document("a", "green tea")
    world.cache.loading = replace(world.cache.loading, limit_bytes=0)
    assert await world.found("tea") == ["a-0"]
    return world.cache.loading.shelf.folder


async def test_a_disk_that_takes_nothing_is_away_and_loses_no_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await _mapped(world, monkeypatch)
    folder.rmdir()
    folder.touch()
    await world.document("b", "black tea")
    await world.memory("m", "User likes tea", "b")
    for _ in range(2):
        with pytest.raises(OutageError, match="mapped from files"):
            await world.found("tea")
    folder.unlink()
    assert set(await world.found("tea")) == {"a-0", "b-0", "m"}


async def test_what_fits_is_found_while_the_disk_takes_nothing(world: World) -> None:
    await world.document("a", "green tea")
    world.cache.loading.shelf.folder.touch()
    assert await world.found("tea") == ["a-0"]
    await world.document("b", "black tea")
    assert set(await world.found("tea")) == {"a-0", "b-0"}


async def test_mapped_files_have_no_name_and_need_no_care(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await _mapped(world, monkeypatch)
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


async def test_a_move_shows_the_rows_under_their_new_name(world: World) -> None:
    await world.document("a", "green tea")
    world.own("bob", "bob#0")
    assert await world.found("tea", "bob") == []
    world.own("alice")
    world.own("bob", "bob#0", SPACE)
    assert await world.found("tea", "bob") == ["a-0"]
    await world.document("a", "black coffee")
    assert await world.found("coffee", "bob") == ["a-0"]


async def test_a_namespace_that_is_no_more_leaves_the_cache(world: World) -> None:
    await world.open()
    world.own("alice")
    world.own("bob", "bob#0")
    await world.open("bob")
    assert world.cache.names == ["bob"]


async def test_a_namespace_that_changes_much_unseen_is_loaded_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "UNSEEN_CHANGES", 5)
    await world.open()
    for at in range(4):
        await world.document(f"d{at}", "green tea")
    assert world.cache.names == []
    assert len(await world.found("tea")) == 4


async def test_many_changes_are_worked_in_a_few_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    monkeypatch.setattr(cache_module, "_AT_ONCE", 2)
    for at in range(9):
        await world.document(f"d{at}", "green tea", "black coffee")
    await world.remove_document("d0")
    both = await asyncio.gather(
        world.found("tea", threshold=0.0, limit=100), world.found("coffee", threshold=0.0, limit=100)
    )
    assert [len(found) for found in both] == [16, 16]


async def test_where_somebody_searches_a_change_is_worked_in_before_the_next_search(world: World) -> None:
    await world.document("a", "green tea")
    index = await world.open()
    await world.document("b", "black tea")
    await world.memory("m", "Ann drinks tea", "b")
    await asyncio.sleep(0)
    settled = index.settled
    assert set(await world.found("tea")) == {"a-0", "b-0", "m"}
    assert index.settled == settled


async def test_where_nobody_searched_for_long_changes_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(cache_module, "perf_counter", lambda: now)
    index = await world.open()
    settled, now = index.settled, 60.0
    await world.document("a", "green tea")
    await asyncio.sleep(0)
    assert index.settled == settled
    assert await world.found("tea") == ["a-0"]


async def test_many_changes_wait_for_whoever_searches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_FEW", 1)
    await world.document("a", "green tea")
    index = await world.open()
    settled = index.settled
    await world.document("b", "black tea")
    await asyncio.sleep(0)
    assert index.settled == settled
    assert set(await world.found("tea")) == {"a-0", "b-0"}


async def test_a_change_that_can_t_be_worked_in_ahead_is_told_to_the_next_search(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OutageError("the disk is full")

    await world.document("a", "green tea")
    index = await world.open()
    monkeypatch.setattr(index, "settle", fails)
    await world.document("b", "black tea")
    await asyncio.sleep(0)
    assert world.cache.names == []
    assert set(await world.found("tea")) == {"a-0", "b-0"}
