"""A request over a connection of its own."""

import ssl
from functools import cache
from typing import Any

import httpx2


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the trusted certificates anew takes more than a request."""
    return ssl.create_default_context()


def request(url: str, key: str, method: str, path: str, **options: Any) -> httpx2.Response:
    """The answer to whoever has this key."""
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.request(method, url + path, headers=headers, verify=_trusted(), **options)
