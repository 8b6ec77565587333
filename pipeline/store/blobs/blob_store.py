"""Blob store: content addressed by SHA-256, durable before anything refers to it."""

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic, time
from typing import BinaryIO

from pipeline.errors import OutageError, RejectedError
from pipeline.ports import Blobs, ContentKeys, DeletedBlobs
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX, fsync, write_atomically
from pipeline.runtime.local_locks import LocalLocks
from pipeline.store.blobs.blob_sealing import MAX_HEADER_BYTES, PART_BYTES, BlobSealing
from schemas.events import BlobRef, Content
from schemas.limits import MAX_INLINE_BYTES

_SHA256_PATTERN = re.compile(r"[0-9a-f]{64}")
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


class ContentAddressedBlobs(Blobs, ABC):
    """Blobs, except for where the bytes are kept. With keys, each blob is sealed under one of its own."""

    def __init__(self, keys: ContentKeys | None) -> None:
        self._sealing = BlobSealing(keys)
        self._recent_puts = RecentPuts()
        self._locks = LocalLocks()

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Store the bytes; durable on return. OSError or OutageError if they can't be written."""
        digest = await asyncio.to_thread(_digest_of, data)
        # One at a time: equal bytes are sealed under one key.
        async with self._locks.acquire(digest):
            with self._recent_puts.storing(digest):
                await self._write(digest, data)
        return BlobRef(sha256=digest, size=len(data), media_type=media_type)

    @abstractmethod
    async def _write(self, digest: str, data: bytes) -> None:
        """Store bytes under their digest; durable on return."""

    async def get(self, ref: BlobRef) -> bytes:
        """Read the bytes; RejectedError if they are missing or their hash differs."""
        return b"".join([part async for part in self.stream(ref)])

    async def stream(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Read the bytes in parts, in little memory. RejectedError if they are missing, or if their hash differs.

        The last part comes only once the hash is known, so changed bytes are never read to their end.
        """
        digest, held = sha256(), b""
        async with aclosing(self._read_opened(ref)) as parts:
            async for part in parts:
                if held:
                    yield held
                digest.update(part)
                held = part
        if digest.hexdigest() != ref.sha256:
            raise RejectedError(f"blob {ref.sha256} has changed: its SHA-256 is no longer its name")
        yield held

    async def _read_opened(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._read_parts(ref)) as parts:
            first = await anext(parts, b"")
            opener = (
                await asyncio.to_thread(self._sealing.opener, ref.sha256, first[:MAX_HEADER_BYTES])
                if self._sealing.is_used
                else None
            )
            if opener is None:
                yield first
                async for part in parts:
                    yield part
                return
            for opened in opener.feed(first):
                yield opened
            async for part in parts:
                for opened in opener.feed(part):
                    yield opened
            yield opener.end()

    @abstractmethod
    def _read_parts(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Read what is stored in parts, the first with all of a header; RejectedError if it is missing."""

    async def count_keys(self, digests: Collection[str]) -> int:
        """Count the keys that a deletion of these blobs would destroy."""
        if not self._sealing.is_used:
            return 0
        heads = [await self._read_head(digest) for digest in digests]
        return await asyncio.to_thread(self._sealing.count_keys, heads)

    async def _read_head(self, digest: str) -> bytes:
        """Read the first bytes, in which a header would be; none if the blob is missing."""
        with suppress(RejectedError):
            async with aclosing(self._read_parts(BlobRef(sha256=digest, size=0))) as parts:
                return (await anext(parts, b""))[:MAX_HEADER_BYTES]
        return b""

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
    """Files named `ab/cdef…` after the SHA-256 of what they hold; equal bytes are stored once."""

    def __init__(self, folder: Path, keys: ContentKeys | None = None) -> None:
        super().__init__(keys)
        self._folder = folder

    async def _write(self, digest: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(self._store_file, digest, data)
        except OSError as error:
            raise OutageError(f"{self._folder} can't be written: {error.strerror or error}.") from error

    async def _read_parts(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        try:
            file = _open_file(self._folder / blob_path(ref.sha256))
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._folder}") from error
        with file:
            while part := await asyncio.to_thread(file.read, PART_BYTES):
                yield part

    async def delete(self, digests: Collection[str]) -> DeletedBlobs:
        return await asyncio.to_thread(self._delete, digests)

    async def digests_older_than(self, seconds: float) -> set[str]:
        return await asyncio.to_thread(self._digests_older_than, seconds)

    async def delete_stray_files(self) -> int:
        """Delete unfinished files of dead writers and deletions, older than an hour; returns their number."""
        return await asyncio.to_thread(self._delete_stray_files)

    def _store_file(self, digest: str, data: bytes) -> None:
        path = self._folder / blob_path(digest)
        parts = self._sealing.stored_parts(digest, data, _head_of(path))
        if _holds(path, parts()):
            os.utime(path)  # `digests_older_than` counts from here
        else:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                fsync(self._folder)
                fsync(self._folder.parent)
            write_atomically(path, parts())
        # Needed even if the file existed: its writer may have died before this step.
        fsync(path.parent)

    def _delete(self, digests: Collection[str]) -> DeletedBlobs:
        hidden = {digest: path for digest in digests if (path := self._hide(digest)) is not None}
        keys = self._sealing.destroy_keys(_head_of(path) for path in hidden.values())
        for path in hidden.values():
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in hidden.values()}:
            if folder.exists():
                fsync(folder)
        return DeletedBlobs(hidden.keys(), keys)

    def _hide(self, digest: str) -> Path | None:
        """Hide a blob before its deletion, as its next writer may have seen it there; None if it is being stored."""
        path = self._folder / blob_path(digest)
        hidden = path.with_name(path.name + TEMPORARY_SUFFIX)
        if digest in self._recent_puts:
            return None
        with suppress(FileNotFoundError):  # an earlier round was killed half-way, and may have hidden it
            path.rename(hidden)
            # Another process sets the time of a file that it finds; one that finds none writes it.
            if digest in self._recent_puts or not _is_older(hidden, time() - RECENT_PUT_SECONDS):
                hidden.rename(path)
                return None
        return hidden

    def _digests_older_than(self, seconds: float) -> set[str]:
        before = time() - seconds
        stored = ((digest_of_path(path.as_posix()), path) for path in self._folder.glob("??/*"))
        return {digest for digest, path in stored if digest is not None and _is_older(path, before)}

    def _delete_stray_files(self) -> int:
        before = time() - _STRAY_FILE_SECONDS
        stray = [path for path in self._folder.glob(f"*/*{TEMPORARY_SUFFIX}") if _is_older(path, before)]
        self._sealing.destroy_keys(_head_of(path) for path in stray)
        for path in stray:
            path.unlink(missing_ok=True)
        return len(stray)


async def open_blobs(
    uri: str, storage: Mapping[str, str] | None = None, keys: ContentKeys | None = None
) -> ContentAddressedBlobs:
    """Open blobs in a folder, or at an object store (s3://, gs://, az://) with its options; `keys` seal them."""
    if "://" in uri:
        # A process with its blobs in a folder does not load an object store's client.
        from pipeline.store.blobs.object_store_blobs import ObjectStoreBlobs  # noqa: PLC0415 - see above
        from pipeline.store.blobs.object_store_client import open_object_store  # noqa: PLC0415 - see above

        return ObjectStoreBlobs(open_object_store(uri, storage), uri, keys)
    blobs = FolderBlobs(Path(uri), keys)
    await blobs.delete_stray_files()
    return blobs


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


def _digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def _open_file(path: Path) -> BinaryIO:
    """Open a file, not in a thread: if its task were cancelled meanwhile, nobody would close what the thread opens."""
    return path.open("rb")


def _head_of(path: Path) -> bytes:
    """Read the first bytes of a file, in which a header would be; none if it is missing."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _holds(path: Path, parts: Iterable[bytes]) -> bool:
    """Tell whether a file holds these bytes."""
    try:
        with path.open("rb") as file:
            return all(file.read(len(part)) == part for part in parts) and not file.read(1)
    except FileNotFoundError:
        return False


def _is_older(path: Path, limit: float) -> bool:
    try:
        return path.stat().st_mtime < limit
    except FileNotFoundError:
        return False  # deleted or completed by another process since it was listed
