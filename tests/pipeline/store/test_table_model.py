"""Model tests: a table equals a dictionary of rows, whatever is flushed, merged, reopened or fails."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.packed_vectors import unpack
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.store import Store
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.write_ahead_log import WriteAheadLog
from tests.support.store_rows import (
    EPOCH,
    chunk,
    clear_row_cache,
    document,
    exclusive_and_shared,
    full_document,
    full_memory,
    memory,
    merge_newest_fragments,
    open_test_store,
    shrink_row_cache,
    start_store,
    store_chunks,
    store_documents,
    store_memories,
    to_comparable,
)

pytestmark = pytest.mark.anyio

_SPACES = ["alice#0", "bob#0", "carol#1"]
_GROUPS = [f"group{number}" for number in range(8)]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(_GROUPS), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.sampled_from(["flush", "maintain", "merge", "reopen", "settle"])),
        st.tuples(st.just("read"), st.lists(st.sampled_from(_GROUPS))),
        st.tuples(st.just("purge"), st.sampled_from(_SPACES)),
    ),
    max_size=25,
)


def _incarnation(entity_key: str) -> str:
    return _SPACES[_GROUPS.index(entity_key) % len(_SPACES)]


def _rows(entity_key: str, rows: int, text: int) -> list[ChunkRow]:
    return [
        replace(
            chunk(entity_key, position, _incarnation(entity_key), f"text {text if position == 0 else position}"),
            seq=text,
        )
        for position in range(rows)
    ]


async def apply_step(
    store: Store,
    step: tuple[object, ...],
    model: dict[str, list[ChunkRow]],
    again: Callable[[], Awaitable[Store]],
) -> Store:
    match step:
        case ("write", str(group), int(rows), int(text)):
            after = await store.chunks.update([group], lambda _, __: _rows(group, rows, text))
            model[group] = _rows(group, rows, text)
            assert _plain(after[group]) == _plain(model[group])
        case ("read", list(groups)):
            found = await store.chunks.get(groups)
            assert {group: _plain(rows) for group, rows in found.items()} == {
                group: _plain(model[group]) for group in groups if model.get(group)
            }
        case ("purge", str(incarnation)):
            await store.chunks.delete_incarnations([incarnation])
            model.update({group: [] for group in model if _incarnation(group) == incarnation})
        case ("flush",):
            await store.chunks.wait_until_durable()
        case ("maintain",):
            await store.chunks.maintain()
        case ("merge",):
            await merge_newest_fragments(store.chunks)
        case ("reopen",):
            await store.close()
            return await again()
        case _:
            clear_row_cache(store.chunks)
    return store


async def assert_store_matches(store: Store, model: Mapping[str, Sequence[ChunkRow]]) -> None:
    found = await store.chunks.get(_GROUPS)
    assert {group: _plain(rows) for group, rows in found.items()} == {
        group: _plain(rows) for group, rows in model.items() if rows
    }
    for incarnation in _SPACES:
        expected = [row for rows in model.values() for row in rows if row.incarnation == incarnation]
        ids = sorted(row.id for row in expected)
        assert sorted(row.id for row in await store.chunks.list_rows([incarnation])) == ids
        assert store.chunks.count_by_incarnation([incarnation]) == {incarnation: len(ids)}
        page = await store.chunks.page([incarnation], sort="position", limit=100)
        assert (sorted(row.id for row in page.rows), page.total) == (ids, len(ids))
        assert sorted([chunk_id async for batch in store.chunks.stream([incarnation]) for chunk_id in batch.ids]) == ids


def _plain(rows: Sequence[ChunkRow]) -> list[dict[str, object]]:
    return [to_comparable(row) for row in rows]


@pytest.mark.no_cover
@exclusive_and_shared
@settings(max_examples=25, deadline=None)
@given(history=steps)
def test_a_table_equals_a_dictionary_after_any_history(shared: bool, history: list[tuple[object, ...]]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_test_store(folder, shared=shared)
            model: dict[str, list[ChunkRow]] = {}
            for step in history:
                store = await apply_step(store, step, model, lambda: open_test_store(folder, shared=shared))
            await assert_store_matches(store, model)
            await store.close()
            await assert_store_matches(await open_test_store(folder, shared=shared), model)

    asyncio.run(live())


@exclusive_and_shared
async def test_reads_may_evict_cached_rows_of_other_keys(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    for group in _GROUPS:
        await store_chunks(store, group, _rows(group, 1, 0))
    await store.chunks.wait_until_durable()
    clear_row_cache(store.chunks)
    shrink_row_cache(store.chunks)
    for held in _GROUPS:
        await store.chunks.get([held])
        assert list(await store.chunks.get(_GROUPS)) == _GROUPS


@exclusive_and_shared
async def test_every_field_survives_on_disk(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    row, passage, fact = full_document(), chunk("parent", 2), full_memory("source")
    await store_documents(store, row)
    await store_chunks(store, "parent", [passage, chunk("parent", 0)])
    await store_memories(store, fact, memory("bare", ["parent"]))
    await store.close()
    again = await open_test_store(tmp_path, shared=shared)
    assert (await again.documents.get([row.key]))[row.key] == [row]
    assert _plain((await again.chunks.get(["parent"]))["parent"]) == _plain([chunk("parent", 0), passage])
    assert to_comparable((await again.memories.get([fact.id]))[fact.id][0]) == to_comparable(fact)


@exclusive_and_shared
async def test_a_lone_surrogate_does_not_stop_the_flusher(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    row = document("odd", title="a\ud800b", metadata={"k": "\ud800"})
    await store_documents(store, row)
    await store.close()
    again = await open_test_store(tmp_path, shared=shared)
    assert (await again.documents.get([row.key]))[row.key][0].title == "a?b"


@exclusive_and_shared
async def test_concurrent_updates_lose_nothing_during_flushes(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    running = asyncio.create_task(store.run())
    keys = [document(str(number)).key for number in range(6)]

    def add(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
        row = rows[0] if rows else document(str(keys.index(key)), seq=0)
        return [replace(row, seq=row.seq + 1)]

    async def worker(number: int) -> None:
        for turn in range(20):
            await store.documents.update([keys[(number + turn) % 6], keys[turn % 6]], add)
            if turn % 5 == number % 5:
                clear_row_cache(store.documents)
                await store.documents.wait_until_durable()

    await asyncio.gather(*(worker(number) for number in range(12)))
    # 12 workers of 20 turns; a turn whose two keys are one updates it once.
    expected = sum(len({(number + turn) % 6, turn % 6}) for number in range(12) for turn in range(20))
    assert sum(rows[0].seq for rows in (await store.documents.get(keys)).values()) == expected
    await store.close()
    await running
    again = await open_test_store(tmp_path, shared=shared)
    assert sum(rows[0].seq for rows in (await again.documents.get(keys)).values()) == expected
    assert again.documents.count_by_incarnation(["alice#0"]) == {"alice#0": 6}


@exclusive_and_shared
async def test_reads_never_fail_during_flushes_and_compaction(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    parents = [f"parent{number}" for number in range(10)]
    finished = asyncio.Event()

    async def write() -> None:
        for turn in range(60):
            await store_chunks(
                store, parents[turn % 10], [chunk(parents[turn % 10], place) for place in range(turn % 4 + 1)]
            )
            await store.chunks.wait_until_durable()
            if turn % 15 == 14:
                await store.chunks.maintain()
        finished.set()

    async def read() -> int:
        reads = 0
        while not finished.is_set():
            clear_row_cache(store.chunks)
            found = await store.chunks.get(parents)
            assert all([row.position for row in rows] == list(range(len(rows))) for rows in found.values()), (
                "a torn group"
            )
            page = await store.chunks.page(["alice#0"], sort="position", limit=100)
            assert len({row.id for row in page.rows}) == len(page.rows)
            reads += 1
        return reads

    _, *reads = await asyncio.gather(write(), read(), read())
    assert all(reads)


async def test_a_failed_flush_is_retried_and_durability_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_test_store(tmp_path)
    base = store.documents._lance_tables[0]
    assert isinstance(base, ExclusiveLanceTable)
    commit, failures = base.commit, [OSError("No space left on device"), RuntimeError("lance is busy")]

    async def full(*_: object) -> None:
        raise OSError("database or disk is full")

    monkeypatch.setattr(WriteAheadLog, "append", full)

    async def failing(changed: Mapping[str, Sequence[DocumentRow]]) -> None:
        if failures:
            raise failures.pop()
        await commit(changed)

    monkeypatch.setattr(base, "commit", failing)
    running = await start_store(store)
    await store_documents(store, document("a"))
    await store.documents.wait_until_durable()
    assert not failures
    assert "No space left on device" in caplog.text
    await store.close()
    await running
    assert (await open_test_store(tmp_path)).documents.count_by_incarnation(["alice#0"]) == {"alice#0": 1}


@exclusive_and_shared
async def test_listeners_are_notified_synchronously_with_a_change(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    heard: list[dict[str, list[str]]] = []
    store.documents.subscribe(lambda news: heard.append({key: [row.id for row in rows] for key, rows in news.items()}))
    row = document("a")
    await store_documents(store, row)
    await store.documents.update([row.key], lambda _, __: None)
    await store.documents.update([row.key], lambda _, rows: rows)
    await store.documents.update([row.key], lambda _, __: [])
    assert heard == [{row.key: ["a"]}, {row.key: []}]


@exclusive_and_shared
async def test_a_change_that_raises_changes_nothing(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    good, bad = document("good"), document("bad")

    def change(key: str, _: list[DocumentRow]) -> list[DocumentRow]:
        if key == bad.key:
            raise LookupError(key)
        return [good]

    with pytest.raises(LookupError):
        await store.documents.update([good.key, bad.key], change)
    assert await store.documents.get([good.key]) == {}


@exclusive_and_shared
async def test_two_rows_with_one_id_become_one(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_chunks(store, "parent", [chunk("parent", 0), chunk("parent", 0, seq=9)])
    await store.chunks.wait_until_durable()
    clear_row_cache(store.chunks)
    assert [row.seq for row in (await store.chunks.get(["parent"]))["parent"]] == [9]


async def test_an_absent_key_needs_no_read_of_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_test_store(tmp_path)
    await store_documents(store, document("a"))
    await store.close()
    again = await open_test_store(tmp_path)

    async def scan(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(again.documents._lance_tables[0], "scan", scan)
    assert await again.documents.get(["stranger"]) == {}


async def test_closing_flushes_pending_changes(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path)
    running = asyncio.create_task(store.run())
    await store_documents(store, *(document(str(number)) for number in range(20)))
    await store.close()
    await running
    assert (await open_test_store(tmp_path)).documents.count_by_incarnation(["alice#0"]) == {"alice#0": 20}


@exclusive_and_shared
async def test_deleting_incarnations_clears_every_table_and_is_idempotent(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    for incarnation in ("alice#0", "alice#1"):
        await store_documents(store, document("a", incarnation), document("b", incarnation))
        await store_chunks(store, incarnation, [chunk(incarnation, 0, incarnation)])
        await store_memories(store, memory("fact", ["a"], incarnation))
    await store.documents.wait_until_durable()
    await store_documents(store, document("c", "alice#0"))
    for _ in range(2):
        await store.delete_incarnations(["alice#0"])
    for current in (store, await open_test_store(tmp_path, shared=shared)):
        assert await current.documents.list_rows(["alice#0"]) == []
        assert await current.chunks.list_rows(["alice#0"]) == []
        assert await current.memories.list_rows(["alice#0"]) == []
        assert current.documents.count_by_incarnation(["alice#0", "alice#1"]) == {"alice#0": 0, "alice#1": 2}
        assert current.memories.count_by_incarnation(["alice#0"]) == {"alice#0": 0}


@exclusive_and_shared
async def test_columns_equal_rows(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, full_document(), document("old"))
    await store_chunks(store, "p", [chunk("p", place) for place in range(3)])
    await store_memories(store, full_memory("s"), memory("bare", ["p"]))
    for table in (store.documents, store.chunks, store.memories):
        await table.wait_until_durable()
    await store_documents(store, document("old", title="new", created_at=EPOCH + timedelta(days=1)))
    await store_chunks(store, "q", [chunk("q", 1)])
    documents = await store.documents.columns(["alice#0"])
    assert dict(zip(documents.ids, documents.titles, strict=True)) == {"full": "A 'title'", "old": "new"}
    batches = [batch async for batch in store.chunks.stream(["alice#0"])]
    rows = {row.id: row for row in await store.chunks.list_rows(["alice#0"])}
    seen = 0
    for batch in batches:
        for place, row_id in enumerate(batch.ids):
            start, end = batch.term_offsets[place : place + 2]
            assert np.array_equal(unpack(batch.vectors[place]), rows[row_id].vector)
            assert np.array_equal(batch.terms[start:end], rows[row_id].terms)
            assert (batch.texts[place], batch.documents[place]) == (rows[row_id].text, rows[row_id].document)
            seen += 1
    assert seen == len(rows) == 4
    facts = [batch async for batch in store.memories.stream(["alice#0"])]
    pairs = [pair for batch in facts for pair in zip(batch.texts, batch.sources, strict=True)]
    assert sorted(pairs) == [("bare", "p"), ("full", "s another")]


@exclusive_and_shared
async def test_a_missing_value_is_empty_where_all_other_rows_share_one(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("bare"), document("dated", title="A title", date="2026-02"))
    await store_memories(
        store, memory("bare", ["p"]), memory("dated", ["p"], date="2026-02", comparison_keys=("x", "y"))
    )
    for table in (store.documents, store.memories):
        await table.wait_until_durable()
    found = await store.documents.columns(["alice#0"])
    titles_and_dates = dict(zip(found.ids, zip(found.titles, found.dates, strict=True), strict=True))
    assert titles_and_dates == {"bare": ("", ""), "dated": ("A title", "2026-02")}
    [facts] = [batch async for batch in store.memories.stream(["alice#0"])]
    assert dict(zip(facts.texts, facts.dates, strict=True)) == {"bare": "", "dated": "2026-02"}
    assert dict(zip(facts.texts, np.diff(facts.comparison_key_offsets), strict=True)) == {
        "bare": 0,
        "dated": 2,
    }


_SOURCES = ["a", "b", "c", "it's", ""]
_STATES = st.lists(
    st.tuples(st.integers(0, 6), st.none() | st.lists(st.sampled_from(_SOURCES), min_size=1, max_size=4)),
    max_size=14,
)


@pytest.mark.no_cover
@exclusive_and_shared
@given(_STATES, _STATES)
@settings(max_examples=8, deadline=None)
async def test_memories_of_a_document_are_found_with_an_index_as_without(
    shared: bool, before: list[tuple[int, list[str] | None]], after: list[tuple[int, list[str] | None]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.store.lancedb.lance_table._INDEX_ROWS", 1)
        patch.setattr("pipeline.store.lancedb.secondary_index._INDEX_ROWS", 1)
        store = await open_test_store(folder, shards=1, shared=shared)
        known: dict[int, list[str]] = {9: ["a"]}
        await store_memories(store, memory("text 9", ["a"]))
        for states in (before, after):
            for number, sources in states:
                row = memory(f"text {number}", sources or ["gone"])
                await store_memories(store, row)
                if sources is None:
                    await store.memories.update([row.id], lambda _, __: [])
                known.pop(number, None)
                if sources is not None:
                    known[number] = sources
            await store.memories.flush()
            for document_ in _SOURCES:
                found = {row.text for row in await store.memories.find_by_documents([document_])}
                assert found == {f"text {text}" for text, held in known.items() if document_ in held}
            await store.memories.maintain()
        await store.close()
