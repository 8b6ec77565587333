"""A table is a dictionary of groups, whatever is flushed, merged, reopened or fails meanwhile."""

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

from pipeline.rows import ChunkRow, DocumentRow
from pipeline.store import Store
from pipeline.store.ahead import Ahead
from pipeline.store.base import Base
from tests.pipeline.store.samples import (
    EPOCH,
    both,
    chunk,
    document,
    forget_recent,
    full_document,
    full_memory,
    hold_one,
    memory,
    merge_newest,
    opened,
    plain,
    started,
    store_chunks,
    store_documents,
    store_memories,
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


def _space(group: str) -> str:
    return _SPACES[_GROUPS.index(group) % len(_SPACES)]


def _rows(group: str, rows: int, text: int) -> list[ChunkRow]:
    return [
        replace(
            chunk(group, position, _space(group), f"text {text if position == 0 else position}"), seq=text
        )
        for position in range(rows)
    ]


async def play(
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
        case ("purge", str(space)):
            await store.chunks.remove_spaces([space])
            model.update({group: [] for group in model if _space(group) == space})
        case ("flush",):
            await store.chunks.durable()
        case ("maintain",):
            await store.chunks.maintain()
        case ("merge",):
            await merge_newest(store.chunks)
        case ("reopen",):
            await store.close()
            return await again()
        case _:
            forget_recent(store.chunks)
    return store


async def agrees(store: Store, model: Mapping[str, Sequence[ChunkRow]]) -> None:
    found = await store.chunks.get(_GROUPS)
    assert {group: _plain(rows) for group, rows in found.items()} == {
        group: _plain(rows) for group, rows in model.items() if rows
    }
    for space in _SPACES:
        wanted = [row for rows in model.values() for row in rows if row.space == space]
        ids = sorted(row.id for row in wanted)
        assert sorted(row.id for row in await store.chunks.in_spaces([space])) == ids
        assert store.chunks.count([space]) == {space: len(ids)}
        page = await store.chunks.page([space], sort="position", limit=100)
        assert (sorted(row.id for row in page.rows), page.total) == (ids, len(ids))
        assert sorted([one async for batch in store.chunks.stream([space]) for one in batch.ids]) == ids


def _plain(rows: Sequence[ChunkRow]) -> list[dict[str, object]]:
    return [plain(row) for row in rows]


@both
@settings(max_examples=25, deadline=None)
@given(history=steps)
def test_any_history_leaves_what_a_dictionary_would_hold(
    shared: bool, history: list[tuple[object, ...]]
) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await opened(folder, shared=shared)
            model: dict[str, list[ChunkRow]] = {}
            for step in history:
                store = await play(store, step, model, lambda: opened(folder, shared=shared))
            await agrees(store, model)
            await store.close()
            await agrees(await opened(folder, shared=shared), model)

    asyncio.run(live())


@both
async def test_groups_that_are_read_may_push_out_those_that_were_held(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    for group in _GROUPS:
        await store_chunks(store, group, _rows(group, 1, 0))
    await store.chunks.durable()
    forget_recent(store.chunks)
    hold_one(store.chunks)
    for held in _GROUPS:
        await store.chunks.get([held])
        assert list(await store.chunks.get(_GROUPS)) == _GROUPS


@both
async def test_every_field_survives_the_way_to_disk(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    row, passage, fact = full_document(), chunk("parent", 2), full_memory("source")
    await store_documents(store, row)
    await store_chunks(store, "parent", [passage, chunk("parent", 0)])
    await store_memories(store, fact, memory("bare", ["parent"]))
    await store.close()
    again = await opened(tmp_path, shared=shared)
    assert (await again.documents.get([row.key]))[row.key] == [row]
    assert _plain((await again.chunks.get(["parent"]))["parent"]) == _plain([chunk("parent", 0), passage])
    assert plain((await again.memories.get([fact.id]))[fact.id][0]) == plain(fact)


@both
async def test_half_a_surrogate_pair_does_not_stop_the_writer(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    row = document("odd", title="a\ud800b", metadata={"k": "\ud800"})
    await store_documents(store, row)
    await store.close()
    again = await opened(tmp_path, shared=shared)
    assert (await again.documents.get([row.key]))[row.key][0].title == "a?b"


@both
async def test_concurrent_updates_lose_nothing_while_the_writer_flushes(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    running = asyncio.create_task(store.run())
    keys = [document(str(number)).key for number in range(6)]

    def add(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
        row = rows[0] if rows else document(str(keys.index(key)), seq=0)
        return [replace(row, seq=row.seq + 1)]

    async def worker(number: int) -> None:
        for turn in range(20):
            await store.documents.update([keys[(number + turn) % 6], keys[turn % 6]], add)
            if turn % 5 == number % 5:
                forget_recent(store.documents)
                await store.documents.durable()

    await asyncio.gather(*(worker(number) for number in range(12)))
    # 12 workers of 20 turns; a turn whose two keys are one updates it once.
    expected = sum(len({(number + turn) % 6, turn % 6}) for number in range(12) for turn in range(20))
    assert sum(rows[0].seq for rows in (await store.documents.get(keys)).values()) == expected
    await store.close()
    await running
    again = await opened(tmp_path, shared=shared)
    assert sum(rows[0].seq for rows in (await again.documents.get(keys)).values()) == expected
    assert again.documents.count(["alice#0"]) == {"alice#0": 6}


@both
async def test_reads_never_fail_while_the_writer_flushes_and_merges(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    parents = [f"parent{number}" for number in range(10)]
    finished = asyncio.Event()

    async def write() -> None:
        for turn in range(60):
            await store_chunks(
                store, parents[turn % 10], [chunk(parents[turn % 10], place) for place in range(turn % 4 + 1)]
            )
            await store.chunks.durable()
            if turn % 15 == 14:
                await store.chunks.maintain()
        finished.set()

    async def read() -> int:
        reads = 0
        while not finished.is_set():
            forget_recent(store.chunks)
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


async def test_a_flush_that_fails_is_tried_again_and_durable_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(tmp_path)
    base = store.documents._bases[0]
    assert isinstance(base, Base)
    commit, failures = base.commit, [OSError("No space left on device"), RuntimeError("lance is busy")]

    async def full(*_: object) -> None:
        raise OSError("database or disk is full")

    monkeypatch.setattr(Ahead, "keep", full)

    async def failing(changed: Mapping[str, Sequence[DocumentRow]]) -> None:
        if failures:
            raise failures.pop()
        await commit(changed)

    monkeypatch.setattr(base, "commit", failing)
    running = await started(store)
    await store_documents(store, document("a"))
    await store.documents.durable()
    assert not failures
    assert "No space left on device" in caplog.text
    await store.close()
    await running
    assert (await opened(tmp_path)).documents.count(["alice#0"]) == {"alice#0": 1}


@both
async def test_listeners_hear_of_a_change_in_the_same_instant(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    heard: list[dict[str, list[str]]] = []
    store.documents.subscribe(
        lambda news: heard.append({key: [row.id for row in rows] for key, rows in news.items()})
    )
    row = document("a")
    await store_documents(store, row)
    await store.documents.update([row.key], lambda _, __: None)
    await store.documents.update([row.key], lambda _, rows: rows)
    await store.documents.update([row.key], lambda _, __: [])
    assert heard == [{row.key: ["a"]}, {row.key: []}]


@both
async def test_a_change_that_raises_changes_nothing(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    good, bad = document("good"), document("bad")

    def change(key: str, _: list[DocumentRow]) -> list[DocumentRow]:
        if key == bad.key:
            raise LookupError(key)
        return [good]

    with pytest.raises(LookupError):
        await store.documents.update([good.key, bad.key], change)
    assert await store.documents.get([good.key]) == {}


@both
async def test_two_rows_with_one_id_become_one(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    await store_chunks(store, "parent", [chunk("parent", 0), chunk("parent", 0, seq=9)])
    await store.chunks.durable()
    forget_recent(store.chunks)
    assert [row.seq for row in (await store.chunks.get(["parent"]))["parent"]] == [9]


async def test_an_unknown_group_is_answered_without_asking_lancedb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path)
    await store_documents(store, document("a"))
    await store.close()
    again = await opened(tmp_path)

    async def scan(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(again.documents._bases[0], "scan", scan)
    assert await again.documents.get(["stranger"]) == {}


async def test_closing_flushes_what_waits(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    running = asyncio.create_task(store.run())
    await store_documents(store, *(document(str(number)) for number in range(20)))
    await store.close()
    await running
    assert (await opened(tmp_path)).documents.count(["alice#0"]) == {"alice#0": 20}


@both
async def test_removing_spaces_takes_rows_of_every_table_and_may_be_repeated(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shared=shared)
    for space in ("alice#0", "alice#1"):
        await store_documents(store, document("a", space), document("b", space))
        await store_chunks(store, space, [chunk(space, 0, space)])
        await store_memories(store, memory("fact", ["a"], space))
    await store.documents.durable()
    await store_documents(store, document("c", "alice#0"))
    for _ in range(2):
        await store.remove_spaces(["alice#0"])
    for current in (store, await opened(tmp_path, shared=shared)):
        assert await current.documents.in_spaces(["alice#0"]) == []
        assert await current.chunks.in_spaces(["alice#0"]) == []
        assert await current.memories.in_spaces(["alice#0"]) == []
        assert current.documents.count(["alice#0", "alice#1"]) == {"alice#0": 0, "alice#1": 2}
        assert current.memories.count(["alice#0"]) == {"alice#0": 0}


@both
async def test_columns_hold_what_rows_hold(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    await store_documents(store, full_document(), document("old"))
    await store_chunks(store, "p", [chunk("p", place) for place in range(3)])
    await store_memories(store, full_memory("s"), memory("bare", ["p"]))
    for table in (store.documents, store.chunks, store.memories):
        await table.durable()
    await store_documents(store, document("old", title="new", created_at=EPOCH + timedelta(days=1)))
    await store_chunks(store, "q", [chunk("q", 1)])
    documents = await store.documents.columns(["alice#0"])
    assert dict(zip(documents.ids, documents.titles, strict=True)) == {"full": "A 'title'", "old": "new"}
    batches = [batch async for batch in store.chunks.stream(["alice#0"])]
    rows = {row.id: row for row in await store.chunks.in_spaces(["alice#0"])}
    seen = 0
    for batch in batches:
        for place, one in enumerate(batch.ids):
            start, end = batch.term_offsets[place : place + 2]
            assert np.array_equal(batch.vectors[place], rows[one].vector)
            assert np.array_equal(batch.terms[start:end], rows[one].terms)
            assert (batch.texts[place], batch.documents[place]) == (rows[one].text, rows[one].document)
            seen += 1
    assert seen == len(rows) == 4
    facts = [batch async for batch in store.memories.stream(["alice#0"])]
    pairs = [pair for batch in facts for pair in zip(batch.texts, batch.sources, strict=True)]
    assert sorted(pairs) == [("bare", "p"), ("full", "s another")]


@both
async def test_what_a_row_lacks_is_empty_where_all_others_have_the_same(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shared=shared)
    await store_documents(store, document("bare"), document("dated", title="A title", date="2026-02"))
    await store_memories(
        store, memory("bare", ["p"]), memory("dated", ["p"], date="2026-02", keys=("x", "y"))
    )
    for table in (store.documents, store.memories):
        await table.durable()
    found = await store.documents.columns(["alice#0"])
    told = dict(zip(found.ids, zip(found.titles, found.dates, strict=True), strict=True))
    assert told == {"bare": ("", ""), "dated": ("A title", "2026-02")}
    [facts] = [batch async for batch in store.memories.stream(["alice#0"])]
    assert dict(zip(facts.texts, facts.dates, strict=True)) == {"bare": "", "dated": "2026-02"}
    assert dict(zip(facts.texts, np.diff(facts.key_offsets), strict=True)) == {"bare": 0, "dated": 2}


_SOURCES = ["a", "b", "c", "it's", ""]
_STATES = st.lists(
    st.tuples(st.integers(0, 6), st.none() | st.lists(st.sampled_from(_SOURCES), min_size=1, max_size=4)),
    max_size=14,
)


@both
@given(_STATES, _STATES)
@settings(max_examples=8, deadline=None)
async def test_memories_of_a_document_are_found_with_an_index_as_without(
    shared: bool, before: list[tuple[int, list[str] | None]], after: list[tuple[int, list[str] | None]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.store.stored._INDEX_ROWS", 1)
        patch.setattr("pipeline.store.links._INDEX_ROWS", 1)
        store = await opened(folder, shards=1, shared=shared)
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
                found = {row.text for row in await store.memories.of_documents([document_])}
                assert found == {f"text {one}" for one, held in known.items() if document_ in held}
            await store.memories.maintain()
        await store.close()
