"""`ports.Fetcher`: guarded download of the URLs that callers submit.

Every connection, also after a redirect, goes to an address that was resolved and checked here, so DNS
rebinding changes nothing. Proxies, cookies and credentials of the environment are ignored.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from email.message import Message
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from ssl import SSLContext
from urllib.parse import unquote, urlsplit

import httpx2

from pipeline.errors import ParsingError, RetryableError, reason_of
from pipeline.parsing.file_types import KIND_BY_EXTENSION, KIND_BY_MIME_TYPE, file_extension, printable_name
from schemas.address_secrets import mask_secrets
from schemas.events import BlobRef, Upload
from schemas.limits import FETCH_TIMEOUT_SECONDS, MAX_FETCH_BYTES
from schemas.public_addresses import Address, is_public

MAX_REDIRECTS = 5
USER_AGENT = "recollect/0.1 (+self-hosted memory service; fetches URLs its users submit)"
ACCEPT_HEADER = "text/html, text/markdown, text/plain, application/pdf, application/json, text/*;q=0.8, */*;q=0.5"
_GENERIC_MIME_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
_RETRYABLE_STATUSES = frozenset({408, 425, 429})

Resolver = Callable[[str, int], Awaitable[list[Address]]]


class HttpFetcher:
    """HTTP client for public addresses with limits on decompressed bytes and total time."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        max_bytes: int = MAX_FETCH_BYTES,
        timeout_seconds: float = FETCH_TIMEOUT_SECONDS,
        resolver: Resolver | None = None,
        is_allowed: Callable[[Address], bool] | None = None,
    ) -> None:
        """`is_allowed` decides on addresses; default: public ones, or all with `allow_private`."""
        address_rule = is_allowed or ((lambda _: True) if allow_private else is_public)
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(resolver or resolve_host, address_rule),
            headers={"User-Agent": USER_AGENT, "Accept": ACCEPT_HEADER},
            follow_redirects=False,
            trust_env=False,
            timeout=httpx2.Timeout(timeout_seconds, connect=min(timeout_seconds, 10.0)),
        )

    async def fetch(self, url: str) -> tuple[bytes, Upload]:
        """Return the body with its MIME type and filename; ParsingError or RetryableError on failure."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._fetch_following_redirects(url)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise RetryableError(f"{mask_secrets(url)} did not answer within {self._timeout_seconds:g} s.") from error
        except httpx2.TransportError as error:
            raise RetryableError(f"{mask_secrets(url)} could not be reached: {reason_of(error)}.") from error
        except (httpx2.InvalidURL, httpx2.DecodingError, ValueError) as error:
            raise ParsingError(f"{mask_secrets(url)} can't be fetched: {error}.") from error

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _fetch_following_redirects(self, url: str) -> tuple[bytes, Upload]:
        current = _validated_url(url)
        for _ in range(MAX_REDIRECTS + 1):
            self._client.cookies.clear()
            async with self._client.stream("GET", current) as response:
                if not response.has_redirect_location:
                    return await self._read_body(response)
                current = _validated_url(str(response.url.join(response.headers["location"])))
        raise ParsingError(f"{mask_secrets(url)} redirects more than {MAX_REDIRECTS} times. Give the final address.")

    async def _read_body(self, response: httpx2.Response) -> tuple[bytes, Upload]:
        _raise_for_status(response)
        mime, name = _mime_type_and_filename(response)
        data = bytearray()
        async for part in response.aiter_bytes():
            data += part
            if len(data) > self._max_bytes:
                raise ParsingError(
                    f"{_shown(response)} is larger than {self._max_bytes:,} bytes. Send a part of it as a file."
                )
        blob = BlobRef(sha256=sha256(data).hexdigest(), size=len(data), media_type=mime or "text/plain")
        return bytes(data), Upload(blob=blob, filename=name, mime_type=mime or None)


@cache
def tls_context() -> SSLContext:
    """Load the certificates of the system or of `SSL_CERT_FILE` once per process: there are more than a hundred."""
    return httpx2.create_ssl_context()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Transport that connects only to addresses it has checked; TLS still verifies the host name."""

    def __init__(self, resolver: Resolver, is_allowed: Callable[[Address], bool]) -> None:
        self._resolver = resolver
        self._is_allowed = is_allowed
        # No keep-alive: the pool would reuse a connection by its address for another host's name.
        self._inner = httpx2.AsyncHTTPTransport(
            verify=tls_context(), limits=httpx2.Limits(max_connections=32, max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to an allowed address of its host."""
        host = request.url.host
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        address = await resolve_allowed(host, port, self._resolver, self._is_allowed)
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=str(address)),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def resolve_allowed(host: str, port: int, resolver: Resolver, is_allowed: Callable[[Address], bool]) -> Address:
    """Resolve a host to an allowed address; ParsingError if it has none, or any other."""
    addresses = await resolver(host, port)
    # A host with even one private address is suspicious: refuse it.
    if not all(is_allowed(address) for address in addresses):
        raise ParsingError(
            f"{host} leads to a private or reserved address, which this service does not fetch. "
            "Send the content itself."
        )
    if not addresses:
        raise ParsingError(f"{host} has no address. Check the URL.")
    return addresses[0]


async def resolve_host(host: str, port: int) -> list[Address]:
    """Resolve all addresses of a host; RetryableError for a temporary DNS failure."""
    try:
        return [ip_address(host)]
    except ValueError:
        pass
    try:
        entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise RetryableError(f"{host} could not be resolved: {error.strerror}.") from error
        raise ParsingError(f"{host} has no address ({error.strerror}). Check the URL.") from error
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries))


def _validated_url(url: str) -> httpx2.URL:
    parts = urlsplit(url)
    if parts.scheme.lower() not in {"http", "https"}:
        raise ParsingError(f"{mask_secrets(url)} is not an http or https address.")
    if parts.username is not None or parts.password is not None:
        raise ParsingError("The URL carries credentials, which this service does not use. Remove them.")
    if not parts.hostname:
        raise ParsingError(f"{mask_secrets(url)} names no host.")
    return httpx2.URL(url)


def _phrase(status: int) -> str:
    """Return what a status means; not the server's own words, which are shown beside ours."""
    return f" {HTTPStatus(status).phrase}" if status in set(HTTPStatus) else ""


def _shown(response: httpx2.Response) -> str:
    return mask_secrets(str(response.url))


def _raise_for_status(response: httpx2.Response) -> None:
    status = response.status_code
    if status >= 500 or status in _RETRYABLE_STATUSES:
        raise RetryableError(f"{_shown(response)} answered {status}.")
    if status >= 400 or status == 204:
        raise ParsingError(f"{_shown(response)} answered {status}{_phrase(status)}. Check the address.")


def _mime_type_and_filename(response: httpx2.Response) -> tuple[str, str | None]:
    """Return the MIME type and the filename; ParsingError for an unsupported type."""
    full = response.headers.get("content-type", "").strip()
    mime = full.partition(";")[0].strip().lower()
    name = _filename(response)
    supported = mime in KIND_BY_MIME_TYPE or mime.startswith(("text/", "image/", "audio/")) or mime.endswith("+json")
    if not supported and not (mime in _GENERIC_MIME_TYPES and (not name or file_extension(name) in KIND_BY_EXTENSION)):
        raise ParsingError(f"{_shown(response)} is of type {mime}, which is not supported.")
    # No filename for web pages: their title is better than the last part of the URL.
    return full, None if KIND_BY_MIME_TYPE.get(mime) == "webpage" else name


def _filename(response: httpx2.Response) -> str | None:
    """Return the name in Content-Disposition, else the last part of the path if it has an extension."""
    header = Message()
    header["Content-Disposition"] = response.headers.get("content-disposition", "")
    name = header.get_filename() or unquote(response.url.path.rsplit("/", 1)[-1])
    return printable_name(name) if "." in name else None
