"""What is on disk before LanceDB has it: there after a kill, and never over what is newer."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.rows import DocumentRow
from pipeline.store import Store
from pipeline.store.ahead import Ahead
from pipeline.store.base import Base
from tests.pipeline.store.samples import document, opened, started, store_documents

pytestmark = pytest.mark.anyio

_NAMES = ["a", "b", "c"]
_SPACE = "alice#0"


@asynccontextmanager
async def _killed(folder: object) -> AsyncIterator[Store]:
    """A store whose loops run, and which nobody closes: what is nowhere on disk at the end is lost."""
    store = await opened(folder)
    running = await started(store)
    try:
        yield store
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _titles(folder: object) -> dict[str, str | None]:
    store = await opened(folder)
    rows = await store.documents.in_spaces([_SPACE])
    assert store.documents.count([_SPACE]) == {_SPACE: len(rows)}
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


@settings(max_examples=40, deadline=None)
@given(history=steps)
def test_whatever_was_durable_is_there_after_a_kill_and_nothing_older(
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
                await store.remove_spaces([_SPACE])
                model.clear()
            case ("flush",):
                await store.flush()
            case _:
                await store.documents.durable()

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
                    await store.documents.durable()
                assert await _titles(folder) == model

    asyncio.run(live())


async def test_durable_does_not_wait_for_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _killed(tmp_path) as store:
        _refusing(store, monkeypatch)
        await store_documents(store, document("a", title="here"))
        await store.documents.durable()
    assert await _titles(tmp_path) == {"a": "here"}


async def test_a_change_that_cant_be_written_ahead_is_durable_when_lancedb_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object) -> None:
        raise OSError("database or disk is full")

    async with _killed(tmp_path) as store:
        monkeypatch.setattr(Ahead, "keep", full)
        await store_documents(store, document("a", title="here"))
        await store.documents.durable()
    assert "database or disk is full" in caplog.text
    assert await _titles(tmp_path) == {"a": "here"}


async def test_what_could_not_be_written_ahead_goes_with_the_next_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, failed = Ahead.keep, asyncio.Event()

    async def failing(self: Ahead, *given: object) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError("once")
        await keep(self, *given)  # type: ignore[arg-type]  # as it was given

    monkeypatch.setattr(Ahead, "keep", failing)
    async with _killed(tmp_path) as store:
        _refusing(store, monkeypatch)
        await store_documents(store, document("a", title="first"))
        waiting = asyncio.create_task(store.documents.durable())
        await failed.wait()
        await store_documents(store, document("b", title="second"))
        await store.documents.durable()
        waiting.cancel()
    assert await _titles(tmp_path) == {"a": "first", "b": "second"}


async def test_a_flush_lets_go_of_what_was_written_ahead(tmp_path: Path) -> None:
    async with _killed(tmp_path) as store:
        await store_documents(store, document("a", title="old"))
        await store.documents.durable()
        await store_documents(store, document("a", title="new"))
        await store.flush()
    ahead = Ahead(tmp_path)
    assert (await ahead.left("documents/0", store.documents.codec)).changed == {}
    await ahead.close()
    assert await _titles(tmp_path) == {"a": "new"}


async def test_groups_come_back_as_they_were_last_written(tmp_path: Path) -> None:
    codec = (await opened(tmp_path)).documents.codec
    row = document("a")
    ahead = Ahead(tmp_path)
    await asyncio.gather(
        ahead.keep("documents/0", 1, {row.key: [row], "gone": []}, codec),
        ahead.keep("documents/0", 2, {row.key: [replace(row, title="later")]}, codec),
        ahead.keep("documents/1", 3, {row.key: [row]}, codec),
    )
    await ahead.close()
    again = Ahead(tmp_path)
    left = await again.left("documents/0", codec)
    assert left.changed == {row.key: [replace(row, title="later")], "gone": ()}
    await again.passed("documents/0", left.number)
    assert (await again.left("documents/0", codec)).number == 0
    assert (await again.left("documents/1", codec)).number == 3
    await again.close()


@pytest.mark.parametrize(("many", "characters"), [(1, 10), (32, 10), (33, 10), (200, 10), (2, 10**6)])
async def test_much_comes_back_in_its_order_as_little_does(
    tmp_path: Path, many: int, characters: int
) -> None:
    codec = (await opened(tmp_path)).documents.codec
    rows = [document(f"d{number}", text=f"{number} " * characters) for number in range(many)]
    ahead = Ahead(tmp_path)
    await asyncio.gather(
        ahead.keep("documents/0", 1, {row.key: [row] for row in rows}, codec),
        ahead.passed("documents/0", 1),
        ahead.keep("documents/0", 2, {row.key: [replace(row, title="later")] for row in rows}, codec),
    )
    left = await ahead.left("documents/0", codec)
    assert left.changed == {row.key: [replace(row, title="later")] for row in rows}
    await ahead.close()


def _refusing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """LanceDB takes no documents."""
    base = store.documents._bases[0]
    assert isinstance(base, Base)

    async def refuses(_: Mapping[str, Sequence[DocumentRow]]) -> None:
        raise OSError("not now")

    monkeypatch.setattr(base, "commit", refuses)
