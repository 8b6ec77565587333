"""Backups of the keys of sealed records: an SQLite file with their blocks, wrapped."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pipeline.bus.sealing.key_file import SealingKeyError
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync


@contextmanager
def write_backup(target: Path) -> Iterator[sqlite3.Connection]:
    """Make a file, for its owner only, that is there whole or not at all."""
    partial = target.with_name(f"{target.name}{TEMPORARY_SUFFIX}")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    with closing(sqlite3.connect(partial)) as copy:
        yield copy
    fsync(partial)
    partial.replace(target)
    fsync(target.absolute().parent)


def read_backup(backup: Path) -> list[tuple[str, str, bytes]]:
    """Return each block's id, the name of the key that wraps it, and its keys. SealingKeyError if it is no backup."""
    try:
        with closing(sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT id, wrapped_by, keys FROM blocks").fetchall()
    except sqlite3.Error as error:
        raise SealingKeyError(f"{backup} is not a backup of sealing keys: {error}.") from error
