"""Object stores (s3://, gs://, az://) for locks and blobs. Imported only where one is used."""

import os
from collections.abc import Mapping
from datetime import timedelta

from obstore.store import ObjectStore, from_url

_QUICK = timedelta(seconds=4)


def open_objects(uri: str, options: Mapping[str, str] | None = None, *, quick: bool = False) -> ObjectStore:
    """The store below this URI. `options` are LanceDB's: endpoint, region, access_key_id, …, allow_http.

    What they leave out is taken from the usual variables of the provider (AWS_…, GOOGLE_…, AZURE_…).
    `quick`: for small objects; give up after seconds rather than minutes.
    """
    given = dict(options or {})
    # Given any option of its client, obstore no longer looks for this one in the environment.
    allow_http = given.pop("allow_http", os.environ.get("AWS_ALLOW_HTTP", ""))
    client: dict[str, bool | timedelta] = {"allow_http": allow_http.lower() in {"true", "1"}}
    retries: dict[str, int | timedelta] = {}
    if quick:
        client["timeout"] = _QUICK
        retries = {"max_retries": 3, "retry_timeout": _QUICK}
    store: ObjectStore = from_url(uri, config=given, client_options=client, retry_config=retries)  # type: ignore[call-overload]  # one overload per provider
    return store
