"""One object at an object store, replaced on condition that nobody else did meanwhile."""

import time

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore


async def replaced(store: ObjectStore, path: str, etag: str | None, body: bytes) -> tuple[str, float]:
    """Replace the object with this etag (None: create it); its etag now, and when that was asked for.

    PreconditionError or AlreadyExistsError when it is another object.
    """
    began = time.monotonic()
    try:
        done = await obstore.put_async(store, path, body, mode="create" if etag is None else {"e_tag": etag})
    except (PreconditionError, AlreadyExistsError):
        # It may be our own: an answer can be lost, and the same request sent again.
        found = await look(store, path)
        if found is None or found[1] != body:
            raise
        return found[0], began
    return str(done["e_tag"]), began


async def look(store: ObjectStore, path: str) -> tuple[str, bytes] | None:
    """Etag and body of an object, if it is there."""
    try:
        found = await obstore.get_async(store, path)
        return str(found.meta["e_tag"]), bytes(await found.bytes_async())
    except FileNotFoundError:
        return None
