"""Tables that several processes change: nothing lost, nothing twice, and everybody hears of it."""

import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import LockLostError, OutageError
from pipeline.locks import Unlosable
from pipeline.rows import ChunkRow, DocumentRow
from pipeline.store import Store, StoreMismatchError
from pipeline.store.rounds import CutOffError, Shard
from pipeline.store.shared import SharedTable
from pipeline.store.sharedbase import SharedBase
from tests.pipeline.store.samples import chunk, document, opened, store_chunks, store_documents
from tests.pipeline.store.shared_writer import NAMES, counted

pytestmark = pytest.mark.anyio

_CHECKOUT = Path(__file__).parents[3]
_SPACES = ["alice#0", "bob#0", "carol#1"]
_GROUPS = [f"group{number}" for number in range(6)]


async def _writer(folder: Path, number: int, turns: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.pipeline.store.shared_writer", str(folder), str(number), str(turns),
        stdout=asyncio.subprocess.PIPE, cwd=_CHECKOUT,
    )  # fmt: skip


async def _lines(process: asyncio.subprocess.Process) -> int:
    """How many turns a writer said were counted, once it ended."""
    assert process.stdout is not None
    text = (await process.stdout.read()).decode()
    await process.wait()
    return text.split().count("counted")


async def _whole(store: Store) -> None:
    """Nothing twice, no group half."""
    for table in (store.documents, store.chunks):
        ids = Counter(row.id for row in await table.in_spaces(["alice#0"]))
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
    store = await opened(tmp_path, shared=True)
    assert await _counts(store) == 3 * turns * 2
    assert sum(rows[0].seq for rows in (await store.chunks.get(NAMES)).values()) == 3 * turns
    await _whole(store)


async def test_a_killed_process_takes_nothing_of_the_others_along(tmp_path: Path) -> None:
    turns = 12
    victim, other = await asyncio.gather(_writer(tmp_path, 1, 10_000), _writer(tmp_path, 2, turns))
    assert victim.stdout is not None
    for _ in range(6):
        assert await victim.stdout.readline()
    os.kill(victim.pid, signal.SIGKILL)
    said = 5 + await _lines(victim)
    assert await _lines(other) == turns
    store = await opened(tmp_path, shared=True)
    assert 0 <= await _counts(store) - 2 * (turns + said) <= 2  # what it was at may have been committed
    await _whole(store)


async def test_updates_that_wait_together_are_one_commit(tmp_path: Path) -> None:
    store = await opened(tmp_path, shared=True)
    key = document(NAMES[0]).key
    (base,) = {id(base): base for base in _bases(store) if base is _home(store, "alice#0")}.values()
    before = await base.version()
    await asyncio.gather(*(store.documents.update([key], counted) for _ in range(50)))
    assert await _counts(store) == 50
    assert await base.version() - before <= 2


async def test_a_new_document_is_looked_for_in_the_shard_of_its_space_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path, shared=True)
    asked: list[SharedBase[Any]] = []
    fetch = SharedBase.fetch

    async def noted(self: SharedBase[Any], groups: Collection[str]) -> dict[str, list[Any]]:
        asked.extend([self] if groups else [])
        return await fetch(self, groups)

    monkeypatch.setattr(SharedBase, "fetch", noted)
    row = document("new")
    assert await store.documents.find([row.space], [row.id]) == {}
    await store.documents.update([row.key], lambda _, rows: rows or [row])
    assert set(asked) == {_home(store, row.space)}


async def test_an_error_of_one_change_does_not_reach_those_that_share_its_round(tmp_path: Path) -> None:
    store = await opened(tmp_path, shared=True, shards=1)

    def broken(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
        raise LookupError(key)

    good, bad = document(NAMES[0]).key, document(NAMES[1]).key
    done = await asyncio.gather(
        store.documents.update([good], counted),
        store.documents.update([good, bad], broken),
        store.documents.update([good], counted),
        return_exceptions=True,
    )
    assert isinstance(done[1], LookupError)
    assert await _counts(store) == 2


async def test_a_holder_that_lost_its_lock_overwrites_nothing_newer(tmp_path: Path) -> None:
    late, quick = [await opened(tmp_path, shared=True) for _ in range(2)]
    row = document("a", seq=1)
    await store_documents(late, row)
    base = _home(late, row.space)
    version = await base.version()
    before = await base.fetch([row.key])
    await quick.documents.update([row.key], lambda _, rows: [replace(rows[0], seq=2)])
    with pytest.raises(LockLostError):
        await base.commit({row.key: [replace(row, seq=9)]}, before, version, Unlosable())
    assert (await late.documents.get([row.key]))[row.key][0].seq == 2


async def test_rows_written_after_a_lost_lock_are_still_heard_of(tmp_path: Path) -> None:
    late, quick = [await opened(tmp_path, shared=True) for _ in range(2)]
    heard = _mirror(quick)
    base = _home(late, "alice#0")
    version = await base.version()
    await store_documents(quick, document("quick"))
    with pytest.raises(LockLostError):
        await base.commit({document("late").key: [document("late")]}, {}, version, Unlosable())
    await quick.refresh()
    assert sorted(rows[0].id for rows in heard["documents"].values() if rows) == ["late", "quick"]


async def test_a_lock_that_is_lost_before_the_commit_only_costs_another_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path, shared=True)
    lost = [LockLostError("somebody has it"), LockLostError("once more")]

    def check(_: Unlosable) -> None:
        if lost:
            raise lost.pop()

    monkeypatch.setattr(Unlosable, "check", check)
    await store.documents.update([document(NAMES[0]).key], counted)
    assert await _counts(store) == 1
    assert store.troubles() == []


async def test_tables_that_cannot_be_written_say_so_and_leave_things_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path, shared=True)

    async def full(*_: object) -> int:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SharedBase, "commit", full)
        patch.setattr("pipeline.store.rounds._PAUSES", (0.0,))
        with pytest.raises(OutageError, match="No space left"):
            await store.documents.update([document(NAMES[0]).key], counted)
        assert store.troubles() != []
    assert await _counts(store) == 0
    await store.documents.update([document(NAMES[0]).key], counted)
    assert store.troubles() == []


changes = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.booleans(), st.sampled_from(_GROUPS), st.integers(0, 3)),
        st.tuples(st.just("purge"), st.booleans(), st.sampled_from(_SPACES)),
        st.tuples(st.sampled_from(["refresh", "maintain"]), st.booleans()),
    ),
    max_size=15,
)


@settings(max_examples=25, deadline=None)
@given(changes)
def test_everybody_ends_with_the_same_rows_whoever_changed_them(
    history: list[tuple[object, ...]],
) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            stores = [await opened(folder, shared=True) for _ in range(2)]
            mirrors = [_mirror(store) for store in stores]
            for turn, step in enumerate(history):
                await _play(stores[bool(step[1])], step, turn)
            for store, mirror in zip(stores, mirrors, strict=True):
                await store.refresh()
                await _agrees(store, mirror)

    asyncio.run(live())


async def _play(store: Store, step: tuple[object, ...], turn: int) -> None:
    match step:
        case ("write", _, str(group), int(size)):
            space = _SPACES[_GROUPS.index(group) % len(_SPACES)]
            await store_chunks(store, group, [chunk(group, place, space, seq=turn) for place in range(size)])
            row = document(group, space, seq=turn)
            await store.documents.update([row.key], lambda _, __: [row] if size else [])
        case ("purge", _, str(space)):
            await store.remove_spaces([space])
        case ("refresh", _):
            await store.refresh()
        case _:
            await store.chunks.maintain()


def _mirror(store: Store) -> dict[str, dict[str, Sequence[DocumentRow] | Sequence[ChunkRow]]]:
    """What a listener that hears everything holds."""
    held: dict[str, dict[str, Sequence[DocumentRow] | Sequence[ChunkRow]]] = {"documents": {}, "chunks": {}}

    def documents(news: Mapping[str, list[DocumentRow]]) -> None:
        held["documents"].update(news)

    def chunks(news: Mapping[str, list[ChunkRow]]) -> None:
        held["chunks"].update(news)

    store.documents.subscribe(documents)
    store.chunks.subscribe(chunks)
    return held


async def _agrees(
    store: Store, mirror: Mapping[str, Mapping[str, Sequence[DocumentRow] | Sequence[ChunkRow]]]
) -> None:
    for name, table in (("documents", store.documents), ("chunks", store.chunks)):
        rows = [row for space in _SPACES for row in await table.in_spaces([space])]
        heard = [row for members in mirror[name].values() for row in members]
        assert sorted((row.id, row.seq) for row in heard) == sorted((row.id, row.seq) for row in rows)
        spaces = Counter(row.space for row in rows)
        assert table.count(_SPACES) == {space: spaces[space] for space in _SPACES}


async def test_a_running_store_hears_of_another_process_by_itself(tmp_path: Path) -> None:
    store, other = [await opened(tmp_path, shared=True) for _ in range(2)]
    heard = asyncio.Event()
    store.documents.subscribe(lambda _: heard.set())
    running = asyncio.create_task(store.run())
    await store_documents(other, document("a"))
    await heard.wait()
    await store.close()
    await running


async def test_upkeep_of_one_process_fails_nobody(tmp_path: Path) -> None:
    store, other = [await opened(tmp_path, shared=True, shards=1) for _ in range(2)]
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


async def test_large_tables_with_an_index_change_as_small_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.store.stored._INDEX_ROWS", 1)
    store = await opened(tmp_path, shared=True, shards=1)
    rows = [document(str(number), metadata={"n": number}) for number in range(20)]
    await store_documents(store, *rows)
    await store_chunks(store, "parent", [chunk("parent", place) for place in range(20)])
    await store.documents.maintain()
    await store.chunks.maintain()
    assert await _home(store, "alice#0")._table.list_indices()
    await store_documents(store, *(replace(row, seq=5) for row in rows[:10]), document("new", seq=5))
    await store_chunks(store, "parent", [chunk("parent", place, seq=5) for place in range(10)])
    await store.documents.update([rows[0].key], lambda _, __: [])
    found = await store.documents.in_spaces(["alice#0"])
    assert Counter(row.seq for row in found) == {1: 10, 5: 10}
    assert [row.seq for row in (await store.chunks.get(["parent"]))["parent"]] == [5] * 10


async def test_tombstones_go_when_nobody_can_lag_behind_them_any_more(tmp_path: Path) -> None:
    store = await opened(tmp_path, shared=True, shards=1)
    row = document("a")
    await store_documents(store, row)
    await store.documents.update([row.key], lambda _, __: [])
    base = _home(store, row.space)
    assert await base._table.count_rows() == 1
    part = _part(store)
    await store.documents.maintain()
    assert await base._table.count_rows() == 1
    part._milestones[0] = (part._milestones[0][0] - 10_000, await base.version())
    await store.documents.maintain()
    assert await base._table.count_rows() == 0


async def test_who_was_cut_off_for_too_long_says_so(tmp_path: Path) -> None:
    store, other = [await opened(tmp_path, shared=True, shards=1) for _ in range(2)]
    _part(store)._seen_at -= 10_000
    await store.refresh()  # nothing happened meanwhile
    await store_documents(other, document("a"))
    _part(store)._seen_at -= 10_000
    with pytest.raises(CutOffError, match="Start this process again"):
        await store.refresh()


async def test_a_store_is_for_one_process_or_for_several(tmp_path: Path) -> None:
    await opened(tmp_path / "one")
    await opened(tmp_path / "several", shared=True)
    with pytest.raises(StoreMismatchError, match="made for exclusive use"):
        await opened(tmp_path / "one", shared=True)
    with pytest.raises(StoreMismatchError, match="made for shared use"):
        await opened(tmp_path / "several")


async def test_deletions_ahead_of_the_log_are_known_to_every_process(tmp_path: Path) -> None:
    store, other = [await opened(tmp_path, shared=True) for _ in range(2)]
    await store.tombstones.note({"a": 5, "b": 1})
    await other.tombstones.note({"a": 3, "c": 7})
    assert await store.tombstones.newest(["a", "c", "d"]) == {"a": 5, "c": 7}
    await store.tombstones.note({})
    assert await other.tombstones.newest([]) == {}


def _part(store: Store) -> Shard[DocumentRow]:
    assert isinstance(store.documents, SharedTable)
    return store.documents._parts[0]


def _bases(store: Store) -> list[SharedBase[DocumentRow]]:
    return [base for base in store.documents._bases if isinstance(base, SharedBase)]


def _home(store: Store, space: str) -> SharedBase[DocumentRow]:
    return _bases(store)[store.documents._shard(space)]


async def test_rows_that_nobody_wants_to_hear_of_are_counted_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = [await opened(tmp_path, shared=True, shards=1) for _ in range(2)]
    heard: dict[str, list[DocumentRow]] = {}
    asked: list[object] = []
    fresh = SharedBase.fresh
    store.documents.subscribe(heard.update, lambda space: space == "alice#0")

    async def noted(self: SharedBase[DocumentRow], since: int, spaces: Sequence[str]) -> object:
        asked.append(list(spaces))
        return await fresh(self, since, spaces)

    monkeypatch.setattr(SharedBase, "fresh", noted)
    await store_documents(other, document("a", "bob#0"))
    await store.refresh()
    assert (heard, asked, store.documents.count(["bob#0"])) == ({}, [], {"bob#0": 1})
    await store_documents(other, document("b", "bob#0"), document("c", "alice#0"))
    await store.refresh()
    assert (list(heard), asked) == ([document("c", "alice#0").key], [["alice#0"]])
