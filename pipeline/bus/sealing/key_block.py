"""A block of keys: a seed, or, once a key of it was destroyed, the list of its other keys; and its wrapping."""

import hmac
from collections.abc import Iterable, Sequence
from hashlib import sha256

from pipeline.bus.sealing.key_file import KEY_BYTES, SealingKeyError
from pipeline.bus.sealing.sealed_records import BLOCK_RECORDS
from pipeline.sealed_value import open_sealed, seal

_DESTROYED = bytes(KEY_BYTES)


def derive_key(seed: bytes, number: int) -> bytes:
    """Return the key of a record of a block; 32 bytes."""
    return hmac.digest(seed, number.to_bytes(4, "big"), "sha256")


def key_in_block(keys: bytes, number: int) -> bytes | None:
    """Return a record's key; None if it was destroyed."""
    if len(keys) == KEY_BYTES:
        return derive_key(keys, number)
    key = keys[number * KEY_BYTES : (number + 1) * KEY_BYTES]
    return None if key in {b"", _DESTROYED} else key


def without_keys(keys: bytes, numbers: Iterable[int]) -> tuple[bytes, int]:
    """Return a block without these keys, and how many of them it still had."""
    if len(keys) == KEY_BYTES:
        keys = b"".join(derive_key(keys, number) for number in range(BLOCK_RECORDS))
    left = bytearray(keys)
    destroyed = 0
    for number in numbers:
        place = slice(number * KEY_BYTES, (number + 1) * KEY_BYTES)
        if left[place] not in (b"", _DESTROYED):
            left[place] = _DESTROYED
            destroyed += 1
    return bytes(left), destroyed


def with_listed(listed: bytes, numbers: Iterable[int]) -> bytes:
    """Add keys of a block to a list of such, which has a bit for each."""
    bits = int.from_bytes(listed, "little")
    for number in numbers:
        bits |= 1 << number
    return bits.to_bytes(BLOCK_RECORDS // 8, "little")


def listed_numbers(listed: bytes) -> set[int]:
    """Return the numbers of the keys in such a list."""
    bits = int.from_bytes(listed, "little")
    return {number for number in range(BLOCK_RECORDS) if bits >> number & 1}


class KeyWrapping:
    """Wraps blocks under the first of the operator's keys, and unwraps them with any."""

    def __init__(self, wrapping_keys: Sequence[bytes]) -> None:
        self._wrapping = {_key_name(key): key for key in wrapping_keys}
        self.current = _key_name(wrapping_keys[0])
        """Name of the key that wraps."""

    def use(self, name: str) -> None:
        """Wrap with the key of this name from now on. SealingKeyError if it is not there."""
        if name not in self._wrapping:
            raise SealingKeyError(
                "The keys of the log are wrapped by a key that is not in the sealing key file of this process: put its"
                " line back, or give every process the same RECOLLECT_SEALING_KEY_FILE."
            )
        self.current = name

    def wrap(self, block: str, keys: bytes) -> bytes:
        """Wrap a block under the current key."""
        return seal(self._wrapping[self.current], keys, block.encode())

    def unwrap(self, block: str, name: str, wrapped: bytes) -> bytes:
        """Unwrap a block that the key of this name wrapped; SealingKeyError."""
        key = self._wrapping.get(name)
        keys = None if key is None else open_sealed(key, wrapped, block.encode())
        if keys is None:
            raise SealingKeyError(
                "The keys of the log are wrapped by a key that is not in the sealing key file. Put its line back,"
                " below the new one: see RECOLLECT_SEALING_KEY_FILE."
            )
        return keys


def _key_name(key: bytes) -> str:
    return sha256(b"recollect wrapping key" + key).hexdigest()[:16]
