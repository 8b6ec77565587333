"""Rules: under which key a blob is sealed, and what opens one. Imports no cryptography before a blob is sealed."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pipeline.errors import RejectedError
from pipeline.ports import ContentKeys

if TYPE_CHECKING:
    from pipeline.store.blobs.sealed_blob import BlobOpener

PART_BYTES = 256 * 1024
"""Bytes of a blob that are in memory at once while it is streamed."""
MARK = b"recollect-sealed-1 "
HEADER = re.compile(re.escape(MARK) + rb"([0-9a-f]{16}/[0-9]{1,4})\n")
MAX_HEADER_BYTES = len(MARK) + 16 + 1 + 4 + 1
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
        from pipeline.store.blobs.sealed_blob import seal_blob  # noqa: PLC0415 - imports the cryptography

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
        from pipeline.store.blobs.sealed_blob import BlobOpener  # noqa: PLC0415 - imports the cryptography

        return BlobOpener(key, digest)

    def count_keys(self, heads: Iterable[bytes]) -> int:
        """Count the keys of blobs that begin like these, without those destroyed."""
        names = _key_names(heads)
        return 0 if self._keys is None else sum(key is not None for key in self._keys.find_keys(names).values())

    def destroy_keys(self, heads: Iterable[bytes]) -> int:
        """Destroy the keys of blobs that begin like these; return how many there still were."""
        names = _key_names(heads)
        return self._keys.destroy_keys(names) if self._keys is not None and names else 0


def key_name(head: bytes) -> str | None:
    """Return the name of the key that sealed a blob which begins like this; None if it is plain.

    >>> key_name(b"recollect-sealed-1 0123456789abcdef/7\\n..."), key_name(b"%PDF-1.7")
    ('0123456789abcdef/7', None)
    """
    header = HEADER.match(head)
    return None if header is None else header[1].decode()


def _key_names(heads: Iterable[bytes]) -> set[str]:
    return {name for head in heads if (name := key_name(head)) is not None}
