"""List of destroyed keys, apart from the table of keys: an older copy of the table loses them when it is opened."""

import secrets
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pipeline.bus.sealing.key_block import listed_numbers, with_listed

_VERSION_BITS = 31


class DestroyedKeys:
    """Numbers of destroyed keys by block, a bit each, in an SQLite file."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = TRUNCATE", "synchronous = FULL"):
            self._db.execute(f"PRAGMA {pragma}").fetchall()
        self._db.execute("CREATE TABLE IF NOT EXISTS destroyed (block TEXT PRIMARY KEY, bits BLOB)")

    @property
    def version(self) -> int:
        """A number that changes with each addition, and is none that another copy had; 0 while the list is empty."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def add(self, numbers: Mapping[str, Collection[int]]) -> None:
        """Add keys; on disk on return."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for block, added in numbers.items():
                row = (block, with_listed(self._listed(block), added))
                self._db.execute("INSERT OR REPLACE INTO destroyed VALUES (?, ?)", row)
            self._db.execute(f"PRAGMA user_version = {secrets.randbits(_VERSION_BITS) or 1}")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def __iter__(self) -> Iterator[tuple[str, set[int]]]:
        for (block,) in self._db.execute("SELECT block FROM destroyed").fetchall():
            yield block, listed_numbers(self._listed(block))

    def close(self) -> None:
        self._db.close()

    def _listed(self, block: str) -> bytes:
        row = self._db.execute("SELECT bits FROM destroyed WHERE block = ?", (block,)).fetchone()
        return b"" if row is None else bytes(row[0])
