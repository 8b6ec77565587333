"""`ports.Fetcher`: the one guarded way out, for URLs that callers give as content.

Every connection, also after a redirect, goes to an address that was resolved and checked here, so a name that
resolves differently a moment later changes nothing. Nothing is taken from the environment: no proxy, no
cookies, no credentials.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from email.message import Message
from functools import cache
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from ssl import SSLContext
from urllib.parse import unquote, urlsplit

import httpx2

from pipeline.errors import ExtractionError, RetryableError
from pipeline.extraction.kinds import EXTENSIONS, MIME_TYPES, extension
from schemas.events import BlobRef, Upload
from schemas.limits import FETCH_BYTES, FETCH_SECONDS

REDIRECTS = 5
USER_AGENT = "recollect/0.1 (+self-hosted memory service; fetches URLs its users submit)"
ACCEPT = "text/html, text/markdown, text/plain, application/pdf, application/json, text/*;q=0.8, */*;q=0.5"
_OPAQUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
_RETRYABLE = frozenset({408, 425, 429})
_NAT64_NETWORK = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[Address]]]


class HttpFetcher:
    """http(s) URLs to bytes: public addresses only, `limit` bytes decompressed, `seconds` in all."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        limit: int = FETCH_BYTES,
        seconds: float = FETCH_SECONDS,
        resolve: Resolve | None = None,
        permits: Callable[[Address], bool] | None = None,
    ) -> None:
        """`permits` decides about addresses; by default the public ones, or all with `allow_private`."""
        chosen = permits or (_anything if allow_private else is_public)
        self._limit = limit
        self._seconds = seconds
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(resolve or resolved, chosen),
            headers={"User-Agent": USER_AGENT, "Accept": ACCEPT},
            follow_redirects=False,
            trust_env=False,
            timeout=httpx2.Timeout(seconds, connect=min(seconds, 10.0)),
        )

    async def fetch(self, url: str) -> tuple[bytes, Upload]:
        """The body and how it describes itself."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(url)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise RetryableError(f"{url} did not answer within {self._seconds:g} s.") from error
        except httpx2.TransportError as error:
            raise RetryableError(
                f"{url} could not be reached: {str(error) or type(error).__name__}."
            ) from error
        except (httpx2.InvalidURL, httpx2.DecodingError, ValueError) as error:
            raise ExtractionError(f"{url} can't be fetched: {error}.") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _follow(self, url: str) -> tuple[bytes, Upload]:
        current = _checked(url)
        for _ in range(REDIRECTS + 1):
            self._client.cookies.clear()
            async with self._client.stream("GET", current) as response:
                if not response.has_redirect_location:
                    return await self._body(response)
                current = _checked(str(response.url.join(response.headers["location"])))
        raise ExtractionError(f"{url} redirects more than {REDIRECTS} times. Give the final address.")

    async def _body(self, response: httpx2.Response) -> tuple[bytes, Upload]:
        _accept_status(response)
        mime, name = _described(response)
        data = bytearray()
        async for part in response.aiter_bytes():
            data += part
            if len(data) > self._limit:
                raise ExtractionError(
                    f"{response.url} is larger than {self._limit:,} bytes. Send a part of it as a file."
                )
        blob = BlobRef(sha256=sha256(data).hexdigest(), size=len(data), media_type=mime or "text/plain")
        return bytes(data), Upload(blob=blob, filename=name, mime_type=mime or None)


@cache
def trusted() -> SSLContext:
    """Who is believed to be who they say; read once in a process: it is a hundred certificates."""
    return httpx2.create_ssl_context(trust_env=False)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Resolves a host itself and connects to the very address it has checked; TLS still checks the name."""

    def __init__(self, resolve: Resolve, permits: Callable[[Address], bool]) -> None:
        self._resolve = resolve
        self._permits = permits
        # No connection is kept: it would be found again by its address, under another host's name.
        self._inner = httpx2.AsyncHTTPTransport(
            verify=trusted(), limits=httpx2.Limits(max_connections=32, max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request, to an address that passed."""
        host = request.url.host
        address = await self._address(
            host, request.url.port or (443 if request.url.scheme == "https" else 80)
        )
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=str(address)),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    async def _address(self, host: str, port: int) -> Address:
        addresses = await self._resolve(host, port)
        # One private address among public ones is a name that tries its luck: refuse it as a whole.
        if not all(self._permits(address) for address in addresses):
            raise ExtractionError(
                f"{host} leads to a private or reserved address, which this service does not fetch. "
                "Send the content itself."
            )
        if not addresses:
            raise ExtractionError(f"{host} has no address. Check the URL.")
        return addresses[0]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also when it is an IPv4 address in IPv6 clothes."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or _embedded(address)
        if inner is not None and not is_public(inner):
            return False
    return address.is_global and not address.is_multicast


def _anything(_: Address) -> bool:
    return True


async def resolved(host: str, port: int) -> list[Address]:
    """All addresses of a host; RetryableError when names can't be resolved right now."""
    try:
        return [ip_address(host)]
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise RetryableError(f"{host} could not be resolved: {error.strerror}.") from error
        raise ExtractionError(f"{host} has no address ({error.strerror}). Check the URL.") from error
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in a NAT64 or Teredo address, or in a deprecated IPv4-compatible one."""
    if address in _NAT64_NETWORK or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.teredo[1] if address.teredo else None


def _checked(url: str) -> httpx2.URL:
    parts = urlsplit(url)
    if parts.scheme.lower() not in {"http", "https"}:
        raise ExtractionError(f"{url} is not an http or https address.")
    if parts.username is not None or parts.password is not None:
        raise ExtractionError("The URL carries credentials, which this service does not use. Remove them.")
    if not parts.hostname:
        raise ExtractionError(f"{url} names no host.")
    return httpx2.URL(url)


def _accept_status(response: httpx2.Response) -> None:
    status = response.status_code
    if status >= 500 or status in _RETRYABLE:
        raise RetryableError(f"{response.url} answered {status}.")
    if status >= 400 or status == 204:
        raise ExtractionError(
            f"{response.url} answered {status} {response.reason_phrase}. Check the address."
        )


def _described(response: httpx2.Response) -> tuple[str, str | None]:
    """The MIME type and the filename; ExtractionError for a type that is not supported."""
    full = response.headers.get("content-type", "").strip()
    mime = full.partition(";")[0].strip().lower()
    name = _filename(response)
    supported = mime in MIME_TYPES or mime.startswith(("text/", "image/", "audio/")) or mime.endswith("+json")
    if not supported and not (mime in _OPAQUE and (not name or extension(name) in EXTENSIONS)):
        raise ExtractionError(f"{response.url} is of type {mime}, which is not supported.")
    # A page's title is better than the last part of its address.
    return full, None if MIME_TYPES.get(mime) == "webpage" else name


def _filename(response: httpx2.Response) -> str | None:
    """From Content-Disposition, else the last part of the path where it has an extension."""
    header = Message()
    header["Content-Disposition"] = response.headers.get("content-disposition", "")
    name = header.get_filename() or unquote(response.url.path.rsplit("/", 1)[-1])
    return re.sub(r"[\x00-\x1f/\\]", "", name) if "." in name else None
