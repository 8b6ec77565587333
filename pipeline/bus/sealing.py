"""Sealing of record values: each under a key of its own, so that destroying the key erases every copy of the record."""

import asyncio
import zlib
from collections.abc import Collection, Sequence
from threading import Lock

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipeline.bus.key_table import KeyTable, derive_key
from pipeline.bus.records import (
    SEALED_HEADER,
    DeserializationError,
    ErasedRecordError,
    MissingKeyError,
    ProducerRecord,
    RawRecord,
)
from pipeline.bus.sealed_records import BLOCK_RECORDS, KeyLabel, key_label

_NONCE = bytes(12)
"""The same for all: a key seals one record only."""
_COMPRESSION_LEVEL = 6
_MIN_COMPRESSED_BYTES = 512


class Sealer:
    """Seals values before they are appended, and opens them. Any thread may call."""

    def __init__(self, keys: KeyTable, *, seals: bool) -> None:
        self._keys = keys
        self.seals = seals
        """False: records that were sealed earlier are still opened, and new ones are not sealed."""
        self._lock = Lock()
        self._block: tuple[str, bytes] | None = None
        self._used = 0

    def seal(self, entries: Sequence[ProducerRecord], plain: Sequence[bool]) -> list[ProducerRecord]:
        """Seal the values that do not stay plain; the keys are on disk on return. Synchronous: for a thread."""
        return [entry if is_plain else self._seal(entry) for entry, is_plain in zip(entries, plain, strict=True)]

    def open(self, record: RawRecord) -> bytes:
        """Return the value of a sealed record.

        ErasedRecordError if its key was destroyed, MissingKeyError if it is not in the table,
        DeserializationError if the record is damaged.
        """
        label = key_label(record.headers)
        if label is None:
            raise DeserializationError(f"the header {SEALED_HEADER} names no key")
        key = self._key(label)
        if key is None:
            raise ErasedRecordError("the record was erased")
        try:
            value = AESGCM(key).decrypt(_NONCE, record.value, record.key)
            return zlib.decompress(value[1:]) if value[:1] == b"z" else value[1:]
        except (InvalidTag, ValueError, zlib.error) as error:
            raise DeserializationError("the sealed value is damaged, or belongs to another key") from error

    async def count(self, labels: Collection[KeyLabel]) -> int:
        """Count the keys that were not destroyed. MissingKeyError if one is not in the table."""
        return await asyncio.to_thread(lambda: sum(self._key(label) is not None for label in labels))

    async def destroy(self, labels: Collection[KeyLabel]) -> int:
        """Destroy keys; their records read as erased from then on. Return the number of keys."""
        return await asyncio.to_thread(self._destroy, labels)

    def close(self) -> None:
        self._keys.close()

    def _key(self, label: KeyLabel) -> bytes | None:
        try:
            return self._keys.key(label)
        except LookupError as error:
            raise MissingKeyError(f"the key table has no block {label[0]}: restore it from its backup") from error

    def _destroy(self, labels: Collection[KeyLabel]) -> int:
        with self._lock:
            # The seed in memory could make a destroyed key again.
            self._block = None
            return self._keys.destroy(labels)

    def _seal(self, entry: ProducerRecord) -> ProducerRecord:
        with self._lock:
            if self._block is None or self._used == BLOCK_RECORDS:
                self._block, self._used = self._keys.new_block(), 0
            (block, seed), number = self._block, self._used
            self._used += 1
        sealed = AESGCM(derive_key(seed, number)).encrypt(_NONCE, _pack(entry.value), entry.key)
        return ProducerRecord(entry.key, sealed, {**entry.headers, SEALED_HEADER: f"{block}/{number}"})


def _pack(value: bytes) -> bytes:
    """Compress before sealing: ciphertext does not shrink."""
    if len(value) < _MIN_COMPRESSED_BYTES:
        return b"p" + value
    return b"z" + zlib.compress(value, _COMPRESSION_LEVEL)
