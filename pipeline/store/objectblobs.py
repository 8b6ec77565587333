"""Claim checks at an object store: s3://, gs:// or az://."""

from hashlib import sha256

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from pipeline.errors import OutageError, RejectedError
from pipeline.store.blobs import HashedBlobs, blob_name
from pipeline.store.objects import reason
from schemas.events import BlobRef


class ObjectBlobs(HashedBlobs):
    """Objects named as `FolderBlobs` names files. Nothing is ever half there, so there is nothing to sweep.

    The same bytes are written again each time: that heals what was damaged, and to ask first costs as much.
    """

    def __init__(self, store: ObjectStore, uri: str) -> None:
        self._store = store
        self._uri = uri

    async def put(self, data: bytes, media_type: str) -> BlobRef:
        """Durable on return. OutageError when the object store can't be written."""
        ref = BlobRef(sha256=sha256(data).hexdigest(), size=len(data), media_type=media_type)
        try:
            await obstore.put_async(self._store, blob_name(ref.sha256), data)
        except BaseError as error:
            raise OutageError(f"A blob could not be written to {self._uri}: {reason(error)}") from error
        return ref

    async def get(self, ref: BlobRef) -> bytes:
        """The bytes; RejectedError when missing or of another hash, OutageError when unreachable."""
        name = blob_name(ref.sha256)
        try:
            data = bytes(await (await obstore.get_async(self._store, name)).bytes_async())
        except FileNotFoundError as error:
            raise RejectedError(f"blob {ref.sha256} is missing from {self._uri}") from error
        except BaseError as error:
            raise OutageError(f"A blob could not be read from {self._uri}: {reason(error)}") from error
        if sha256(data).hexdigest() != ref.sha256:
            raise RejectedError(f"blob {self._uri}/{name} has changed: its SHA-256 is no longer its name")
        return data
