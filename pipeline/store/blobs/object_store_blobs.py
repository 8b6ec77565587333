"""Blobs at an object store: s3://, gs:// or az://."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from pipeline.errors import OutageError, RejectedError
from pipeline.ports import ContentKeys, DeletedBlobs
from pipeline.store.blobs import blob_store
from pipeline.store.blobs.blob_sealing import PART_BYTES
from pipeline.store.blobs.blob_store import ContentAddressedBlobs, blob_path, digest_of_path
from pipeline.store.blobs.object_store_client import error_summary
from schemas.events import BlobRef


class ObjectStoreBlobs(ContentAddressedBlobs):
    """Objects named like the files of `FolderBlobs`. Writes are atomic, so nothing needs sweeping.

    Equal bytes are written again each time: that repairs damaged objects, and checking first costs as much.
    """

    def __init__(self, store: ObjectStore, uri: str, keys: ContentKeys | None = None) -> None:
        super().__init__(keys)
        self._store = store
        self._uri = uri
        self._deletions: dict[str, asyncio.Event] = {}
        """Set when the deletion of the blob has ended, by digest. Only one process deletes."""

    async def _write(self, digest: str, data: bytes) -> None:
        while (deletion := self._deletions.get(digest)) is not None:
            await deletion.wait()  # a request to delete the object may arrive after one to write it
        head = await self._read_head(digest) if self._sealing.is_used else b""
        parts = await asyncio.to_thread(self._sealing.stored_parts, digest, data, head)
        try:
            await obstore.put_async(self._store, blob_path(digest), parts())
        except BaseError as error:
            raise OutageError(f"A blob could not be written to {self._uri}: {error_summary(error)}") from error

    async def delete(self, digests: Collection[str]) -> DeletedBlobs:
        """Delete as `ports.Blobs.delete`; OutageError if the object store cannot be written."""
        old = [digest for digest in digests if not await self._is_recent(digest)]
        deleted = {digest for digest in old if digest not in self._recent_puts}  # also those put meanwhile
        ended = asyncio.Event()
        self._deletions.update(dict.fromkeys(deleted, ended))
        try:
            heads = [await self._read_head(digest) for digest in deleted] if self._sealing.is_used else []
            keys = await asyncio.to_thread(self._sealing.destroy_keys, heads)
            await self._delete_objects(sorted(deleted))
        except BaseError as error:
            raise OutageError(f"Blobs could not be deleted from {self._uri}: {error_summary(error)}") from error
        finally:
            for digest in deleted:
                del self._deletions[digest]
            ended.set()
        return DeletedBlobs(deleted, keys)

    async def _is_recent(self, digest: str) -> bool:
        """Tell whether any process put the blob a moment ago."""
        try:
            meta = await obstore.head_async(self._store, blob_path(digest))
        except FileNotFoundError:
            return False
        except BaseError as error:
            raise OutageError(f"A blob could not be found at {self._uri}: {error_summary(error)}") from error
        return meta["last_modified"] > datetime.now(UTC) - timedelta(seconds=blob_store.RECENT_PUT_SECONDS)

    async def _delete_objects(self, digests: Sequence[str]) -> None:
        try:
            await obstore.delete_async(self._store, [blob_path(digest) for digest in digests])
        except FileNotFoundError:
            # Some stores say so of a batch where one is gone already, and have not deleted the others.
            for digest in digests:
                with suppress(FileNotFoundError):
                    await obstore.delete_async(self._store, blob_path(digest))

    async def digests_older_than(self, seconds: float) -> set[str]:
        """List as `ports.Blobs.digests_older_than`; OutageError if the object store cannot be read."""
        before = datetime.now(UTC) - timedelta(seconds=seconds)
        try:
            stored = [meta async for batch in obstore.list(self._store) for meta in batch]
        except BaseError as error:
            raise OutageError(f"The blobs of {self._uri} could not be listed: {error_summary(error)}") from error
        return {
            digest for meta in stored if meta["last_modified"] < before and (digest := digest_of_path(meta["path"]))
        }

    async def _read_parts(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        try:
            found = await obstore.get_async(self._store, blob_path(ref.sha256))
            async for part in found.stream(min_chunk_size=PART_BYTES):
                yield bytes(part)
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._uri}") from error
        except BaseError as error:
            raise OutageError(f"A blob could not be read from {self._uri}: {error_summary(error)}") from error
