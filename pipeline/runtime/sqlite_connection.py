"""SQLite connections and transactions for files that only this process writes."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)


def connect(path: Path | str, *pragmas: str) -> sqlite3.Connection:
    """Open a file in WAL mode with synced commits; `pragmas` are set before the journal mode.

    Readers never wait for the writer. One thread at a time may use the connection; transactions are explicit.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("busy_timeout = 10000", *pragmas, "journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}")
    return db


def open_or_replace(path: Path, open_file: Callable[[Path], T]) -> T:
    """Open a file of which another place has the content: a damaged one is made anew."""
    try:
        return open_file(path)
    except sqlite3.OperationalError:
        raise  # a fault of the disk, not of the file
    except sqlite3.DatabaseError as error:
        _log.warning("%s is damaged (%s): it is made anew, and filled again.", path, error)
        path.unlink()
        return open_file(path)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit everything written inside the block, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
