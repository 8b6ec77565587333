"""Keys of sealed records: an object for each block, in a folder or an object store, apart from the log."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from time import monotonic

from pipeline.bus.sealing.key_backup import read_backup, write_backup
from pipeline.bus.sealing.key_block import KeyWrapping, key_in_block, listed_numbers, with_listed, without_keys
from pipeline.bus.sealing.key_file import KEY_BYTES, SealingKeyError
from pipeline.bus.sealing.sealed_records import BLOCKS, DESTROYED, WRAPPING_NAME, KeyLabel
from pipeline.errors import OutageError
from pipeline.ports import KeyStorage

MAX_AGE_SECONDS = 2.0
"""Time after which a process asks again whether keys were destroyed elsewhere, before it opens a record."""
MAX_CACHEDBLOCKS = 1024
"""At most 32 MB, as one without destroyed keys has 32 bytes."""
_BLOCK_ID = re.compile(r"[0-9a-f]{16}(?:-([0-9]{8}))?")
_NAME_DIGITS = 16
_VERSION, _PENDING = "version", "pending"


class KeyTable:
    """Blocks of keys in a `KeyStorage`. Any thread may call. OutageError if the storage can't be used.

    A block is a seed, or, once a key of it was destroyed, the list of its other keys. It is written by the process that
    seals with it, and by erasures, and never removed while the log may have a record of it: an unknown block tells a
    lost table from an erased record.

    What is destroyed is listed apart from the blocks, first: a block that is restored from a backup loses these keys
    whenever it is read. Processes keep blocks in memory for as long as `version` stays the same. A block whose name
    ends with a date is for records that the log drops before it: from then on all its keys count as destroyed.

    What wraps the blocks is named beside them: a process that wrote one looks there afterwards, and a process that
    wraps all anew does so once more after it has changed the name. So no block stays wrapped by an older key.
    """

    def __init__(self, storage: KeyStorage, wrapping_keys: Sequence[bytes], now: Callable[[], datetime]) -> None:
        """Open the table, which is made with the first block. SealingKeyError: other keys wrapped it. OutageError."""
        self._storage = storage
        self._wrapping = KeyWrapping(wrapping_keys)
        self._now = now
        self._lock = Lock()
        self._opened: dict[str, bytes] = {}
        self._version: bytes | None = None
        self._checked_at = -MAX_AGE_SECONDS
        self.changes = 0
        """Counts how often keys were found destroyed: what was kept of them elsewhere is to be dropped."""
        self._wrap_anew()

    def new_block(self, days: int | None = None) -> tuple[str, bytes]:
        """Add a block, on disk on return; its id and seed. `days`: until all its keys are destroyed. OutageError."""
        block, seed = os.urandom(8).hex(), os.urandom(KEY_BYTES)
        if days is not None:
            block = f"{block}-{self._now() + timedelta(days=days):%Y%m%d}"
        self._storage.create(f"{BLOCKS}/{block}", self._packed(block, seed))
        try:
            self._follow_wrapping((block,))
        except SealingKeyError as error:
            self._storage.delete(f"{BLOCKS}/{block}")
            raise OutageError(f"{error} This one has keys from before they were rotated: restart it.") from error
        return block, seed

    def cached(self, labels: Collection[KeyLabel]) -> Mapping[KeyLabel, bytes | None] | None:
        """Return the keys without waiting; None if that takes a look into the storage."""
        opened = self._opened
        if monotonic() - self._checked_at > MAX_AGE_SECONDS or any(block not in opened for block, _ in labels):
            return None
        return {label: self._key_in(opened, label) for label in labels}

    def find(self, labels: Collection[KeyLabel]) -> dict[KeyLabel, bytes | None]:
        """Return the keys, None for those destroyed; labels of blocks that never were are left out. OutageError."""
        with self._lock:
            self._check_version()
            blocks = {block: self._open(block) for block in {block for block, _ in labels}}
        opened = {block: keys for block, keys in blocks.items() if keys is not None}
        return {
            label: self._key_in(opened, label) for label in labels if label[0] in opened or self._is_expired(label[0])
        }

    def destroy(self, labels: Collection[KeyLabel]) -> int:
        """Destroy keys, for good on return; return how many there still were. LookupError, OutageError.

        What an interrupted call left is completed, with no labels too. Other processes know after MAX_AGE_SECONDS.
        """
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for block, number in labels:
            if not self._is_expired(block):
                numbers[block].add(number)
        with self._lock:
            self._opened = {}
            for block in numbers:
                if self._open(block) is None:
                    raise LookupError(block)
            pending = {*(self._storage.read(_PENDING) or b"").decode().split(), *numbers}
            if not pending:
                return 0
            self._storage.update(_PENDING, lambda old: "\n".join({*(old or b"").decode().split(), *numbers}).encode())
            # Listed before they are destroyed: an interrupted erasure reads as if it had ended.
            for block, gone in numbers.items():
                self._storage.update(f"{DESTROYED}/{block}", lambda old, gone=gone: with_listed(old or b"", gone))  # type: ignore[misc]  # mypy knows no default in a lambda
            count = sum(self._destroy_listed(block) for block in pending)
            self._follow_wrapping(pending)
            self._storage.update(_VERSION, lambda _: os.urandom(KEY_BYTES))
            self._storage.delete(_PENDING)
            self._forget()
        return count

    def restore(self, backup: Path) -> int:
        """Add the blocks that are missing from a backup; return their number. Destroyed keys stay destroyed.

        SealingKeyError, with nothing added, if the file is no backup or a wrapping key is missing. OutageError.
        """
        blocks = {
            block: self._wrapping.unwrap(block, name, keys)
            for block, name, keys in read_backup(backup)
            if not self._is_expired(block)
        }
        missing = blocks.keys() - set(self._storage.names(BLOCKS))
        for block in missing:
            self._storage.create(f"{BLOCKS}/{block}", self._packed(block, blocks[block]))
            self._destroy_listed(block)
        self._follow_wrapping(missing)
        return len(missing)

    def remove_expired(self) -> int:
        """Remove the blocks whose day has passed; return their number."""
        expired = [block for block in self._storage.names(BLOCKS) if self._is_expired(block)]
        for block in expired:
            self._storage.delete(f"{BLOCKS}/{block}")
            self._storage.delete(f"{DESTROYED}/{block}")
        return len(expired)

    def _check_version(self) -> None:
        asked_at = monotonic()
        if asked_at - self._checked_at > MAX_AGE_SECONDS:
            version = self._storage.read(_VERSION)
            if version != self._version:
                self._forget()
            self._version, self._checked_at = version, asked_at

    def _forget(self) -> None:
        self._opened = {}
        self.changes += 1

    def _open(self, block: str) -> bytes | None:
        """Return the keys of a block, and keep them; None if there never was one, or its day has passed."""
        if block in self._opened:
            return self._opened[block]
        if not _BLOCK_ID.fullmatch(block) or self._is_expired(block):
            return None  # the name comes from a header that anybody may have written
        packed = self._storage.read(f"{BLOCKS}/{block}")
        if packed is None:
            return None
        keys, listed = self._unpacked(block, packed), self._storage.read(f"{DESTROYED}/{block}")
        if listed is not None:
            keys, _ = without_keys(keys, listed_numbers(listed))
        if len(self._opened) >= MAX_CACHEDBLOCKS:
            self._opened = {}
        self._opened[block] = keys
        return keys

    def _key_in(self, opened: Mapping[str, bytes], label: KeyLabel) -> bytes | None:
        block, number = label
        return None if self._is_expired(block) else key_in_block(opened[block], number)

    def _is_expired(self, block: str) -> bool:
        match = _BLOCK_ID.fullmatch(block)
        return match is not None and match[1] is not None and match[1] < f"{self._now():%Y%m%d}"

    def _destroy_listed(self, block: str) -> int:
        listed = listed_numbers(self._storage.read(f"{DESTROYED}/{block}") or b"")
        count = 0

        def destroy(packed: bytes | None) -> bytes:
            nonlocal count
            if packed is None:
                raise SealingKeyError(f"The block {block} of keys is gone while its keys are destroyed.")
            keys, count = without_keys(self._unpacked(block, packed), listed)
            return self._packed(block, keys)

        self._storage.update(f"{BLOCKS}/{block}", destroy)
        return count

    def _wrap_anew(self) -> None:
        """Wrap blocks under the first key that another one wrapped, once for all processes."""
        current = self._wrapping.current
        if self._storage.create(WRAPPING_NAME, current.encode()):
            return
        used = self._used_wrapping()
        self._wrapping.use(used)  # it must be there
        if used == current:
            return
        self._wrapping.use(current)
        for _ in range(2):  # again for blocks that others added before they could see the new name
            self._wrap_blocks(self._storage.names(BLOCKS))
            self._storage.update(WRAPPING_NAME, lambda _: current.encode())

    def _follow_wrapping(self, written: Iterable[str]) -> None:
        """Wrap blocks that were just written with what wraps the others now. SealingKeyError if it is unknown here."""
        used = self._used_wrapping()
        if used != self._wrapping.current:
            self._wrapping.use(used)
            self._wrap_blocks(written)

    def _used_wrapping(self) -> str:
        return (self._storage.read(WRAPPING_NAME) or b"").decode()

    def _wrap_blocks(self, blocks: Iterable[str]) -> None:
        for block in blocks:
            with suppress(LookupError):  # it expired meanwhile
                self._storage.update(f"{BLOCKS}/{block}", lambda old, block=block: self._wrapped_anew(block, old))  # type: ignore[misc]  # as above

    def _wrapped_anew(self, block: str, packed: bytes | None) -> bytes:
        if packed is None:
            raise LookupError(block)
        return self._packed(block, self._unpacked(block, packed))

    def _packed(self, block: str, keys: bytes) -> bytes:
        return self._wrapping.current.encode() + self._wrapping.wrap(block, keys)

    def _unpacked(self, block: str, packed: bytes) -> bytes:
        return self._wrapping.unwrap(block, packed[:_NAME_DIGITS].decode(errors="replace"), packed[_NAME_DIGITS:])


def back_up_keys(storage: KeyStorage, target: Path) -> int:
    """Copy the blocks, wrapped and without destroyed keys, to a file that is there whole or not at all."""
    blocks = sorted(storage.names(BLOCKS))
    packed = {block: keys for block in blocks if (keys := storage.read(f"{BLOCKS}/{block}")) is not None}
    rows = [(block, keys[:_NAME_DIGITS].decode(), keys[_NAME_DIGITS:]) for block, keys in packed.items()]
    with write_backup(target) as copy:
        copy.execute("CREATE TABLE blocks (id TEXT PRIMARY KEY, wrapped_by TEXT, keys BLOB)")
        copy.executemany("INSERT INTO blocks VALUES (?, ?, ?)", rows)
        copy.commit()
    return len(rows)
