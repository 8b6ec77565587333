"""Conditional writes to an object store: compare and swap by etag, on the event loop and for threads."""

import time
from typing import Literal

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore

_REFUSALS = (PreconditionError, AlreadyExistsError)


async def replace_if_unchanged(store: ObjectStore, path: str, etag: str | None, body: bytes) -> tuple[str, float]:
    """Replace the object with this etag (None: create it); its new etag, and the time of the request.

    PreconditionError or AlreadyExistsError if the object has another etag.
    """
    started = time.monotonic()
    try:
        result = await obstore.put_async(store, path, body, mode=_mode(etag))
    except _REFUSALS:
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


def put_if_unchanged(store: ObjectStore, path: str, etag: str | None, body: bytes) -> bool:
    """Replace the object with this etag (None: create it) in a thread; False if the object has another etag."""
    try:
        obstore.put(store, path, body, mode=_mode(etag))
    except _REFUSALS:
        found = get_with_etag(store, path)  # as above
        return found is not None and found[1] == body
    return True


def get_with_etag(store: ObjectStore, path: str) -> tuple[str, bytes] | None:
    """Read etag and body of an object in a thread; None if it does not exist."""
    try:
        found = obstore.get(store, path)
        return str(found.meta["e_tag"]), bytes(found.bytes())
    except FileNotFoundError:
        return None


def _mode(etag: str | None) -> "Literal['create'] | obstore.UpdateVersion":
    return "create" if etag is None else {"e_tag": etag}
