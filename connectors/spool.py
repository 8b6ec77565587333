"""What a run has to hold until it has seen all of a list: on disk, so that memory does not grow with it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


class Spool:
    """JSON objects in groups, in the order in which they came. Gone with the run."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA synchronous=OFF")
        database.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, name TEXT, body TEXT)")
        database.execute("CREATE INDEX names ON kept (name)")

    def add(self, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Keep (group, object)s."""
        rows = [(group, json.dumps(body)) for group, body in entries]
        self._database.executemany("INSERT INTO kept (name, body) VALUES (?, ?)", rows)

    def of(self, group: str) -> list[dict[str, Any]]:
        """The objects of one group."""
        rows = self._database.execute("SELECT body FROM kept WHERE name = ? ORDER BY number", (group,))
        return [json.loads(body) for (body,) in rows]

    def pages(self, size: int) -> Iterator[list[dict[str, Any]]]:
        """All objects; more may be added meanwhile and come last."""
        last = 0
        while rows := self._page(last, size):
            last = rows[-1][0]
            yield [json.loads(body) for _, body in rows]

    def _page(self, after: int, size: int) -> list[tuple[int, str]]:
        query = "SELECT number, body FROM kept WHERE number > ? ORDER BY number LIMIT ?"
        return self._database.execute(query, (after, size)).fetchall()


@contextmanager
def spool() -> Iterator[Spool]:
    """An empty one in a temporary folder."""
    with TemporaryDirectory(prefix="recollect-") as folder:
        with closing(sqlite3.connect(Path(folder) / "spool.sqlite")) as database:
            yield Spool(database)
