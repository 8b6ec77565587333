"""Object store client (s3://, gs://, az://) for locks and blobs. Imported only where one is used."""

import os
import time
from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from pipeline.errors import OutageError

SHORT_TIMEOUT = timedelta(seconds=4)
_LONG_TIMEOUT = timedelta(seconds=15)
"""Allows for a store that creates its bucket on the first write."""
_PROBE_PREFIX = "doctor/probe"


def open_object_store(
    uri: str, options: Mapping[str, str] | None = None, *, timeout: timedelta | None = None
) -> ObjectStore:
    """Open the store below this URI. `options` are LanceDB's: endpoint, region, access_key_id, allow_http…

    Missing options are taken from the provider's environment variables (AWS_…, GOOGLE_…, AZURE_…).
    `timeout`: give up after it, for small objects, instead of after minutes.
    """
    remaining = dict(options or {})
    # If given any client option, obstore no longer reads this one from the environment.
    allow_http = remaining.pop("allow_http", os.environ.get("AWS_ALLOW_HTTP", ""))
    client: dict[str, bool | timedelta] = {"allow_http": allow_http.lower() in {"true", "1"}}
    retries: dict[str, int | timedelta] = {}
    if timeout is not None:
        client["timeout"] = timeout
        retries = {"max_retries": 3, "retry_timeout": timeout}
    store: ObjectStore = from_url(uri, config=remaining, client_options=client, retry_config=retries)  # type: ignore[call-overload]  # one overload per provider
    return store


def error_summary(error: BaseError) -> str:
    """Reason of a failed request, without the client's debugging details."""
    return str(error).partition("\n\nDebug source")[0]


async def probe_object_store(uri: str, options: Mapping[str, str] | None = None) -> float:
    """Seconds to write, read and delete an object; OutageError names the step that failed.

    Leases rely on the store refusing to create an object that exists, so that is verified as well.
    """
    store, path, body = (
        open_object_store(uri, options, timeout=_LONG_TIMEOUT),
        f"{_PROBE_PREFIX}-{uuid4().hex}",
        b"recollect",
    )
    started = time.perf_counter()
    try:
        await obstore.put_async(store, path, body, mode="create")
        read = bytes(await (await obstore.get_async(store, path)).bytes_async())
        refuses = await _refuses_overwrite(store, path, body)
        await obstore.delete_async(store, path)
    except BaseError as error:
        raise OutageError(f"The object store at {uri} failed: {error_summary(error)}") from error
    if read != body or not refuses:
        raise OutageError(f"The object store at {uri} does not keep objects as they were written.")
    return time.perf_counter() - started


async def _refuses_overwrite(store: ObjectStore, path: str, body: bytes) -> bool:
    try:
        await obstore.put_async(store, path, body, mode="create")
    except AlreadyExistsError:
        return True
    return False
