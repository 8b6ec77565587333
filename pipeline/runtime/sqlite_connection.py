"""SQLite connections and transactions for files that only this process writes."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def connect(path: Path | str, *pragmas: str) -> sqlite3.Connection:
    """Open a file in WAL mode with synced commits; `pragmas` are set before the journal mode.

    Readers never wait for the writer. One thread at a time may use the connection; transactions are explicit.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("busy_timeout = 10000", *pragmas, "journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}")
    return db


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
