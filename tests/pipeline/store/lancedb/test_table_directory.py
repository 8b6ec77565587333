"""The files of a table, which another process may remove at any time."""

import time
from pathlib import Path

from pipeline.store.lancedb.table_directory import TableDirectory


def test_a_table_that_another_process_removed_has_always_just_changed(tmp_path: Path) -> None:
    directory = TableDirectory(tmp_path / "gone.lance")
    assert directory.versions_changed_at() > time.time_ns()
