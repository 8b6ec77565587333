"""Operations on whole namespaces, which a restart keeps."""

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.rows import OperationRow
from tests.support.store_rows import EPOCH, open_test_store

pytestmark = pytest.mark.anyio


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
