"""Blob store: content addressed by SHA-256, durable before anything refers to it."""

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic, time

from pipeline.errors import RejectedError
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync, write_atomically
from schemas.events import BlobRef, Content
from schemas.limits import MAX_INLINE_BYTES

_SHA256_PATTERN = re.compile(r"[0-9a-f]{64}")
PART_BYTES = 256 * 1024
"""Bytes of a blob that are in memory at once while it is streamed."""
_STRAY_FILE_SECONDS = 3600
RECENT_PUT_SECONDS = 60.0
"""Time in which an event that refers to a stored blob is published, at the latest."""


class RecentPuts:
    """Digests of blobs that this process is storing, or stored a moment ago."""

    def __init__(self) -> None:
        self._in_flight: Counter[str] = Counter()
        self._stored_at: dict[str, float] = {}
        self._lock = Lock()

    @contextmanager
    def storing(self, digest: str) -> Iterator[None]:
        """Note a blob that is stored within the block, however long that takes."""
        with self._lock:
            self._in_flight[digest] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight[digest] -= 1
                self._in_flight += Counter()  # drops what is at zero
                self._stored_at.pop(digest, None)
                self._stored_at[digest] = monotonic()
                self._forget_old()

    def __contains__(self, digest: str) -> bool:
        with self._lock:
            self._forget_old()
            return digest in self._in_flight or digest in self._stored_at

    def _forget_old(self) -> None:
        limit = monotonic() - RECENT_PUT_SECONDS
        while self._stored_at and self._stored_at[oldest := next(iter(self._stored_at))] <= limit:
            del self._stored_at[oldest]


class ContentAddressedBlobs(ABC):
    """`ports.Blobs`, except for where the bytes are kept."""

    @abstractmethod
    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Store the bytes; durable on return."""

    @abstractmethod
    async def get(self, ref: BlobRef) -> bytes:
        """Read the bytes; RejectedError if they are missing or their hash differs."""

    async def stream(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Read the bytes in parts, in little memory. RejectedError if they are missing, or if their hash differs.

        The last part comes only once the hash is known, so changed bytes are never read to their end.
        """
        digest, held = sha256(), b""
        async with aclosing(self._read_parts(ref)) as parts:
            async for part in parts:
                if held:
                    yield held
                digest.update(part)
                held = part
        if digest.hexdigest() != ref.sha256:
            raise RejectedError(f"blob {ref.sha256} has changed: its SHA-256 is no longer its name")
        yield held

    @abstractmethod
    def _read_parts(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Read the bytes in parts; RejectedError if they are missing."""

    @abstractmethod
    async def delete(self, digests: Collection[str]) -> set[str]:
        """Delete blobs that no event refers to; return those gone now.

        One that was put a moment ago stays: an event that refers to it may be on its way.
        """

    @abstractmethod
    async def digests_older_than(self, seconds: float) -> set[str]:
        """Return the blobs that were last put before so many seconds."""

    async def store_text(self, text: str) -> Content:
        """Keep a text inline, or as a claim check above MAX_INLINE_BYTES of UTF-8."""
        data = text.encode()
        if len(data) <= MAX_INLINE_BYTES:
            return Content(text=text)
        return Content(blob=await self.put(data, BlobRef.model_fields["media_type"].default))

    async def load_text(self, content: Content) -> str:
        """Load a text, inline or not; RejectedError if its blob is missing, changed or not UTF-8."""
        if content.text is not None:
            return content.text
        if content.blob is None:
            raise RejectedError("The content has neither text nor blob.")
        data = await self.get(content.blob)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise RejectedError(f"Blob {content.blob.sha256} is not UTF-8 text: {error}") from error


class FolderBlobs(ContentAddressedBlobs):
    """Files named `ab/cdef…` after their SHA-256; equal bytes are stored once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recent_puts = RecentPuts()

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Store the bytes; durable on return. OSError if the folder cannot be written."""
        return await asyncio.to_thread(self._put, data, media_type)

    async def get(self, ref: BlobRef) -> bytes:
        return await asyncio.to_thread(self._get, ref)

    async def _read_parts(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        try:
            file = await asyncio.to_thread((self._folder / blob_path(ref.sha256)).open, "rb")
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._folder}") from error
        with file:
            while part := await asyncio.to_thread(file.read, PART_BYTES):
                yield part

    async def delete(self, digests: Collection[str]) -> set[str]:
        return await asyncio.to_thread(self._delete, digests)

    async def digests_older_than(self, seconds: float) -> set[str]:
        return await asyncio.to_thread(self._digests_older_than, seconds)

    async def delete_stray_files(self) -> int:
        """Delete unfinished files of dead writers, older than an hour; returns their number."""
        return await asyncio.to_thread(self._delete_stray_files)

    def _put(self, data: bytes, media_type: str) -> BlobRef:
        digest = sha256(data).hexdigest()
        path = self._folder / blob_path(digest)
        with self._recent_puts.storing(digest):
            try:
                is_stored = path.read_bytes() == data
                os.utime(path)  # `digests_older_than` counts from here
            except FileNotFoundError:
                is_stored = False
            if not is_stored:
                self._write(path, data)
            # Needed even if the file existed: its writer may have died before this step.
            fsync(path.parent)
        return BlobRef(sha256=digest, size=len(data), media_type=media_type)

    def _write(self, path: Path, data: bytes) -> None:
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fsync(self._folder)
            fsync(self._folder.parent)
        write_atomically(path, data)

    def _get(self, ref: BlobRef) -> bytes:
        path = self._folder / blob_path(ref.sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._folder}") from error
        if sha256(data).hexdigest() != ref.sha256:
            raise RejectedError(f"blob {path} has changed on disk: its SHA-256 is no longer its name")
        return data

    def _delete(self, digests: Collection[str]) -> set[str]:
        deleted = {digest for digest in digests if self._delete_file(digest)}
        for folder in {(self._folder / blob_path(digest)).parent for digest in deleted}:
            if folder.exists():
                fsync(folder)
        return deleted

    def _delete_file(self, digest: str) -> bool:
        """Delete a blob unless it is being stored; hidden first, as its next writer may have seen it there."""
        path = self._folder / blob_path(digest)
        hidden = path.with_name(path.name + TEMPORARY_SUFFIX)
        if digest in self._recent_puts:
            return False
        with suppress(FileNotFoundError):  # an earlier round was killed half-way
            path.rename(hidden)
            # Another process sets the time of a file that it finds; one that finds none writes it.
            if digest in self._recent_puts or not _is_older(hidden, time() - RECENT_PUT_SECONDS):
                hidden.rename(path)
                return False
            hidden.unlink()
        return True

    def _digests_older_than(self, seconds: float) -> set[str]:
        before = time() - seconds
        stored = ((digest_of_path(path.as_posix()), path) for path in self._folder.glob("??/*"))
        return {digest for digest, path in stored if digest is not None and _is_older(path, before)}

    def _delete_stray_files(self) -> int:
        before = time() - _STRAY_FILE_SECONDS
        stray = [path for path in self._folder.glob(f"*/*{TEMPORARY_SUFFIX}") if _is_older(path, before)]
        for path in stray:
            path.unlink(missing_ok=True)
        return len(stray)


def digest_of_path(path: str) -> str | None:
    """Return the digest of the blob at a path below its store; None if no blob is kept there.

    >>> digest_of_path("ab/" + "c" * 62) == "ab" + "c" * 62, digest_of_path("tables/x")
    (True, None)
    """
    digest = "".join(path.rsplit("/", 2)[-2:])
    return digest if _SHA256_PATTERN.fullmatch(digest) else None


def is_content_of(content: Content, text: str) -> bool:
    """Tell whether a content is this text, inline or by its hash; nothing is read.

    >>> is_content_of(Content(text="Ada"), "Ada"), is_content_of(Content(text="Ada"), "Ben")
    (True, False)
    """
    if content.blob is None:
        return content.text == text
    return content.blob.sha256 == sha256(text.encode()).hexdigest()


def blob_path(digest: str) -> str:
    """Path of a blob below its store; RejectedError if `digest` is not a SHA-256."""
    if not _SHA256_PATTERN.fullmatch(digest):
        raise RejectedError(f"{digest!r} is not a SHA-256 in lower-case hex, so it cannot name a blob.")
    return f"{digest[:2]}/{digest[2:]}"


def _is_older(path: Path, limit: float) -> bool:
    try:
        return path.stat().st_mtime < limit
    except FileNotFoundError:
        return False  # deleted or completed by another process since it was listed
