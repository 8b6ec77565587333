"""Shared tables: changes of several processes are neither lost nor doubled, and reach every process."""

import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import LockLostError, OutageError
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.runtime.local_locks import LocalLease
from pipeline.store import Store, StoreMismatchError
from pipeline.store.multi_process import shared_lance_table
from pipeline.store.multi_process.row_overlay import LoggedChange
from pipeline.store.multi_process.shard_committer import ShardCommitter
from pipeline.store.multi_process.shard_follower import StaleFollowerError
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.shared_table import SharedTable
from tests.support.planted_words import found_in
from tests.support.shared_table_writer import NAMES, count_once_more
from tests.support.store_rows import chunk, document, open_test_store, store_chunks, store_documents

pytestmark = pytest.mark.anyio

_CHECKOUT = Path(__file__).parents[4]
_SPACES = ["alice#0", "bob#0", "carol#1"]
_GROUPS = [f"group{number}" for number in range(6)]


async def _writer(folder: Path, number: int, turns: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.shared_table_writer", str(folder), str(number), str(turns),
        stdout=asyncio.subprocess.PIPE, cwd=_CHECKOUT,
    )  # fmt: skip


async def _lines(process: asyncio.subprocess.Process) -> int:
    """Number of turns that a writer reported, once it ended."""
    assert process.stdout is not None
    text = (await process.stdout.read()).decode()
    await process.wait()
    return text.split().count("counted")


async def _assert_consistent(store: Store) -> None:
    """Assert that there are no duplicates and no partial row sets."""
    for table in (store.documents, store.chunks):
        ids = Counter(row.id for row in await table.list_rows(["alice#0"]))
        assert max(ids.values(), default=1) == 1
    for rows in (await store.chunks.get(NAMES)).values():
        assert [row.text for row in rows] == [f"{rows[0].seq} {place}" for place in range(len(rows))]
        assert len(rows) == rows[0].seq % 7 + 1


async def _counts(store: Store) -> int:
    rows = await store.documents.get([document(name).key for name in NAMES])
    return sum(row.seq for members in rows.values() for row in members)


async def test_processes_that_change_the_same_rows_lose_nothing(tmp_path: Path) -> None:
    turns = 15
    writers = await asyncio.gather(*(_writer(tmp_path, number, turns) for number in range(3)))
    assert await asyncio.gather(*map(_lines, writers)) == [turns] * 3
    store = await open_test_store(tmp_path, shared=True)
    assert await _counts(store) == 3 * turns * 2
    assert sum(rows[0].seq for rows in (await store.chunks.get(NAMES)).values()) == 3 * turns
    await _assert_consistent(store)


async def test_a_killed_process_loses_nothing_of_the_others(tmp_path: Path) -> None:
    turns = 12
    victim, other = await asyncio.gather(_writer(tmp_path, 1, 10_000), _writer(tmp_path, 2, turns))
    assert victim.stdout is not None
    for _ in range(6):
        assert await victim.stdout.readline()
    os.kill(victim.pid, signal.SIGKILL)
    counted = 5 + await _lines(victim)
    assert await _lines(other) == turns
    store = await open_test_store(tmp_path, shared=True)
    assert 0 <= await _counts(store) - 2 * (turns + counted) <= 2  # its unfinished turn may have been committed
    await _assert_consistent(store)


async def test_waiting_updates_share_a_commit(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    (base,) = {id(base): base for base in _bases(store) if base is _home(store, "alice#0")}.values()
    before = await base.version()
    await asyncio.gather(*(store.documents.update([key], count_once_more) for _ in range(50)))
    assert await _counts(store) == 50
    assert await base.version() - before <= 2


async def test_a_commit_asks_for_the_newest_version_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    await store.refresh()
    await store.documents.update([key], count_once_more)
    asked: list[SharedLanceTable[Any]] = []
    ask = SharedLanceTable.version

    async def noted(self: SharedLanceTable[Any]) -> int:
        asked.append(self)
        return await ask(self)

    monkeypatch.setattr(SharedLanceTable, "version", noted)
    await store.documents.update([key], count_once_more)
    assert asked == [_home(store, "alice#0")]


async def test_a_new_document_is_read_from_the_shard_of_its_incarnation_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path, shared=True)
    asked: list[SharedLanceTable[Any]] = []
    fetch = SharedLanceTable.get_rows

    async def noted(self: SharedLanceTable[Any], entity_keys: Collection[str]) -> dict[str, list[Any]]:
        asked.extend([self] if entity_keys else [])
        return await fetch(self, entity_keys)

    monkeypatch.setattr(SharedLanceTable, "get_rows", noted)
    row = document("new")
    assert await store.documents.find_by_public_id([row.incarnation], [row.id]) == {}
    await store.documents.update([row.key], lambda _, rows: rows or [row])
    assert set(asked) <= {_home(store, row.incarnation)}


async def test_a_process_reads_only_the_rows_that_others_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    key = document(NAMES[0]).key
    asked: list[str] = []
    fetch = SharedLanceTable.get_rows

    async def noted(self: SharedLanceTable[Any], entity_keys: Collection[str]) -> dict[str, list[Any]]:
        asked.extend(entity_keys)
        return await fetch(self, entity_keys)

    await store.refresh()
    monkeypatch.setattr(SharedLanceTable, "get_rows", noted)
    await store.documents.update([key], count_once_more)
    assert [row.seq for row in (await store.documents.get([key]))[key]] == [1]
    assert await store.documents.get([document("absent").key]) == {}
    assert asked == []
    await other.documents.update([key], count_once_more)
    assert [row.seq for row in (await store.documents.get([key]))[key]] == [2]
    assert asked != []


async def test_an_error_of_one_change_does_not_reach_others_in_its_batch(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True, shards=1)

    def broken(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
        raise LookupError(key)

    good, bad = document(NAMES[0]).key, document(NAMES[1]).key
    done = await asyncio.gather(
        store.documents.update([good], count_once_more),
        store.documents.update([good, bad], broken),
        store.documents.update([good], count_once_more),
        return_exceptions=True,
    )
    assert isinstance(done[1], LookupError)
    assert await _counts(store) == 2


async def test_a_holder_that_lost_its_lock_overwrites_nothing_newer(tmp_path: Path) -> None:
    late, quick = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    row = document("a", seq=1)
    await store_documents(late, row)
    base = _home(late, row.incarnation)
    version = await base.version()
    before = await base.get_rows([row.key])
    await quick.documents.update([row.key], lambda _, rows: [replace(rows[0], seq=2)])
    with pytest.raises(LockLostError):
        await base.commit({row.key: [replace(row, seq=9)]}, before, version, LocalLease())
    assert (await late.documents.get([row.key]))[row.key][0].seq == 2


async def test_rows_written_after_a_lost_lock_reach_followers(tmp_path: Path) -> None:
    late, quick = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    heard = _mirror(quick)
    base = _home(late, "alice#0")
    version = await base.version()
    await store_documents(quick, document("quick"))
    with pytest.raises(LockLostError):
        await base.commit({document("late").key: [document("late")]}, {}, version, LocalLease())
    await quick.refresh()
    assert sorted(rows[0].id for rows in heard["documents"].values() if rows) == ["late", "quick"]


async def test_a_lock_lost_before_the_commit_only_costs_a_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path, shared=True)
    lost = [LockLostError("somebody has it"), LockLostError("once more")]

    def check(_: LocalLease) -> None:
        if lost:
            raise lost.pop()

    monkeypatch.setattr(LocalLease, "ensure_valid", check)
    await store.documents.update([document(NAMES[0]).key], count_once_more)
    assert await _counts(store) == 1
    assert store.health_issues() == []


async def test_a_table_that_cannot_be_written_says_so_and_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path, shared=True)

    async def full(*_: object, **__: object) -> int:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SharedLanceTable, "commit", full)
        patch.setattr("pipeline.store.multi_process.shard_committer._RETRY_PAUSES", (0.0,))
        with pytest.raises(OutageError, match="No space left"):
            await store.documents.update([document(NAMES[0]).key], count_once_more)
        assert store.health_issues() != []
    assert await _counts(store) == 0
    await store.documents.update([document(NAMES[0]).key], count_once_more)
    assert store.health_issues() == []


changes = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.booleans(), st.sampled_from(_GROUPS), st.integers(0, 3)),
        st.tuples(st.just("purge"), st.booleans(), st.sampled_from(_SPACES)),
        st.tuples(st.sampled_from(["refresh", "maintain"]), st.booleans()),
    ),
    max_size=15,
)


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(changes, st.sampled_from([(1, 2), (2, 8), (256, 4096)]))
def test_all_processes_end_with_the_same_rows(history: list[tuple[object, ...]], newest_rows: tuple[int, ...]) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared_lance_table, "_NEWEST_ROWS", newest_rows)
            stores = [await open_test_store(folder, shared=True) for _ in range(2)]
            mirrors = [_mirror(store) for store in stores]
            expected: dict[str, tuple[int, int]] = {}
            for turn, step in enumerate(history):
                await _play(stores[bool(step[1])], step, turn)
                _expect(expected, step, turn)
                # The other one lags, until it asks.
                for store in stores if step[0] == "refresh" else stores[bool(step[1]) :][:1]:
                    found = await store.chunks.get(_GROUPS)
                    assert {group: (rows[0].seq, len(rows)) for group, rows in found.items()} == expected
            for store, mirror in zip(stores, mirrors, strict=True):
                await store.refresh()
                await _agrees(store, mirror)

    asyncio.run(live())


async def _play(store: Store, step: tuple[object, ...], turn: int) -> None:
    match step:
        case ("write", _, str(group), int(size)):
            incarnation = _SPACES[_GROUPS.index(group) % len(_SPACES)]
            await store_chunks(store, group, [chunk(group, place, incarnation, seq=turn) for place in range(size)])
            row = document(group, incarnation, seq=turn)
            await store.documents.update([row.key], lambda _, __: [row] if size else [])
        case ("purge", _, str(incarnation)):
            await store.delete_incarnations([incarnation])
        case ("refresh", _):
            await store.refresh()
        case _:
            await store.chunks.maintain()


def _expect(expected: dict[str, tuple[int, int]], step: tuple[object, ...], turn: int) -> None:
    """Keep the turn in which each group was written, and the number of its chunks."""
    match step:
        case ("write", _, str(group), int(size)):
            expected.pop(group, None)
            expected.update({group: (turn, size)} if size else {})
        case ("purge", _, str(incarnation)):
            for place, group in enumerate(_GROUPS):
                if _SPACES[place % len(_SPACES)] == incarnation:
                    expected.pop(group, None)


def _mirror(store: Store) -> dict[str, dict[str, Sequence[DocumentRow] | Sequence[ChunkRow]]]:
    """Collect the rows that a listener hears of."""
    held: dict[str, dict[str, Sequence[DocumentRow] | Sequence[ChunkRow]]] = {"documents": {}, "chunks": {}}

    def documents(news: Mapping[str, list[DocumentRow]]) -> None:
        held["documents"].update(news)

    def chunks(news: Mapping[str, list[ChunkRow]]) -> None:
        held["chunks"].update(news)

    store.documents.subscribe(documents)
    store.chunks.subscribe(chunks)
    return held


async def _agrees(store: Store, mirror: Mapping[str, Mapping[str, Sequence[DocumentRow] | Sequence[ChunkRow]]]) -> None:
    for name, table in (("documents", store.documents), ("chunks", store.chunks)):
        rows = [row for incarnation in _SPACES for row in await table.list_rows([incarnation])]
        heard = [row for members in mirror[name].values() for row in members]
        assert sorted((row.id, row.seq) for row in heard) == sorted((row.id, row.seq) for row in rows)
        incarnations = Counter(row.incarnation for row in rows)
        assert table.count_by_incarnation(_SPACES) == {
            incarnation: incarnations[incarnation] for incarnation in _SPACES
        }


async def test_a_running_store_follows_another_process(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    heard = asyncio.Event()
    store.documents.subscribe(lambda _: heard.set())
    running = asyncio.create_task(store.run())
    await store_documents(other, document("a"))
    await heard.wait()
    await store.close()
    await running


async def test_a_process_without_requests_reads_what_others_change_and_hears_of_it_when_it_asks(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    heard: list[str] = []
    store.documents.subscribe(heard.extend)
    running = asyncio.create_task(store.run(serves_requests=False))
    row = document("a")
    await store_documents(other, row)
    await store.documents.refresh(["alice#0"])
    assert heard == [row.key]
    await other.documents.update([row.key], lambda _, rows: [replace(rows[0], title="newer")])
    assert [found.title for found in (await store.documents.get([row.key]))[row.key]] == ["newer"]
    await store.close()
    await running


async def test_maintenance_by_one_process_fails_no_other(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True, shards=1) for _ in range(2)]
    finished = asyncio.Event()

    async def read() -> None:
        while not finished.is_set():
            for rows in (await other.chunks.get(_GROUPS)).values():
                assert [row.position for row in rows] == list(range(len(rows)))
            page = await other.chunks.page(["alice#0"], sort="position", limit=100)
            assert len({row.id for row in page.rows}) == len(page.rows)

    async def write() -> None:
        for turn in range(20):
            await store_chunks(
                (store, other)[turn % 2],
                _GROUPS[turn % 6],
                [chunk(_GROUPS[turn % 6], place) for place in range(turn % 4 + 1)],
            )
            if turn % 5 == 4:
                await asyncio.gather(store.chunks.maintain(), other.chunks.maintain())
        finished.set()

    await asyncio.gather(write(), read())


async def test_replaced_and_deleted_rows_are_in_no_file_after_an_erasure(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    await store_documents(store, *(document(name, text=f"zyxo{name}q") for name in "abc"))
    await store_chunks(other, "a", [chunk("a", place, text=f"zyxochunkq {place}") for place in range(3)])
    await store_documents(other, document("b", seq=2, text="kept"))
    await store.documents.update([document("a").key], lambda _, __: [])
    await store.chunks.update(["a"], lambda _, __: [])
    words = ["zyxoaq", "zyxobq", "zyxochunkq"]
    assert found_in(tmp_path, words).keys() == set(words)
    assert await store.erase_deleted_rows() > 0
    await store.drop_old_versions(timedelta(milliseconds=1))
    assert found_in(tmp_path, words) == {}
    assert found_in(tmp_path, ["zyxocq"]) != {}
    await other.refresh()
    rows = await other.documents.list_rows(["alice#0"])
    assert {row.id: row.text for row in rows} == {"b": "kept", "c": "zyxocq"}
    await store_documents(other, document("c", seq=3, text="newer"))
    await store.refresh()
    assert (await store.documents.get([document("c").key]))[document("c").key][0].text == "newer"


async def test_rows_that_another_process_changes_during_an_erasure_keep_their_change(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True, shards=1) for _ in range(2)]
    names = [f"n{number}" for number in range(20)]
    await store_documents(store, *(document(name) for name in names))

    async def write() -> None:
        for turn in range(2, 12):
            await store_documents(other, *(document(name, seq=turn) for name in names[turn:]))

    async def erase() -> None:
        for _ in range(5):
            await store.erase_deleted_rows()
            await store.drop_old_versions(timedelta(seconds=5))

    await asyncio.gather(write(), erase())
    seen = {row.id: row.seq for row in await store.documents.list_rows(["alice#0"])}
    assert seen == {name: max(1, min(number, 11)) for number, name in enumerate(names)}


async def test_large_indexed_tables_change_like_small_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.store.lancedb.lance_table._INDEX_ROWS", 1)
    store = await open_test_store(tmp_path, shared=True, shards=1)
    rows = [document(str(number), metadata={"n": number}) for number in range(20)]
    await store_documents(store, *rows)
    await store_chunks(store, "parent", [chunk("parent", place) for place in range(20)])
    await store.documents.maintain()
    await store.chunks.maintain()
    assert await _home(store, "alice#0")._table.list_indices()
    await store_documents(store, *(replace(row, seq=5) for row in rows[:10]), document("new", seq=5))
    await store_chunks(store, "parent", [chunk("parent", place, seq=5) for place in range(10)])
    await store.documents.update([rows[0].key], lambda _, __: [])
    found = await store.documents.list_rows(["alice#0"])
    assert Counter(row.seq for row in found) == {1: 10, 5: 10}
    assert [row.seq for row in (await store.chunks.get(["parent"]))["parent"]] == [5] * 10


async def test_tombstones_are_purged_once_no_process_can_lag_behind(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True, shards=1)
    row = document("a")
    await store_documents(store, row)
    await store.documents.update([row.key], lambda _, __: [])
    base = _home(store, row.incarnation)
    assert await base._table.count_rows() == 1
    part = _part(store)
    await store.documents.maintain()
    assert await base._table.count_rows() == 1
    part._version_history[0] = (part._version_history[0][0] - 10_000, await base.version())
    await store.documents.maintain()
    assert await base._table.count_rows() == 0


async def test_a_process_that_was_cut_off_for_too_long_raises(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True, shards=1) for _ in range(2)]
    _part(store).follower._seen_at -= 10_000
    await store.refresh()  # nothing happened meanwhile
    await store_documents(other, document("a"))
    _part(store).follower._seen_at -= 10_000
    with pytest.raises(StaleFollowerError, match="Start this process again"):
        await store.refresh()


async def test_a_store_is_for_one_process_or_for_several(tmp_path: Path) -> None:
    await open_test_store(tmp_path / "one")
    await open_test_store(tmp_path / "several", shared=True)
    with pytest.raises(StoreMismatchError, match="made for exclusive use"):
        await open_test_store(tmp_path / "one", shared=True)
    with pytest.raises(StoreMismatchError, match="made for shared use"):
        await open_test_store(tmp_path / "several")


async def test_deletions_ahead_of_the_log_are_visible_to_every_process(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    await store.tombstones.record({"a": 5, "b": 1})
    await other.tombstones.record({"a": 3, "c": 7})
    assert await store.tombstones.latest_deletions(["a", "c", "d"]) == {"a": 5, "c": 7}
    await store.tombstones.record({})
    assert await other.tombstones.latest_deletions([]) == {}


def _part(store: Store) -> ShardCommitter[DocumentRow]:
    assert isinstance(store.documents, SharedTable)
    return store.documents._committers[0]


def _bases(store: Store) -> list[SharedLanceTable[DocumentRow]]:
    return [base for base in store.documents._lance_tables if isinstance(base, SharedLanceTable)]


def _home(store: Store, incarnation: str) -> SharedLanceTable[DocumentRow]:
    return _bases(store)[store.documents._shard_of(incarnation)]


async def test_rows_without_a_listener_are_counted_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = [await open_test_store(tmp_path, shared=True, shards=1) for _ in range(2)]
    heard: dict[str, list[DocumentRow]] = {}
    decoded: list[list[DocumentRow]] = []
    decode = SharedLanceTable.decode_rows
    store.documents.subscribe(heard.update, lambda incarnation: incarnation == "alice#0")

    async def noted(self: SharedLanceTable[DocumentRow], table: pa.Table) -> list[DocumentRow]:
        decoded.append(await decode(self, table))
        return decoded[-1]

    monkeypatch.setattr(SharedLanceTable, "decode_rows", noted)
    await store_documents(other, document("a", "bob#0"))
    await store.refresh()
    assert (heard, decoded, store.documents.count_by_incarnation(["bob#0"])) == ({}, [], {"bob#0": 1})
    await store_documents(other, document("b", "bob#0"), document("c", "alice#0"))
    await store.refresh()
    assert list(heard) == [document("c", "alice#0").key]
    assert [[row.key for row in rows] for rows in decoded] == [list(heard)]


async def test_a_follower_reads_the_newest_rows_only_however_many_fragments_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = [await open_test_store(tmp_path, shared=True, shards=1) for _ in range(2)]
    heard: dict[str, list[DocumentRow]] = {}
    store.documents.subscribe(heard.update)
    await store_documents(other, document("first"))
    await store.refresh()
    conditions: list[str | None] = []
    query = SharedLanceTable._query_with_deleted

    def noted(self: SharedLanceTable[Any], where: str | None, columns: Sequence[str] | None) -> Any:
        conditions.append(where)
        return query(self, where, columns)

    for turn in range(12):
        row = document(f"document {turn}", seq=turn)
        if turn == 6:
            await other.documents.maintain()
        await store_documents(other, row)
        await other.documents.update([document("first").key], lambda _, rows: [replace(rows[0], seq=rows[0].seq + 1)])
        with monkeypatch.context() as patch:
            patch.setattr(SharedLanceTable, "_query_with_deleted", noted)
            await store.refresh()
        assert heard[row.key] == [row]
    assert heard[document("first").key][0].seq == document("first").seq + 12
    # Rows are looked up once, when compaction has put them among many others.
    assert len([where for where in conditions if where]) <= 1
    assert store.documents.count_by_incarnation(["alice#0"]) == {"alice#0": 13}


async def test_nobody_else_changes_the_rows_between_the_preparation_of_an_update_and_its_write(tmp_path: Path) -> None:
    store, other = await open_test_store(tmp_path, shared=True), await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    await store.documents.update([key], count_once_more)
    begun: list[asyncio.Future[dict[str, list[DocumentRow]]]] = []

    async def begin_elsewhere() -> None:
        begun.append(asyncio.ensure_future(other.documents.update([key], count_once_more)))
        seen = await other.documents.get([key])
        assert seen[key][0].seq == 1

    rows = await store.documents.update([key], count_once_more, begin_elsewhere)
    assert rows[key][0].seq == 2
    assert (await begun[0])[key][0].seq == 3


async def test_a_table_that_cannot_be_read_is_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_test_store(tmp_path, shared=True)

    async def fail(*_: object) -> None:
        raise RuntimeError("lance error: LanceError(IO): connection refused")

    monkeypatch.setattr(SharedLanceTable, "get_rows", fail)
    monkeypatch.setattr(SharedLanceTable, "scan", fail)
    with pytest.raises(OutageError, match="connection refused"):
        await store.documents.get([document(NAMES[0]).key])
    with pytest.raises(OutageError, match="connection refused"):
        await store.documents.list_rows(["alice#0"])


async def test_changes_that_nobody_waits_for_join_the_next_commit(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    await store.documents.update([key], count_once_more)
    base = _home(store, "alice#0")
    before = await base.version()
    for _ in range(3):
        await store.documents.update_soon([key], count_once_more)
    await store.documents.update([key], count_once_more)
    assert await _counts(store) == 5
    assert await base.version() - before == 1


async def test_changes_that_nobody_waits_for_join_no_commit_of_other_keys(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True, shards=1)
    first, second, other = (document(name).key for name in NAMES[:3])
    await store.documents.update([first, second], count_once_more)
    await store.documents.update_soon([first], count_once_more)
    await store.documents.update_soon([first, second], lambda _, rows: [replace(rows[0], seq=10 * rows[0].seq)])
    await store.documents.update([other], count_once_more)
    assert await _counts(store) == 3
    # One that comes before a change of the second key changes the first, so what came before that is written too.
    await store.documents.update([second], count_once_more)
    assert {key: rows[0].seq for key, rows in (await store.documents.get([first, second])).items()} == {
        first: 20,
        second: 11,
    }


async def test_changes_that_nobody_waits_for_are_written_without_a_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.store.multi_process.update_queue._SOON_SECONDS", 0.01)
    store = await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    await store.documents.update([key], count_once_more)
    written = asyncio.Event()
    store.documents.subscribe(lambda _: written.set())
    await store.documents.update_soon([key], count_once_more)
    await written.wait()
    assert await _counts(store) == 2
    await store.documents.update_soon([key], count_once_more)
    await store.documents.flush()
    assert await _counts(store) == 3


async def test_a_change_that_nobody_waits_for_outlives_the_commit_it_came_too_late_for(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True)
    key = document(NAMES[0]).key
    await store.documents.update([key], count_once_more)
    await store.documents.update([key], count_once_more, lambda: store.documents.update_soon([key], count_once_more))
    await store.documents.flush()
    assert await _counts(store) == 3


async def test_a_version_of_the_same_moment_as_the_last_one_is_noticed(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    key = document(NAMES[0]).key
    for number in range(1, 9):
        await other.documents.update([key], count_once_more)
        assert [row.seq for row in (await store.documents.get([key]))[key]] == [number]


async def test_a_document_that_was_deleted_and_added_again_is_there_once(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    row = document(NAMES[0])
    for one in (store, other, store):
        await one.documents.update([row.key], lambda *_: [row])
        await one.documents.update([row.key], lambda *_: [])
    again = await open_test_store(tmp_path, shared=True)
    await again.documents.update([row.key], lambda *_: [row])
    assert [found.id for found in await store.documents.list_rows([row.incarnation])] == [row.id]


async def test_every_process_counts_what_others_add_change_and_delete(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    rows = {document(name).key: document(name) for name in NAMES}

    async def counted() -> list[int]:
        await asyncio.gather(store.refresh(), other.refresh())
        return [
            table.count_by_incarnation(["alice#0"])["alice#0"]
            for one in (store, other)
            for table in (one.documents, one.chunks)
        ]

    def add(name: str) -> Callable[[str, list[DocumentRow]], list[DocumentRow]]:
        return lambda key, _: [replace(rows[key], seq=len(name))]

    await other.documents.update(list(rows), add("first"))
    await store.chunks.update(["a"], lambda key, _: [chunk(key, place) for place in range(3)])
    assert await counted() == [5, 3, 5, 3]
    await store.documents.update(list(rows)[:2], add("changed"))
    await other.chunks.update(["a", "b"], lambda key, _: [chunk(key, place) for place in range(2)])
    assert await counted() == [5, 4, 5, 4]
    await store.documents.update(list(rows)[1:3], lambda *_: [])
    await other.documents.update(list(rows)[2:3], add("again"))
    await other.chunks.update(["b"], lambda *_: [])
    assert await counted() == [4, 2, 4, 2]


def _logged(offset: int, operation: str = "patch") -> LoggedChange[DocumentRow]:
    """A change at this offset of the log, which adds a key to the metadata of the first document or deletes it."""

    def apply(row: DocumentRow | None) -> DocumentRow | None:
        if row is not None and row.seq >= offset:
            return row
        metadata = {} if row is None else row.metadata
        patched = replace(row or document(NAMES[0]), seq=offset, metadata={**metadata, f"k{offset}": offset})
        return None if operation == "delete" else patched

    return LoggedChange("alice#0", 0, offset, apply)


async def _no_deletions(keys: Collection[str]) -> Mapping[str, int]:
    return dict.fromkeys(keys, -1)


async def test_a_read_begun_before_changes_that_are_written_meanwhile_shows_no_change_without_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, owner = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    key, read, documents = document(NAMES[0]).key, ShardCommitter.get_rows, store.documents
    assert isinstance(documents, SharedTable)
    begun: list[object] = []

    async def read_slowly(self: ShardCommitter[DocumentRow], keys: Collection[str]) -> dict[str, list[DocumentRow]]:
        found = await read(self, keys)
        if not begun:
            begun.append(self)
            await documents.show_logged_changes({key: [_logged(1)]}, _no_deletions)
            await owner.documents.update([key], lambda *_: [_logged(1).apply(None) or document(NAMES[0])])
            await documents.drop_written_changes({0: 2})
            await documents.show_logged_changes({key: [_logged(2)]}, _no_deletions)
        return found

    monkeypatch.setattr(ShardCommitter, "get_rows", read_slowly)
    assert await documents.get([key]) == {}
    assert (await documents.get([key]))[key][0].metadata == {"k1": 1, "k2": 2}


async def test_changes_of_a_document_whose_owner_is_ahead_are_never_shown_without_those_before_them(
    tmp_path: Path,
) -> None:
    store, owner = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    key, documents = document(NAMES[0]).key, store.documents
    assert isinstance(documents, SharedTable)
    await owner.documents.update([key], lambda *_: [_logged(1).apply(None) or document(NAMES[0])])
    await documents.show_logged_changes({key: [_logged(2)]}, _no_deletions)
    # The owner has handled the deletion at offset 3, of which this process has not heard.
    await owner.documents.update([key], lambda *_: [])
    assert (await documents.get([key]))[key][0].metadata == {"k1": 1, "k2": 2}
    await documents.refresh()
    assert [row.metadata for row in await documents.list_rows(["alice#0"])] == [{"k1": 1, "k2": 2}]
    assert documents.count_by_incarnation(["alice#0"]) == {"alice#0": 1}
    await documents.show_logged_changes({key: [_logged(3, "delete")]}, _no_deletions)
    assert await documents.get([key]) == {}
    assert documents.count_by_incarnation(["alice#0"]) == {"alice#0": 0}


async def test_a_process_that_begins_to_show_changes_of_a_deleted_document_asks_where_it_was_deleted(
    tmp_path: Path,
) -> None:
    store = await open_test_store(tmp_path, shared=True)
    key, documents = document(NAMES[0]).key, store.documents
    assert isinstance(documents, SharedTable)
    await store.tombstones.record({key: 3})
    await documents.show_logged_changes({key: [_logged(2)]}, store.tombstones.latest_deletions)
    assert await documents.get([key]) == {}
    await documents.show_logged_changes({key: [_logged(4)]}, store.tombstones.latest_deletions)
    assert (await documents.get([key]))[key][0].metadata == {"k4": 4}


async def test_what_is_created_and_deleted_in_one_commit_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shared=True)
    await asyncio.gather(
        store_chunks(store, "brief", [chunk("brief", 0)]),
        store_chunks(store, "brief", []),
    )
    await asyncio.gather(
        store_chunks(store, "brief", [chunk("brief", 0)]),
        store_chunks(store, "brief", []),
        store_chunks(store, "kept", [chunk("kept", 0)]),
    )
    assert [row.document for row in await store.chunks.list_rows(["alice#0"])] == ["kept"]
    assert store.chunks.count_by_incarnation(["alice#0"]) == {"alice#0": 1}


async def test_a_row_that_another_process_adds_during_a_count_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    await store_chunks(other, "again", [chunk("again", 0)])
    await store.refresh()
    scan, late = SharedLanceTable.scan, ["late", "later"]

    async def scan_after_additions(
        self: SharedLanceTable[Any], where: str, columns: Sequence[str] | None = None
    ) -> Any:
        while columns == ["incarnation"] and late:
            await store_chunks(other, name := late.pop(), [chunk(name, 0)])
        return await scan(self, where, columns)

    monkeypatch.setattr(SharedLanceTable, "scan", scan_after_additions)
    await store_chunks(
        other, "again", [chunk("again", 0), chunk("again", 1)]
    )  # a key that was there: its incarnation is counted anew
    for _ in range(2):
        await store.refresh()
        assert store.chunks.count_by_incarnation(["alice#0"]) == {"alice#0": 4}


async def test_documents_that_wait_for_memories_are_looked_for_after_a_change_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path, shared=True)
    scans: list[object] = []
    scan = SharedLanceTable.scan

    async def noted(self: SharedLanceTable[Any], *arguments: Any) -> Any:
        scans.append(self)
        return await scan(self, *arguments)

    monkeypatch.setattr(SharedLanceTable, "scan", noted)
    assert await store.documents.pending_extraction() == []
    scans.clear()
    assert await store.documents.pending_extraction() == []
    assert scans == []
    row = replace(document(NAMES[0]), extraction_pending=True)
    await store.documents.update([row.key], lambda *_: [row])
    for _ in range(2):
        assert [found.id for found in await store.documents.pending_extraction()] == [row.id]


async def test_documents_that_wait_for_memories_are_looked_for_again_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path, shared=True)

    async def refused(_: SharedLanceTable[Any]) -> int:
        raise RuntimeError("lance error: Generic S3 error")

    with monkeypatch.context() as patched:
        patched.setattr(SharedLanceTable, "version", refused)
        with pytest.raises(OutageError, match="could not be read"):
            await store.documents.pending_extraction()
    assert await store.documents.pending_extraction() == []


async def test_an_update_hears_of_what_others_changed_before_it(tmp_path: Path) -> None:
    store, other = [await open_test_store(tmp_path, shared=True) for _ in range(2)]
    heard = _mirror(store)
    await store_documents(other, document("others"))
    await store_documents(store, document("own"))
    assert sorted(rows[0].id for rows in heard["documents"].values()) == ["others", "own"]
    assert store.documents.count_by_incarnation(["alice#0"]) == {"alice#0": 2}
