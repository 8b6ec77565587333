"""Record of what imports have sent: a repeated import sends only what is new or changed."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal

from app.importers.imported_item import ImportedItem

FILE_NAME = "imports.sqlite"
_DIGEST_BYTES = 16

ItemState = Literal["new", "sent", "changed"]


class SentItems:
    """Digests of sent items, in a file of the data directory; 32 bytes and an index entry for each."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file)
        self._database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            "CREATE TABLE IF NOT EXISTS sent (item BLOB PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;"
        )

    def close(self) -> None:
        self._database.close()

    def state(self, service: str, namespace: str, item: ImportedItem) -> ItemState:
        """Return whether the service at this address was sent the item, and whether it was the same then."""
        with closing(
            self._database.execute("SELECT digest FROM sent WHERE item = ?", [item_key(service, namespace, item.id)])
        ) as found:
            row = found.fetchone()
        if row is None:
            return "new"
        return "sent" if row[0] == content_digest(item) else "changed"

    def add(self, service: str, namespace: str, items: Iterable[ImportedItem]) -> None:
        rows = [(item_key(service, namespace, item.id), content_digest(item)) for item in items]
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO sent VALUES (?, ?)", rows)


def item_key(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=_DIGEST_BYTES).digest()


def content_digest(item: ImportedItem) -> bytes:
    written = json.dumps([item.content, item.date, item.metadata], sort_keys=True)
    return hashlib.blake2b(written.encode(), digest_size=_DIGEST_BYTES).digest()
