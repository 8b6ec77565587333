"""Answers to requests with idempotency keys and operations on whole namespaces, which a restart keeps."""

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.rows import AnswerRow, OperationRow
from pipeline.store.tables import keyed_tables
from tests.support.store_rows import EPOCH, open_test_store

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("shared", [False, True])
async def test_an_answer_outlives_a_restart_and_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    monkeypatch.setattr(keyed_tables, "_PURGE_INTERVAL", 3)
    store = await open_test_store(tmp_path, shared=shared)
    old = AnswerRow("old", "asked", 200, "{}", EPOCH)
    recent = AnswerRow("recent", "asked", 202, "{}", EPOCH + timedelta(hours=2))
    for row in (old, recent):
        await store.answers.record(row)
    again = await open_test_store(tmp_path, shared=shared)
    assert [await again.answers.get(key) for key in ("old", "recent", "never")] == [old, recent, None]
    await store.answers.record(AnswerRow("new", "asked", 200, "{}", EPOCH + timedelta(hours=25)))
    assert await store.answers.get("old") is None
    assert await store.answers.get("recent") == recent


async def test_an_operation_is_recorded_until_it_is_done(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path)
    row = OperationRow("1", "move", "a", "b", "queued", EPOCH, EPOCH)
    await store.operations.record(row)
    again = await open_test_store(tmp_path)
    assert await again.operations.get("1") == row
    done = OperationRow("1", "move", "a", "b", "done", EPOCH, EPOCH + timedelta(seconds=1))
    await again.operations.record(done)
    assert await again.operations.get("1") == done
    assert await again.operations.get("2") is None
