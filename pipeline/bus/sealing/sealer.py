"""Sealing of record values: each under a key of its own, so that destroying the key erases every copy of the record."""

import asyncio
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from time import monotonic

from pipeline.bus.records import (
    SEALED_HEADER,
    DeserializationError,
    ErasedRecordError,
    MissingKeyError,
    ProducerRecord,
    RawRecord,
)
from pipeline.bus.sealing.key_block import derive_key
from pipeline.bus.sealing.key_file import SealingKeyError
from pipeline.bus.sealing.key_table import KeyTable
from pipeline.bus.sealing.sealed_records import (
    BLOCK_RECORDS,
    MAX_BLOCK_DAYS,
    KeyLabel,
    ends_by_itself,
    key_label,
    key_labels,
    parse_key_label,
)
from pipeline.errors import OutageError
from pipeline.sealed_value import decrypt, encrypt

_NONCE = bytes(12)
"""The same for all: a key seals one record only."""
_COMPRESSION_LEVEL = 6
_MIN_COMPRESSED_BYTES = 512
_DAY_SECONDS = 86_400
_MAX_BYTES_AT_ONCE = 32 * 1024
"""Values that are compressed within a millisecond."""
FoundKeys = Mapping[KeyLabel, bytes | None]
"""Keys by label, None for those destroyed; labels without a block are left out."""


@dataclass(slots=True)
class _Block:
    """A block that this process seals with."""

    id: str
    seed: bytes
    used: int = 0
    began_at: float = field(default_factory=monotonic)

    def is_full(self, *, lasts: bool) -> bool:
        """Tell whether another block is due; one whose keys end by themselves takes records of one day."""
        return self.used == BLOCK_RECORDS or not (lasts or monotonic() - self.began_at < MAX_BLOCK_DAYS * _DAY_SECONDS)


class Sealer:
    """Seals values before they are appended, and opens them. Any thread may call."""

    def __init__(self, keys: KeyTable, *, seals: bool) -> None:
        self._keys = keys
        self.seals = seals
        """False: records that were sealed earlier are still opened, and new ones are not sealed."""
        self._lock = Lock()
        self._blocks: dict[int | None, _Block] = {}
        """By the days that their records stay."""
        self._changes = keys.changes

    def seal(
        self, entries: Sequence[ProducerRecord], plain: Sequence[bool], days: int | None = None
    ) -> list[ProducerRecord]:
        """Seal the values that do not stay plain; the keys are on disk on return. Synchronous: for a thread.

        `days`: the log drops these records itself before so many have passed.
        """
        return [entry if is_plain else self._seal(entry, days) for entry, is_plain in zip(entries, plain, strict=True)]

    def seal_at_once(
        self, entries: Sequence[ProducerRecord], plain: Sequence[bool], days: int | None = None
    ) -> list[ProducerRecord] | None:
        """Seal like `seal`; None if that is better done in a thread: for large values, or where a block is due."""
        if sum(len(entry.value) for entry in entries) > _MAX_BYTES_AT_ONCE or not self._lock.acquire(blocking=False):
            return None
        try:
            block = self._current_block(days)
        finally:
            self._lock.release()
        if block is None or block.used + len(entries) > BLOCK_RECORDS:
            return None
        return self.seal(entries, plain, days)

    def seal_lastingly(self, entries: Sequence[ProducerRecord]) -> list[ProducerRecord]:
        """Seal those anew whose keys end by themselves; others stay as they are. Synchronous: for a thread."""
        return [self._seal_lastingly(entry) for entry in entries]

    def open(self, record: RawRecord) -> bytes:
        """Return the value of a sealed record.

        ErasedRecordError if its key was destroyed, MissingKeyError if it is not in the table,
        DeserializationError if the record is damaged.
        """
        label = key_label(record.headers)
        return _open(self._keys.find(() if label is None else (label,)), record)

    async def with_openers(self, records: Sequence[RawRecord]) -> Sequence[RawRecord]:
        """Return the records with what opens the sealed ones, without a further look into the table. OutageError."""
        labels = key_labels(record.headers for record in records)
        if not labels:
            return records
        opener = partial(_open, await self._find(labels))
        return [replace(record, opener=opener) if SEALED_HEADER in record.headers else record for record in records]

    async def destroyed(self, labels: Collection[KeyLabel]) -> set[KeyLabel]:
        """Return those of the keys that were destroyed."""
        return {label for label, key in (await self._find(labels)).items() if key is None}

    async def remove_expired(self) -> int:
        """Remove the keys of records that the log dropped itself; return the number of blocks."""
        return await asyncio.to_thread(self._keys.remove_expired)

    async def count(self, labels: Collection[KeyLabel]) -> int:
        """Count the keys that were not destroyed. MissingKeyError if one is not in the table."""
        found = await self._find(labels)
        for label in labels:
            if label not in found:
                raise _missing(label)
        return sum(key is not None for key in found.values())

    async def destroy(self, labels: Collection[KeyLabel]) -> int:
        """Destroy keys; their records read as erased from then on. Return the number of keys. MissingKeyError."""
        return await asyncio.to_thread(self._destroy, labels)

    def new_key(self) -> tuple[str, bytes]:
        """Implement `ports.ContentKeys`."""
        return self._next_key(None)

    def find_keys(self, names: Collection[str]) -> dict[str, bytes | None]:
        """Implement `ports.ContentKeys`."""
        labels = {name: label for name in names if (label := parse_key_label(name)) is not None}
        try:
            found = self._keys.find(set(labels.values()))
        except SealingKeyError as error:
            raise OutageError(str(error)) from error
        return {name: found[label] for name, label in labels.items() if label in found}

    def destroy_keys(self, names: Collection[str]) -> int:
        """Implement `ports.ContentKeys`; MissingKeyError if one is not in the table."""
        return self._destroy({label for name in names if (label := parse_key_label(name)) is not None})

    async def _find(self, labels: Collection[KeyLabel]) -> FoundKeys:
        found = self._keys.cached(labels)
        if found is not None:
            return found
        try:
            return await asyncio.to_thread(self._keys.find, labels)
        except SealingKeyError as error:
            # The operator's fault, and not that of the records, which wait.
            raise OutageError(str(error)) from error

    def _destroy(self, labels: Collection[KeyLabel]) -> int:
        with self._lock:
            # The seed in memory could make a destroyed key again.
            touched = {block for block, _ in labels}
            self._blocks = {days: block for days, block in self._blocks.items() if block.id not in touched}
            try:
                return self._keys.destroy(labels)
            except LookupError as error:
                raise _missing((str(error.args[0]), 0)) from error

    def _seal_lastingly(self, entry: ProducerRecord) -> ProducerRecord:
        label = key_label(entry.headers)
        if label is None or not ends_by_itself(label):
            return entry
        try:
            value = _open(self._keys.find((label,)), entry)
        except DeserializationError:
            return entry  # erased, or damaged: whoever reads it will say so
        return self._seal(ProducerRecord(entry.key, value, entry.headers), None)

    def _current_block(self, days: int | None) -> _Block | None:
        if self._changes != self._keys.changes:
            self._changes = self._keys.changes
            self._blocks.clear()
        block = self._blocks.get(days)
        return None if block is None or block.is_full(lasts=days is None) else block

    def _seal(self, entry: ProducerRecord, days: int | None) -> ProducerRecord:
        name, key = self._next_key(days)
        sealed = encrypt(key, _NONCE, _pack(entry.value), entry.key)
        return ProducerRecord(entry.key, sealed, {**entry.headers, SEALED_HEADER: name})

    def _next_key(self, days: int | None) -> tuple[str, bytes]:
        with self._lock:
            block = self._current_block(days)
            if block is None:
                block = self._blocks[days] = _Block(*self._keys.new_block(days))
            number = block.used
            block.used += 1
        return f"{block.id}/{number}", derive_key(block.seed, number)


def _open(keys: FoundKeys, record: RawRecord | ProducerRecord) -> bytes:
    label = key_label(record.headers)
    if label is None:
        raise DeserializationError(f"the header {SEALED_HEADER} names no key")
    if label not in keys:
        raise _missing(label)
    key = keys[label]
    if key is None:
        raise ErasedRecordError("the record was erased")
    try:
        value = decrypt(key, _NONCE, record.value, record.key)
        return zlib.decompress(value[1:]) if value[:1] == b"z" else value[1:]
    except (ValueError, zlib.error) as error:
        raise DeserializationError("the sealed value is damaged, or belongs to another key") from error


def _missing(label: KeyLabel) -> MissingKeyError:
    return MissingKeyError(f"the key table has no block {label[0]}: restore it from its backup")


def _pack(value: bytes) -> bytes:
    """Compress before sealing: ciphertext does not shrink."""
    if len(value) < _MIN_COMPRESSED_BYTES:
        return b"p" + value
    return b"z" + zlib.compress(value, _COMPRESSION_LEVEL)
