"""Requests that wait when a service is busy, limits the rate or restarts, as long as its answer asks for."""

import time
from typing import Any

import httpx2

PATIENCE_SECONDS = 600.0
"""Longest wait for one request, all pauses together."""
DEFAULT_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
_TOO_MANY, _UNAVAILABLE = 429, frozenset({502, 503, 504})


def send_patiently(client: httpx2.Client, method: str, path: str, **options: Any) -> httpx2.Response:
    """Send a request that may be repeated; returns the last response after PATIENCE_SECONDS.

    Raises httpx2.TransportError if the service can't be reached for that long.
    """
    waited, pause = 0.0, DEFAULT_PAUSE_SECONDS
    while True:
        failure: httpx2.TransportError | None = None
        response: httpx2.Response | None = None
        try:
            response = client.request(method, path, **options)
        except httpx2.TransportError as error:
            failure = error
        if response is not None and response.status_code not in {_TOO_MANY, *_UNAVAILABLE}:
            return response
        asked = None if response is None else _retry_after(response)
        rest = min(asked or pause, MAX_PAUSE_SECONDS)
        if waited + rest > PATIENCE_SECONDS:
            if response is not None:
                return response
            raise failure or AssertionError
        time.sleep(rest)
        waited, pause = waited + rest, pause * 2


def _retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds of Retry-After; None without it, or where it is a date."""
    written = response.headers.get("retry-after", "")
    return float(written) if written.isdigit() and int(written) else None
