"""Snapshots of an index: equal to the tables after whatever happened, or not used."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.segments.segment_list import SegmentView
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.rows import ChunkColumns, MemoryColumns, StringColumn
from pipeline.store.single_process import change_history
from pipeline.store.store_factory import open_locks
from tests.support.index_harness import (
    INCARNATION,
    UNLIMITED_BYTES,
    IndexHarness,
    force_spilled_segments,
    open_cache,
    open_harness,
)

pytestmark = pytest.mark.anyio

INDEXED_COLUMNS = {"terms", "term_offsets", "documents", "sources", "comparison_key_hashes", "comparison_key_offsets"}
QUERY = "green tea kettle chess"
SNAPSHOT_BYTES = 1 << 30
WORDS = st.sampled_from(["green", "black", "tea", "kettle", "chess", "winter", "猫"])
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
KEYS = st.sampled_from("abcdef")


@dataclass(frozen=True)
class Change:
    """A document that is written with its passages and a memory each, or removed (no passages)."""

    key: str
    passages: list[str]

    async def apply(self, world: IndexHarness) -> None:
        if not self.passages:
            await world.remove_document(self.key)
            await world.set_chunks(self.key)
            await world.store.memories.update([f"m{self.key}0"], lambda _id, _rows: [])
            return
        await world.add_document(self.key, *self.passages, metadata={"n": len(self.passages)})
        for at, text in enumerate(self.passages):
            await world.add_memory(f"m{self.key}{at}", text, self.key, is_latest=at != 1)


CHANGES = st.lists(st.builds(Change, KEYS, st.lists(TEXTS, max_size=3)), max_size=6)


@asynccontextmanager
async def opened(
    folder: Path, embedder: WordLlamaEmbedder, limit_bytes: int = UNLIMITED_BYTES
) -> AsyncIterator[IndexHarness]:
    """Tables in a folder, with a cache that has snapshots."""
    async with open_harness(folder, embedder, limit_bytes, snapshot_bytes=SNAPSHOT_BYTES) as world:
        yield world


async def opened_from_snapshot(world: IndexHarness) -> bool:
    """Tell whether the namespace would be opened from its snapshot."""
    snapshots = world.cache.loader.snapshots
    assert snapshots is not None
    return await snapshots.open([INCARNATION]) is not None


def row_values(index: NamespaceIndex) -> list[tuple[object, ...]]:
    """Every visible row with its document, columns and terms, in no order."""
    found: list[tuple[object, ...]] = []
    views: list[SegmentView[ChunkColumns] | SegmentView[MemoryColumns]] = [
        *index.chunks.snapshot(),
        *index.memories.snapshot(),
    ]
    for view in views:
        postings, columns = view.segment.postings, view.segment.columns
        terms = np.repeat(postings.terms, np.diff(postings.offsets))
        for row in range(len(view.segment)) if view.mask is None else np.flatnonzero(view.mask).tolist():
            of_row = postings.rows == row
            values = [getattr(columns, field.name) for field in fields(columns) if field.name not in INDEXED_COLUMNS]
            found.append(
                (
                    *(value[row] if isinstance(value, StringColumn) else value[row].tobytes() for value in values),
                    tuple(index.documents.key(ordinal) for ordinal in view.segment.parents.of_row(row)),
                    index.documents.get(int(view.document_ordinals[row])),
                    tuple(sorted(zip(terms[of_row].tolist(), postings.counts[of_row].tolist(), strict=True))),
                    int(postings.lengths[row]),
                )
            )
    return sorted(found, key=repr)


async def assert_equals_tables(world: IndexHarness, folder: Path) -> None:
    """Every row is that of an index that is read from the tables."""
    opened = row_values(await world.open_index())
    world.cache = open_cache(world.store, folder, UNLIMITED_BYTES)
    assert opened == row_values(await world.open_index())


def snapshot_files(folder: Path) -> list[Path]:
    return sorted((folder / "index" / "snapshots").glob("*.index"))


@settings(
    max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rounds=st.tuples(CHANGES, CHANGES, CHANGES), killed=st.booleans(), mapped=st.booleans(), again=st.booleans())
async def test_an_opened_snapshot_equals_the_tables_after_any_changes_and_a_kill(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: WordLlamaEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    *,
    rounds: tuple[list[Change], list[Change], list[Change]],
    killed: bool,
    mapped: bool,
    again: bool,
) -> None:
    if mapped:
        force_spilled_segments(monkeypatch)
    before, unflushed, after = rounds
    limit = 0 if mapped else UNLIMITED_BYTES
    folder, copy = tmp_path_factory.mktemp("tables"), tmp_path_factory.mktemp("killed") / "tables"
    async with opened(folder, embedder, limit) as world:
        await Change("x", ["green tea"]).apply(world)
        for change in before:
            await change.apply(world)
        await world.store.flush()
        await world.open_index()
        if again:
            assert await world.cache.save("alice")
        for change in unflushed:
            await change.apply(world)
        await world.open_index()
        assert await world.cache.save("alice")
        for change in after:
            await change.apply(world)
        if len(after) > 1:
            await world.store.chunks.flush()
            await world.store.memories.flush()
        # What a killed process leaves: rows that were never flushed are missing, and the snapshot has them.
        if killed:
            shutil.copytree(folder, copy)
    async with opened(copy if killed else folder, embedder, limit) as world:
        assert await opened_from_snapshot(world)
        await assert_equals_tables(world, copy if killed else folder)


async def test_changes_after_a_restart_that_came_before_the_first_search_are_found(
    tmp_path: Path, embedder: WordLlamaEmbedder
) -> None:
    async with opened(tmp_path, embedder) as world:
        await world.add_document("a", "green tea")
        await world.open_index()
        assert await world.cache.save("alice")
    async with opened(tmp_path, embedder) as world:
        await world.add_document("b", "black kettle")
        await world.remove_document("a")
        await world.set_chunks("a")
        assert await opened_from_snapshot(world)
        assert await world.found_ids(QUERY, threshold=0.0) == ["b-0"]
        await assert_equals_tables(world, tmp_path)


async def test_a_snapshot_that_is_cut_off_or_has_a_changed_byte_is_removed(
    tmp_path: Path, embedder: WordLlamaEmbedder
) -> None:
    async with opened(tmp_path, embedder) as world:
        await world.add_document("a", "green tea", "black kettle")
        await world.open_index()
        assert await world.cache.save("alice")
        (file,) = snapshot_files(tmp_path)
        whole = file.read_bytes()
        for at in (3, 20, 400, whole.index(b"black kettle"), len(whole) - 2):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert not await opened_from_snapshot(world)
            assert not file.exists()
        for size in (0, 30, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:size])
            assert not await opened_from_snapshot(world)
        file.write_bytes(whole)
        assert await opened_from_snapshot(world)


async def test_a_snapshot_of_other_tables_or_another_embedder_is_not_used(
    tmp_path: Path, embedder: WordLlamaEmbedder
) -> None:
    async with opened(tmp_path, embedder) as world:
        await world.add_document("a", "green tea")
        await world.open_index()
        assert await world.cache.save("alice")
        world.cache = open_cache(
            world.store, tmp_path, UNLIMITED_BYTES, snapshot_bytes=SNAPSHOT_BYTES, identity="another"
        )
        assert not await opened_from_snapshot(world)


async def test_a_snapshot_newer_than_tables_from_a_backup_is_not_used(
    tmp_path: Path, embedder: WordLlamaEmbedder
) -> None:
    folder, backup = tmp_path / "tables", tmp_path / "backup"
    async with opened(folder, embedder) as world:
        await world.add_document("a", "green tea")
        await world.open_index()
        assert await world.cache.save("alice")
        await world.store.flush()
        shutil.copytree(folder, backup)
        await world.add_document("a", "black kettle")
        await world.store.flush()
        await world.open_index()
        assert await world.cache.save("alice")
    newer = folder / "index"
    shutil.rmtree(backup / "index")
    shutil.copytree(newer, backup / "index")
    async with opened(backup, embedder) as world:
        assert not await opened_from_snapshot(world)
        assert [hit.text for hit in await world.hits(QUERY, threshold=0.0)] == ["green tea"]


async def test_a_snapshot_that_was_not_written_to_the_end_of_its_history_is_not_used(
    tmp_path: Path, embedder: WordLlamaEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_history, "MAX_CHANGES", 3)
    async with opened(tmp_path, embedder) as world:
        await world.add_document("a", "green tea")
        await world.open_index()
        assert await world.cache.save("alice")
        for number in range(4):
            await world.add_document(f"b{number}", "black kettle")
        await world.store.flush()
        assert not await opened_from_snapshot(world)
        await world.open_index()
        assert await world.cache.save("alice")
        assert await opened_from_snapshot(world)


async def test_erasing_leaves_no_deleted_word_in_any_snapshot(tmp_path: Path, embedder: WordLlamaEmbedder) -> None:
    async with opened(tmp_path, embedder) as world:
        world.assign_incarnations("bob", "bob#0")
        await world.add_document("a", "secret-of-alice", title="secret-title", metadata={"m": "secret-metadata"})
        await world.add_memory("m", "secret-of-memory", "a")
        await world.add_document("kept", "green tea", title="a kept title")
        await world.add_document("b", "secret-of-bob", incarnation="bob#0")
        await world.open_index()
        await world.open_index("bob")
        assert await world.cache.save("alice")
        assert await world.cache.save("bob")
        assert all(b"secret-of" in file.read_bytes() for file in snapshot_files(tmp_path))
        await world.remove_document("a")
        await world.set_chunks("a")
        await world.store.memories.update(["m"], lambda _id, _rows: [])
        await world.remove_document("b")
        await world.set_chunks("b", incarnation="bob#0")
        world.cache._drop("bob")
        await world.cache.erase_snapshots()
        (file,) = snapshot_files(tmp_path)
        assert b"secret" not in file.read_bytes()
        assert b"a kept title" in file.read_bytes()
        assert await opened_from_snapshot(world)
        await assert_equals_tables(world, tmp_path)


async def test_deleted_namespaces_leave_no_snapshot_behind(tmp_path: Path, embedder: WordLlamaEmbedder) -> None:
    async with opened(tmp_path, embedder) as world:
        await world.add_document("a", "green tea")
        await world.open_index()
        assert await world.cache.save("alice")
        world.assign_incarnations("alice", "alice#1")
        await world.cache.erase_snapshots(older_than=3600.0)
        assert snapshot_files(tmp_path)
        await world.cache.erase_snapshots()
        assert not snapshot_files(tmp_path)


async def test_the_least_recently_used_snapshot_goes_when_all_take_too_much(
    tmp_path: Path, embedder: WordLlamaEmbedder
) -> None:
    async with opened(tmp_path, embedder) as world:
        for number, name in enumerate(("alice", "bob", "carol")):
            world.assign_incarnations(name, f"{name}#0")
            await world.add_document(f"d{number}", "green tea", incarnation=f"{name}#0")
            await world.open_index(name)
            if name == "carol":
                two = sum(file.stat().st_size for file in snapshot_files(tmp_path))
                world.cache = open_cache(world.store, tmp_path, UNLIMITED_BYTES, snapshot_bytes=two)
                await world.open_index("alice")
                await world.open_index("carol")
            assert await world.cache.save(name)
        assert await opened_from_snapshot(world)
        assert len(snapshot_files(tmp_path)) == 2


async def test_snapshots_over_shared_tables_follow_other_processes(tmp_path: Path, embedder: WordLlamaEmbedder) -> None:
    locks = open_locks(str(tmp_path))
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES, snapshot_bytes=SNAPSHOT_BYTES, locks=locks) as world:
        await world.add_document("a", "green tea")
        await world.add_document("b", "black kettle")
        await world.store.refresh()
        await world.open_index()
        assert await world.cache.save("alice")
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES, locks=locks) as world:
        await world.add_document("a", "chess")
        await world.add_document("c", "winter tea")
        await world.remove_document("b")
        await world.set_chunks("b")
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES, snapshot_bytes=SNAPSHOT_BYTES, locks=locks) as world:
        assert await opened_from_snapshot(world)
        assert set(await world.found_ids(QUERY, threshold=0.0)) == {"a-0", "c-0"}
        await assert_equals_tables(world, tmp_path)
