"""A SQLite file that this process alone writes: opened, and changed, in one way wherever there is one."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def connect(path: Path, *pragmas: str) -> sqlite3.Connection:
    """Readers never wait for the writer, and what is committed is synced; `pragmas` come before that.

    Opened by one thread, used by one other at a time; transactions are begun by hand.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("busy_timeout = 10000", *pragmas, "journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}")
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
