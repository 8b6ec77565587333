"""Format of a sealed blob: a line that names its key, then its parts, sealed with AES-GCM under that key in order."""

from collections.abc import Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipeline.errors import RejectedError
from pipeline.store.blobs.blob_sealing import HEADER, MARK, PART_BYTES

_TAG_BYTES = 16
_SEALED_PART_BYTES = PART_BYTES + _TAG_BYTES


def seal_blob(name: str, key: bytes, digest: str, data: bytes) -> Iterator[bytes]:
    """Seal a blob in parts. The same key and bytes give the same parts, so nothing is compressed."""
    yield MARK + name.encode() + b"\n"
    cipher, view = AESGCM(key), memoryview(data)
    for number, start in enumerate(range(0, len(data) or 1, PART_BYTES)):
        nonce = _nonce(number, is_last=start + PART_BYTES >= len(data))
        yield cipher.encrypt(nonce, view[start : start + PART_BYTES], digest.encode())


class BlobOpener:
    """Opens a sealed blob that is read in pieces of any size. RejectedError if it was changed or is not whole."""

    def __init__(self, key: bytes, digest: str) -> None:
        self._cipher = AESGCM(key)
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
            part = self._cipher.decrypt(nonce, self._unopened[:size], self._digest.encode())
        except InvalidTag as error:
            raise RejectedError(f"blob {self._digest} has changed: it can't be opened with its key") from error
        del self._unopened[:size]
        self._number += 1
        return part


def _nonce(number: int, *, is_last: bool) -> bytes:
    """Differs for each part, and tells the last one, so that none can be left out."""
    return number.to_bytes(11, "big") + bytes([is_last])
