"""Sealed blobs: a line that names the key, then the parts, sealed with AES-GCM under that key in order."""

import re
from collections.abc import Callable, Iterable, Iterator

from pipeline.errors import RejectedError
from pipeline.ports import ContentKeys
from pipeline.sealed_value import TAG_BYTES, DamagedValueError, decrypt, encrypt

PART_BYTES = 256 * 1024
"""Bytes of a blob that are in memory at once while it is streamed."""
MARK = b"recollect-sealed-1 "
HEADER = re.compile(re.escape(MARK) + rb"([0-9a-f]{16}/[0-9]{1,4})\n")
MAX_HEADER_BYTES = len(MARK) + 16 + 1 + 4 + 1
_SEALED_PART_BYTES = PART_BYTES + TAG_BYTES
StoredParts = Callable[[], Iterable[bytes]]
"""Returns what is stored of a blob, in parts: each time from its beginning."""


class BlobSealing:
    """Seals each blob under a key of its own. Synchronous: for a thread. OutageError if the keys can't be reached."""

    def __init__(self, keys: ContentKeys | None) -> None:
        self._keys = keys

    @property
    def is_used(self) -> bool:
        """False: all blobs are plain."""
        return self._keys is not None

    def stored_parts(self, digest: str, data: bytes, head: bytes) -> StoredParts:
        """Return what to store of a blob, where one that begins with `head` is stored, if any.

        Its key is used again, so that no copy of it has a key that a later erasure does not find.
        """
        if self._keys is None:
            return lambda: (data,)
        name = key_name(head)
        key = None if name is None else self._keys.find_keys((name,)).get(name)
        if name is None or key is None:
            # Bytes that look like a sealed blob are sealed in any case, lest they are taken for one.
            if not self._keys.seals and not data.startswith(MARK):
                return lambda: (data,)
            name, key = self._keys.new_key()
        return lambda: seal_blob(name, key, digest, data)

    def opener(self, digest: str, head: bytes) -> "BlobOpener | None":
        """Return what opens a blob that begins like this; None if it is plain. RejectedError if its key is gone."""
        name = key_name(head)
        if self._keys is None or name is None:
            return None
        found = self._keys.find_keys((name,))
        if name not in found:
            raise RejectedError(f"The key of blob {digest} is missing: restore the keys from their backup.")
        if (key := found[name]) is None:
            raise RejectedError(f"blob {digest} was erased: its key is destroyed")
        return BlobOpener(key, digest)

    def count_keys(self, heads: Iterable[bytes]) -> int:
        """Count the keys of blobs that begin like these, without those destroyed."""
        names = _key_names(heads)
        return 0 if self._keys is None else sum(key is not None for key in self._keys.find_keys(names).values())

    def destroy_keys(self, heads: Iterable[bytes]) -> int:
        """Destroy the keys of blobs that begin like these; return how many there still were."""
        names = _key_names(heads)
        return self._keys.destroy_keys(names) if self._keys is not None and names else 0


def seal_blob(name: str, key: bytes, digest: str, data: bytes) -> Iterator[bytes]:
    """Seal a blob in parts. The same key and bytes give the same parts, so nothing is compressed."""
    yield MARK + name.encode() + b"\n"
    view = memoryview(data)
    for number, start in enumerate(range(0, len(data) or 1, PART_BYTES)):
        nonce = _nonce(number, is_last=start + PART_BYTES >= len(data))
        yield encrypt(key, nonce, view[start : start + PART_BYTES], digest.encode())


class BlobOpener:
    """Opens a sealed blob that is read in pieces of any size. RejectedError if it was changed or is not whole."""

    def __init__(self, key: bytes, digest: str) -> None:
        self._key = key
        self._digest = digest
        self._unopened = bytearray()
        self._number = 0
        self._is_begun = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Take a piece, and return the parts that it completes."""
        self._unopened += piece
        if not self._is_begun:
            header = HEADER.match(self._unopened)
            del self._unopened[: header.end() if header else 0]
            self._is_begun = True
        while len(self._unopened) > _SEALED_PART_BYTES:  # what may be the last part waits for `end`
            yield self._open(_SEALED_PART_BYTES, is_last=False)

    def end(self) -> bytes:
        """Return the last part."""
        return self._open(len(self._unopened), is_last=True)

    def _open(self, size: int, *, is_last: bool) -> bytes:
        nonce = _nonce(self._number, is_last=is_last)
        try:
            part = decrypt(self._key, nonce, self._unopened[:size], self._digest.encode())
        except DamagedValueError as error:
            raise RejectedError(f"blob {self._digest} has changed: it can't be opened with its key") from error
        del self._unopened[:size]
        self._number += 1
        return part


def _nonce(number: int, *, is_last: bool) -> bytes:
    """Differs for each part, and tells the last one, so that none can be left out."""
    return number.to_bytes(11, "big") + bytes([is_last])


def key_name(head: bytes) -> str | None:
    """Return the name of the key that sealed a blob which begins like this; None if it is plain.

    >>> key_name(b"recollect-sealed-1 0123456789abcdef/7\\n..."), key_name(b"%PDF-1.7")
    ('0123456789abcdef/7', None)
    """
    header = HEADER.match(head)
    return None if header is None else header[1].decode()


def _key_names(heads: Iterable[bytes]) -> set[str]:
    return {name for head in heads if (name := key_name(head)) is not None}
