"""Keys of sealed records: blocks in an SQLite file outside the log, wrapped by a key that the operator holds."""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock

from pipeline.bus.sealing.destroyed_keys import DestroyedKeys
from pipeline.bus.sealing.key_backup import read_backup, write_backup
from pipeline.bus.sealing.key_block import KeyWrapping, key_in_block, without_keys
from pipeline.bus.sealing.key_file import KEY_BYTES, SealingKeyError
from pipeline.bus.sealing.sealed_records import KeyLabel


class KeyTable:
    """Blocks of keys. A block is a seed, or, once a key of it was destroyed, the list of its other keys.

    Rows of blocks are never removed, so that an unknown block tells a lost table from an erased record. `destroyed`
    lists the destroyed keys elsewhere: a table that is older than the list loses them when it is opened. Any thread
    may call. SealingKeyError if the wrapping keys are not those of the table.
    """

    def __init__(self, path: Path, wrapping_keys: Sequence[bytes], destroyed: DestroyedKeys) -> None:
        self._destroyed = destroyed
        self._wrapping = KeyWrapping(wrapping_keys)
        self._lock = Lock()
        self._opened: dict[str, bytes] = {}
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # Journal emptied and free pages overwritten: a destroyed key must not stay in this file.
        for pragma in ("journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON"):
            self._db.execute(f"PRAGMA {pragma}").fetchall()
        path.chmod(0o600)
        self._db.execute("CREATE TABLE IF NOT EXISTS blocks (id TEXT PRIMARY KEY, wrapped_by TEXT, keys BLOB)")
        try:
            with self._transaction():
                self._rewrap()
                self._destroy_listed()
        except SealingKeyError:
            self.close()
            raise

    changes = 0
    """Never more: one process has the table, and its sealer destroys the keys."""

    def new_block(self, days: int | None = None) -> tuple[str, bytes]:
        """Add a block, on disk on return; its id and seed. The log has the keys destroyed of what it drops."""
        del days
        block, seed = os.urandom(8).hex(), os.urandom(KEY_BYTES)
        with self._lock:
            self._db.execute(
                "INSERT INTO blocks VALUES (?, ?, ?)", (block, self._wrapping.current, self._wrapping.wrap(block, seed))
            )
        return block, seed

    def cached(self, labels: Collection[KeyLabel]) -> dict[KeyLabel, bytes | None]:
        """Find keys: reading one takes no longer than a look at the log."""
        return self.find(labels)

    def find(self, labels: Collection[KeyLabel]) -> dict[KeyLabel, bytes | None]:
        """Return keys, None for those destroyed; labels of blocks that the table does not have are left out."""
        found: dict[KeyLabel, bytes | None] = {}
        with self._lock:
            for block, number in labels:
                with suppress(LookupError):
                    found[block, number] = key_in_block(self._keys_of(block), number)
        return found

    def destroy(self, labels: Collection[KeyLabel]) -> int:
        """Destroy keys, for good on return; return how many there still were."""
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for block, number in labels:
            numbers[block].add(number)
        with self._transaction():
            for block in numbers:
                self._keys_of(block)  # LookupError before anything is destroyed
            # Before the table, which loses the keys when it is opened again after a crash in between.
            self._destroyed.add(numbers)
            count = sum(self._destroy_in_block(block, gone) for block, gone in numbers.items())
            self._set_version()
        return count

    def remove_expired(self) -> int:
        """Do nothing: no keys end by themselves here."""
        return 0

    def restore(self, backup: Path) -> int:
        """Add the blocks that this table lacks from a backup; return their number. Destroyed keys stay destroyed.

        SealingKeyError, with nothing added, if the file is no backup or a wrapping key is missing.
        """
        rows = read_backup(backup)
        added = 0
        with self._transaction():
            for block, name, keys in rows:
                unwrapped = self._wrapping.unwrap(block, name, keys)
                row = (block, self._wrapping.current, self._wrapping.wrap(block, unwrapped))
                added += self._db.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", row).rowcount
            self._destroy_listed(always=True)
        return added

    def close(self) -> None:
        self._db.close()
        self._destroyed.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                self._opened.clear()
                raise
            self._db.execute("COMMIT")

    def _destroy_listed(self, *, always: bool = False) -> None:
        """Destroy the keys of the list, in the blocks that are here, if the table is not as new as the list."""
        if always or self._db.execute("PRAGMA user_version").fetchone()[0] != self._destroyed.version:
            known = {block for (block,) in self._db.execute("SELECT id FROM blocks").fetchall()}
            for block, numbers in self._destroyed:
                if block in known:
                    self._destroy_in_block(block, numbers)
            self._set_version()

    def _set_version(self) -> None:
        self._db.execute(f"PRAGMA user_version = {self._destroyed.version}")

    def _destroy_in_block(self, block: str, numbers: Iterable[int]) -> int:
        keys, destroyed = without_keys(self._keys_of(block), numbers)
        if destroyed:
            self._db.execute(
                "UPDATE blocks SET wrapped_by = ?, keys = ? WHERE id = ?",
                (self._wrapping.current, self._wrapping.wrap(block, keys), block),
            )
            self._opened[block] = keys
        return destroyed

    def _keys_of(self, block: str) -> bytes:
        if block not in self._opened:
            row = self._db.execute("SELECT wrapped_by, keys FROM blocks WHERE id = ?", (block,)).fetchone()
            if row is None:
                raise LookupError(block)
            self._opened[block] = self._wrapping.unwrap(block, *row)
        return self._opened[block]

    def _rewrap(self) -> None:
        """Wrap blocks under the first key that another one wrapped."""
        query = "SELECT id, wrapped_by, keys FROM blocks WHERE wrapped_by != ?"
        rows = self._db.execute(query, (self._wrapping.current,)).fetchall()
        wrapped = [
            (self._wrapping.current, self._wrapping.wrap(block, self._wrapping.unwrap(block, name, keys)), block)
            for block, name, keys in rows
        ]
        self._db.executemany("UPDATE blocks SET wrapped_by = ?, keys = ? WHERE id = ?", wrapped)


def back_up_table(path: Path, target: Path) -> int:
    """Copy a table, which may be in use, to a file that is there whole or not at all; return the number of blocks."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source:
        with write_backup(target) as copy:
            source.backup(copy)
            (count,) = copy.execute("SELECT count(*) FROM blocks").fetchone()
    return int(count)
