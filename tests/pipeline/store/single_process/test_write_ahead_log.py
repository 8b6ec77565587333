"""Write-ahead log: durable before LanceDB has the rows, recovered after a kill, never over newer rows."""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import DocumentRow
from pipeline.store import Store
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.write_ahead_log import WriteAheadLog
from pipeline.store.tables import document_table
from tests.support.store_rows import document, open_test_store, start_store, store_documents

pytestmark = pytest.mark.anyio

_NAMES = ["a", "b", "c"]
_INCARNATION = "alice#0"


@asynccontextmanager
async def _killed(folder: object) -> AsyncIterator[Store]:
    """A store whose loops run, and which nobody closes: what is nowhere on disk at the end is lost."""
    store = await open_test_store(folder)
    running = await start_store(store)
    try:
        yield store
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _titles(folder: object) -> dict[str, str | None]:
    store = await open_test_store(folder)
    rows = await store.documents.list_rows([_INCARNATION])
    assert store.documents.count_by_incarnation([_INCARNATION]) == {_INCARNATION: len(rows)}
    await store.close()
    return {row.id: row.title for row in rows}


async def _remove(store: Store, name: str) -> None:
    await store.documents.update([document(name).key], lambda _, __: [])


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(_NAMES)),
        st.tuples(st.just("remove"), st.sampled_from(_NAMES)),
        st.tuples(st.sampled_from(["durable", "flush", "purge", "kill"])),
    ),
    max_size=20,
)


@pytest.mark.no_cover
@settings(max_examples=40, deadline=None)
@given(history=steps)
def test_durable_rows_survive_a_kill_in_their_newest_state(
    history: list[tuple[str, ...]],
) -> None:
    async def step(store: Store, turn: int, what: tuple[str, ...], model: dict[str, str]) -> None:
        match what:
            case ("write", name):
                await store_documents(store, document(name, title=str(turn)))
                model[name] = str(turn)
            case ("remove", name):
                await _remove(store, name)
                model.pop(name, None)
            case ("purge",):
                await store.delete_incarnations([_INCARNATION])
                model.clear()
            case ("flush",):
                await store.flush()
            case _:
                await store.documents.wait_until_durable()

    async def live() -> None:
        model: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder:
            turns = iter(enumerate(history))
            over = False
            while not over:
                async with _killed(folder) as store:
                    over = True
                    for turn, what in turns:
                        if what == ("kill",):
                            over = False
                            break
                        await step(store, turn, what, model)
                    await store.documents.wait_until_durable()
                assert await _titles(folder) == model

    asyncio.run(live())


async def test_durability_does_not_wait_for_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _killed(tmp_path) as store:
        _refusing(store, monkeypatch)
        await store_documents(store, document("a", title="here"))
        await store.documents.wait_until_durable()
    assert await _titles(tmp_path) == {"a": "here"}


async def test_a_change_that_cannot_be_logged_is_durable_once_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object) -> None:
        raise OSError("database or disk is full")

    async with _killed(tmp_path) as store:
        monkeypatch.setattr(WriteAheadLog, "append", full)
        await store_documents(store, document("a", title="here"))
        await store.documents.wait_until_durable()
    assert "database or disk is full" in caplog.text
    assert await _titles(tmp_path) == {"a": "here"}


async def test_a_change_that_could_not_be_logged_is_logged_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, failed = WriteAheadLog.append, asyncio.Event()

    async def failing(self: WriteAheadLog, *given: object) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError("once")
        await keep(self, *given)  # type: ignore[arg-type]  # as it was given

    monkeypatch.setattr(WriteAheadLog, "append", failing)
    async with _killed(tmp_path) as store:
        _refusing(store, monkeypatch)
        await store_documents(store, document("a", title="first"))
        waiting = asyncio.create_task(store.documents.wait_until_durable())
        await failed.wait()
        await store_documents(store, document("b", title="second"))
        await store.documents.wait_until_durable()
        waiting.cancel()
    assert await _titles(tmp_path) == {"a": "first", "b": "second"}


async def test_a_flush_truncates_the_log(tmp_path: Path) -> None:
    async with _killed(tmp_path) as store:
        await store_documents(store, document("a", title="old"))
        await store.documents.wait_until_durable()
        await store_documents(store, document("a", title="new"))
        await store.flush()
    ahead = WriteAheadLog(tmp_path)
    assert (await ahead.recover("documents/0", store.documents.codec)).changed == {}
    await ahead.close()
    assert await _titles(tmp_path) == {"a": "new"}


async def test_recovery_returns_the_last_logged_rows_of_each_key(tmp_path: Path) -> None:
    codec = (await open_test_store(tmp_path)).documents.codec
    row = document("a")
    ahead = WriteAheadLog(tmp_path)
    await asyncio.gather(
        ahead.append("documents/0", 1, {row.key: [row], "gone": []}, codec),
        ahead.append("documents/0", 2, {row.key: [replace(row, title="later")]}, codec),
        ahead.append("documents/1", 3, {row.key: [row]}, codec),
    )
    await ahead.close()
    again = WriteAheadLog(tmp_path)
    left = await again.recover("documents/0", codec)
    assert left.changed == {row.key: [replace(row, title="later")], "gone": ()}
    await again.truncate("documents/0", left.sequence)
    assert (await again.recover("documents/0", codec)).sequence == 0
    assert (await again.recover("documents/1", codec)).sequence == 3
    await again.close()


@pytest.mark.parametrize(("count", "characters"), [(1, 10), (32, 10), (33, 10), (200, 10), (2, 10**6)])
async def test_large_batches_are_recovered_in_order_like_small_ones(
    tmp_path: Path, count: int, characters: int
) -> None:
    codec = (await open_test_store(tmp_path)).documents.codec
    rows = [document(f"d{number}", text=f"{number} " * characters) for number in range(count)]
    ahead = WriteAheadLog(tmp_path)
    await asyncio.gather(
        ahead.append("documents/0", 1, {row.key: [row] for row in rows}, codec),
        ahead.truncate("documents/0", 1),
        ahead.append("documents/0", 2, {row.key: [replace(row, title="later")] for row in rows}, codec),
    )
    left = await ahead.recover("documents/0", codec)
    assert left.changed == {row.key: [replace(row, title="later")] for row in rows}
    await ahead.close()


def _refusing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """LanceDB takes no documents."""
    base = store.documents._lance_tables[0]
    assert isinstance(base, ExclusiveLanceTable)

    async def refuses(_: Mapping[str, Sequence[DocumentRow]]) -> None:
        raise OSError("not now")

    monkeypatch.setattr(base, "commit", refuses)


async def test_an_empty_log_gives_back_what_a_burst_took(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    codec, file = document_table.codec(), tmp_path / "write_ahead_log" / "changes.db"
    rows = {row.key: [row] for row in (document(f"d{number}", text="x" * 100_000) for number in range(100))}
    await log.append("documents", 1, rows, codec)
    await log.erase_truncated()
    burst = file.stat().st_size
    await log.truncate("documents", 0)
    assert (await log.recover("documents", codec)).changed == rows
    await log.truncate("documents", 1)
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert file.stat().st_size < burst / 100
    await log.close()
