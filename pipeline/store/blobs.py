"""Claim checks: content by SHA-256, durable before anybody may point to it."""

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time

from pipeline.errors import RejectedError
from schemas.events import BlobRef, Content
from schemas.limits import INLINE_BYTES

_NAME = re.compile(r"[0-9a-f]{64}")
_PART = ".part"
_STRAY_SECONDS = 3600


class HashedBlobs(ABC):
    """`ports.Blobs` but for where bytes are kept."""

    @abstractmethod
    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Durable on return."""

    @abstractmethod
    async def get(self, ref: BlobRef) -> bytes:
        """The bytes; RejectedError when they are missing or their hash differs."""

    async def pack(self, text: str) -> Content:
        """A text inline, or as a claim check above INLINE_BYTES of UTF-8."""
        data = text.encode()
        if len(data) <= INLINE_BYTES:
            return Content(text=text)
        return Content(blob=await self.put(data, BlobRef.model_fields["media_type"].default))

    async def text(self, content: Content) -> str:
        """The text of either; RejectedError when a blob is missing, changed or no UTF-8."""
        if content.text is not None:
            return content.text
        if content.blob is None:
            raise RejectedError("a content has neither text nor blob")
        data = await self.get(content.blob)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise RejectedError(f"blob {content.blob.sha256} is no UTF-8 text: {error}") from error


class FolderBlobs(HashedBlobs):
    """Files named `ab/cdef…` after their SHA-256; the same bytes are stored once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """On disk and synced on return. OSError when the folder can't be written."""
        return await asyncio.to_thread(self._put, data, media_type)

    async def get(self, ref: BlobRef) -> bytes:
        """The bytes; RejectedError when they are missing or their hash differs."""
        return await asyncio.to_thread(self._get, ref)

    async def sweep(self) -> int:
        """Remove what writers that died left unfinished over an hour ago; how many files went."""
        return await asyncio.to_thread(self._sweep)

    def _put(self, data: bytes, media_type: str) -> BlobRef:
        digest = sha256(data).hexdigest()
        path = self._folder / blob_name(digest)
        if not (path.exists() and path.read_bytes() == data):
            self._write(path, data)
        # Also when it was there: its writer may have died before this.
        _sync(path.parent)
        return BlobRef(sha256=digest, size=len(data), media_type=media_type)

    def _write(self, path: Path, data: bytes) -> None:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _sync(self._folder)
            _sync(self._folder.parent)
        with NamedTemporaryFile(dir=path.parent, suffix=_PART, delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)

    def _get(self, ref: BlobRef) -> bytes:
        path = self._folder / blob_name(ref.sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._folder}") from error
        if sha256(data).hexdigest() != ref.sha256:
            raise RejectedError(f"blob {path} has changed on disk: its SHA-256 is no longer its name")
        return data

    def _sweep(self) -> int:
        before = time() - _STRAY_SECONDS
        stray = [path for path in self._folder.glob(f"*/*{_PART}") if _is_older(path, before)]
        for path in stray:
            path.unlink(missing_ok=True)
        return len(stray)


def blob_name(digest: str) -> str:
    """Where a blob is kept, below wherever blobs are; RejectedError when this is no hash."""
    if not _NAME.fullmatch(digest):
        raise RejectedError(f"{digest!r} is no SHA-256 in lower-case hex, so no blob can be meant")
    return f"{digest[:2]}/{digest[2:]}"


async def open_blobs(uri: str, storage: Mapping[str, str] | None = None) -> HashedBlobs:
    """Blobs in a folder, or at an object store (s3://, gs://, az://) with its options."""
    if "://" in uri:
        # One process with its blobs in a folder has no use for an object store's client.
        from pipeline.store.objectblobs import ObjectBlobs  # noqa: PLC0415 - see above
        from pipeline.store.objects import open_objects  # noqa: PLC0415 - see above

        return ObjectBlobs(open_objects(uri, storage), uri)
    blobs = FolderBlobs(Path(uri))
    await blobs.sweep()
    return blobs


def _is_older(path: Path, limit: float) -> bool:
    try:
        return path.stat().st_mtime < limit
    except FileNotFoundError:
        return False  # another process has swept it, or finished it, since it was listed


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
