"""Object stores (s3://, gs://, az://) for locks and blobs. Imported only where one is used."""

import os
import time
from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from pipeline.errors import OutageError

QUICK = timedelta(seconds=4)
_PATIENT = timedelta(seconds=15)
"""A store that was never written to may have to make room first."""
_PROBE = "doctor/probe"


def open_objects(
    uri: str, options: Mapping[str, str] | None = None, *, within: timedelta | None = None
) -> ObjectStore:
    """The store below this URI. `options` are LanceDB's: endpoint, region, access_key_id, …, allow_http.

    What they leave out is taken from the usual variables of the provider (AWS_…, GOOGLE_…, AZURE_…).
    `within`: for small objects; give up after that, rather than after minutes.
    """
    given = dict(options or {})
    # Given any option of its client, obstore no longer looks for this one in the environment.
    allow_http = given.pop("allow_http", os.environ.get("AWS_ALLOW_HTTP", ""))
    client: dict[str, bool | timedelta] = {"allow_http": allow_http.lower() in {"true", "1"}}
    retries: dict[str, int | timedelta] = {}
    if within is not None:
        client["timeout"] = within
        retries = {"max_retries": 3, "retry_timeout": within}
    store: ObjectStore = from_url(uri, config=given, client_options=client, retry_config=retries)  # type: ignore[call-overload]  # one overload per provider
    return store


def reason(error: BaseError) -> str:
    """Why a request failed, for people: without what the client adds for whoever debugs it."""
    return str(error).partition("\n\nDebug source")[0]


async def probed(uri: str, options: Mapping[str, str] | None = None) -> float:
    """Seconds to write, read and remove an object there; OutageError says what did not go.

    That it refuses to make an object that is there already is what leases stand on.
    """
    store, path, body = open_objects(uri, options, within=_PATIENT), f"{_PROBE}-{uuid4().hex}", b"recollect"
    began = time.perf_counter()
    try:
        await obstore.put_async(store, path, body, mode="create")
        read = bytes(await (await obstore.get_async(store, path)).bytes_async())
        refuses = await _refuses(store, path, body)
        await obstore.delete_async(store, path)
    except BaseError as error:
        raise OutageError(f"The object store at {uri} failed: {reason(error)}") from error
    if read != body or not refuses:
        raise OutageError(f"The object store at {uri} does not keep what it was given as it was given.")
    return time.perf_counter() - began


async def _refuses(store: ObjectStore, path: str, body: bytes) -> bool:
    try:
        await obstore.put_async(store, path, body, mode="create")
    except AlreadyExistsError:
        return True
    return False
