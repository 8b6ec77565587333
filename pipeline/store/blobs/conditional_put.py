"""Conditional writes to an object store: compare and swap by etag."""

import time

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore


async def replace_if_unchanged(store: ObjectStore, path: str, etag: str | None, body: bytes) -> tuple[str, float]:
    """Replace the object with this etag (None: create it); its new etag, and the time of the request.

    PreconditionError or AlreadyExistsError if the object has another etag.
    """
    started = time.monotonic()
    try:
        result = await obstore.put_async(store, path, body, mode="create" if etag is None else {"e_tag": etag})
    except (PreconditionError, AlreadyExistsError):
        # The object may be ours: if a response is lost, the client sends the same request again.
        found = await read_with_etag(store, path)
        if found is None or found[1] != body:
            raise
        return found[0], started
    return str(result["e_tag"]), started


async def read_with_etag(store: ObjectStore, path: str) -> tuple[str, bytes] | None:
    """Read etag and body of an object; None if it does not exist."""
    try:
        found = await obstore.get_async(store, path)
        return str(found.meta["e_tag"]), bytes(await found.bytes_async())
    except FileNotFoundError:
        return None
