"""Keys of sealed records: blocks in an SQLite file outside the log, wrapped by a key that the operator holds."""

import hmac
import os
import sqlite3
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from threading import Lock

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipeline.bus.sealed_records import BLOCK_RECORDS, KeyLabel

KEY_BYTES = 32
_NONCE_BYTES = 12
_DESTROYED = bytes(KEY_BYTES)


class SealingKeyError(ValueError):
    """The key file or a wrapped key can't be used; the message is for the operator."""


class KeyTable:
    """Blocks of keys. A block is a seed, or, once a key of it was destroyed, the list of its other keys.

    Rows of blocks are never removed, so that an unknown block tells a lost table from an erased record. Any thread
    may call.
    """

    def __init__(self, path: Path, wrapping_keys: Sequence[bytes]) -> None:
        self._wrapping = {_key_name(key): AESGCM(key) for key in wrapping_keys}
        self._current = _key_name(wrapping_keys[0])
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
            self._rewrap()
        except SealingKeyError:
            self._db.close()
            raise

    def new_block(self) -> tuple[str, bytes]:
        """Add a block, on disk on return; its id and seed."""
        block, seed = os.urandom(8).hex(), os.urandom(KEY_BYTES)
        with self._lock:
            self._db.execute("INSERT INTO blocks VALUES (?, ?, ?)", (block, self._current, self._wrap(block, seed)))
        return block, seed

    def key(self, label: KeyLabel) -> bytes | None:
        """Return a record's key; None if it was destroyed. LookupError: the table has no such block."""
        block, number = label
        with self._lock:
            keys = self._keys_of(block)
        if len(keys) == KEY_BYTES:
            return derive_key(keys, number)
        key = keys[number * KEY_BYTES : (number + 1) * KEY_BYTES]
        return None if key in {b"", _DESTROYED} else key

    def destroy(self, labels: Collection[KeyLabel]) -> int:
        """Destroy keys, for good on return; return how many there still were."""
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for block, number in labels:
            numbers[block].add(number)
        destroyed = 0
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for block, gone in numbers.items():
                    destroyed += self._destroy_in_block(block, gone)
            except BaseException:
                self._db.execute("ROLLBACK")
                self._opened.clear()
                raise
            self._db.execute("COMMIT")
        return destroyed

    def restore(self, backup: Path) -> int:
        """Add the blocks that this table lacks from a copy of it; what was destroyed here stays destroyed."""
        with closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT id, wrapped_by, keys FROM blocks").fetchall()
        with self._lock:
            before = self._db.total_changes
            self._db.executemany("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", rows)
            added = self._db.total_changes - before
        self._rewrap()
        return added

    def close(self) -> None:
        self._db.close()

    def _destroy_in_block(self, block: str, numbers: Iterable[int]) -> int:
        keys = self._keys_of(block)
        if len(keys) == KEY_BYTES:
            keys = b"".join(derive_key(keys, number) for number in range(BLOCK_RECORDS))
        left = bytearray(keys)
        destroyed = 0
        for number in numbers:
            place = slice(number * KEY_BYTES, (number + 1) * KEY_BYTES)
            if left[place] not in (b"", _DESTROYED):
                left[place] = _DESTROYED
                destroyed += 1
        if destroyed:
            keys = bytes(left)
            self._db.execute(
                "UPDATE blocks SET wrapped_by = ?, keys = ? WHERE id = ?",
                (self._current, self._wrap(block, keys), block),
            )
            self._opened[block] = keys
        return destroyed

    def _keys_of(self, block: str) -> bytes:
        if block not in self._opened:
            row = self._db.execute("SELECT wrapped_by, keys FROM blocks WHERE id = ?", (block,)).fetchone()
            if row is None:
                raise LookupError(block)
            self._opened[block] = self._unwrap(block, *row)
        return self._opened[block]

    def _rewrap(self) -> None:
        """Wrap blocks under the first key that another one wrapped."""
        with self._lock:
            query = "SELECT id, wrapped_by, keys FROM blocks WHERE wrapped_by != ?"
            rows = self._db.execute(query, (self._current,)).fetchall()
            wrapped = [
                (self._current, self._wrap(block, self._unwrap(block, name, keys)), block) for block, name, keys in rows
            ]
            self._db.executemany("UPDATE blocks SET wrapped_by = ?, keys = ? WHERE id = ?", wrapped)

    def _wrap(self, block: str, keys: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._wrapping[self._current].encrypt(nonce, keys, block.encode())

    def _unwrap(self, block: str, name: str, wrapped: bytes) -> bytes:
        try:
            return self._wrapping[name].decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], block.encode())
        except (KeyError, InvalidTag) as error:
            raise SealingKeyError(
                "The keys of the log are wrapped by a key that is not in the sealing key file. Put its line back,"
                " below the new one: see RECOLLECT_SEALING_KEY_FILE."
            ) from error


def derive_key(seed: bytes, number: int) -> bytes:
    """Return the key of a record of a block; 32 bytes."""
    return hmac.digest(seed, number.to_bytes(4, "big"), "sha256")


def read_key_file(path: Path, *, create: bool) -> list[bytes]:
    """Return the wrapping keys, one a line, the current one first; `create` makes a missing file. SealingKeyError."""
    if create and not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(urlsafe_b64encode(os.urandom(KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    try:
        keys = [urlsafe_b64decode(line) for line in path.read_text().split()]
    except (OSError, ValueError) as error:
        raise SealingKeyError(f"The sealing key file {path} can't be read: {error}.") from error
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise SealingKeyError(f"{path} must hold keys of 32 random bytes in URL-safe base64, one a line.")
    return keys


def _key_name(key: bytes) -> str:
    return sha256(b"recollect wrapping key" + key).hexdigest()[:16]
