"""Temporary storage on disk for lists that a run has to read completely before it can use them."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


class DiskBuffer:
    """JSON objects in groups, in insertion order, deleted at the end of the run."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA synchronous=OFF")
        database.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, name TEXT, body TEXT)")
        database.execute("CREATE INDEX names ON entries (name)")

    def add(self, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Append (group, object) pairs."""
        rows = [(group, json.dumps(body)) for group, body in entries]
        self._database.executemany("INSERT INTO entries (name, body) VALUES (?, ?)", rows)

    def group(self, group: str) -> list[dict[str, Any]]:
        rows = self._database.execute("SELECT body FROM entries WHERE name = ? ORDER BY number", (group,))
        return [json.loads(body) for (body,) in rows]

    def pages(self, size: int) -> Iterator[list[dict[str, Any]]]:
        """Iterate all objects in pages; objects added meanwhile come last."""
        last = 0
        while rows := self._page(last, size):
            last = rows[-1][0]
            yield [json.loads(body) for _, body in rows]

    def _page(self, after: int, size: int) -> list[tuple[int, str]]:
        query = "SELECT number, body FROM entries WHERE number > ? ORDER BY number LIMIT ?"
        return self._database.execute(query, (after, size)).fetchall()


@contextmanager
def open_disk_buffer() -> Iterator[DiskBuffer]:
    with TemporaryDirectory(prefix="recollect-") as folder:
        with closing(sqlite3.connect(Path(folder) / "spool.sqlite")) as database:
            yield DiskBuffer(database)
