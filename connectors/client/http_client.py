"""HTTP client of all providers: throttled, retried, bounded in size, and careful with access tokens.

Requests to the provider's own origins use pooled connections and carry the token. All other requests (targets
of redirects, customers' URLs) go without it and only to public addresses.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final, TypedDict, Unpack

import httpx2

from connectors import errors
from connectors.client.access_token import AccessTokenSource
from connectors.client.request_throttle import RateLimit, SleepFunction, Throttle
from pipeline.errors import ParsingError, RetryableError
from pipeline.parsing.url_fetcher import GuardedTransport, resolve_host, tls_context
from pipeline.runtime.backoff import exponential_backoff
from schemas.address_secrets import mask_secrets
from schemas.base import parse_header_time
from schemas.public_addresses import is_public

USER_AGENT: Final = "recollect/0.1 (+self-hosted memory service)"
MAX_RESPONSE_BYTES: Final = 32 * 1024 * 1024
_MAX_DOCUMENT_BYTES: Final = 256 * 1024
MAX_ATTEMPTS: Final = 5
MAX_REDIRECTS: Final = 5
MAX_RETRY_WAIT: Final = timedelta(minutes=2)
"""Longest wait within a run; a provider that asks for more ends the run, and a later one continues."""
_TIMEOUT_SECONDS: Final = 60.0
_IDEMPOTENT_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HEADERS_OF_TRANSFER: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_THROTTLED_STATUSES: Final = frozenset({429, 503, 529})
_TRANSIENT_STATUSES: Final = frozenset({408, 500, 502, 504})

ErrorClassifier = Callable[[httpx2.Response], Exception | None]


def origin(url: httpx2.URL | str) -> str:
    """Return `scheme://host[:port]` of a URL."""
    parsed = httpx2.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


@dataclass(frozen=True, slots=True)
class HttpClients:
    """Connection pools: one for origins that the operator configured, a guarded one for all others."""

    provider_client: httpx2.AsyncClient
    guarded_client: httpx2.AsyncClient
    transport: httpx2.AsyncBaseTransport
    """Transport of `provider_client`, for libraries with a client of their own."""

    @classmethod
    def open(cls, *, allow_private: bool = False, transport: httpx2.AsyncBaseTransport | None = None) -> "HttpClients":
        """Open both clients; `allow_private` permits private addresses, tests pass a `transport`."""
        guarded = GuardedTransport(resolve_host, (lambda _: True) if allow_private else is_public)
        own = transport or httpx2.AsyncHTTPTransport(verify=tls_context())
        return cls(_client(own), _client(guarded), own)

    async def aclose(self) -> None:
        await self.provider_client.aclose()
        await self.guarded_client.aclose()


def _client(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=transport,
        headers={"User-Agent": USER_AGENT},
        follow_redirects=False,
        trust_env=False,
        timeout=httpx2.Timeout(_TIMEOUT_SECONDS, connect=10.0),
    )


def _unclassified(response: httpx2.Response) -> Exception | None:
    return None


class GetOptions(TypedDict, total=False):
    """Options of a GET; see `HttpClient.request`."""

    params: Mapping[str, Any] | None
    headers: Mapping[str, str] | None
    max_bytes: int
    without_token: bool
    signed: bool
    follow_redirects: bool


@dataclass(slots=True)
class _PendingRequest:
    """Request under way, with the options and the history of its retries."""

    method: str
    url: httpx2.URL
    options: Mapping[str, Any]
    headers: Mapping[str, str]
    max_bytes: int
    idempotent: bool
    without_token: bool
    signed: bool = False
    token: str | None = None
    token_refreshed: bool = False
    failures: list[str] = field(default_factory=list)


class HttpClient:
    """HTTP requests of one connector.

    Returns any response below 400, and error responses that neither the retry policy nor the provider's
    `classify_error` turned into an exception.
    """

    def __init__(
        self,
        clients: HttpClients,
        *,
        api_origins: frozenset[str],
        classify_error: ErrorClassifier = _unclassified,
        token_source: AccessTokenSource | None = None,
        rate_limit: RateLimit | None = None,
        sleep: SleepFunction = asyncio.sleep,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clients = clients
        self._api_origins = api_origins
        self._classify_error = classify_error
        self._token_source = token_source
        self._throttle = Throttle(rate_limit or RateLimit(), clock=clock, sleep=sleep)
        self._sleep = sleep

    async def get(self, url: str, **options: Unpack[GetOptions]) -> httpx2.Response:
        """Send a GET and read the body; ResourceFetchError if it exceeds `max_bytes` when decoded."""
        return await self.request("GET", url, **options)

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
        idempotent: bool | None = None,
        without_token: bool = False,
        signed: bool = False,
        follow_redirects: bool = True,
    ) -> httpx2.Response:
        """Send a request with retries, throttling and redirects (GET and HEAD only).

        `idempotent`: the request may be repeated, e.g. a query by POST. `without_token`: never send the token.
        `signed`: the Authorization header signs this very request, so it is sent to any host, but not after
        a redirect.
        """
        options = {"json": json} if json is not None else {"data": data} if data is not None else {}
        call = _PendingRequest(
            method,
            _parsed_url(url, params),
            options,
            dict(headers or {}),
            max_bytes,
            method in _IDEMPOTENT_METHODS if idempotent is None else idempotent,
            without_token,
            signed,
        )
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._send_with_retries(call)
            if not (follow_redirects and response.has_redirect_location and method in {"GET", "HEAD"}):
                return response
            call.url, call.signed = _redirect_target(call.url, response.headers["location"]), False
        raise errors.ResourceFetchError(f"{mask_secrets(url)} redirects more than {MAX_REDIRECTS} times.")

    async def _send_with_retries(self, call: _PendingRequest) -> httpx2.Response:
        """Send until a response is final, an error is permanent, or the attempts are used up."""
        while True:
            try:
                response = await self._send(call)
            except (httpx2.TransportError, RetryableError, TimeoutError) as error:
                call.failures.append(f"{call.url.host} could not be reached: {str(error) or type(error).__name__}")
                await self._sleep(_next_retry_delay(call, None))
                continue
            if response.status_code < 400:
                return response
            verdict = self._classify_error(response) if call.signed or self._is_api_origin(call) else None
            if verdict is None and response.status_code == 401 and self._is_api_origin(call) and not call.without_token:
                await self._refresh_token(call)
            elif isinstance(verdict, errors.RateLimitedError):
                self._pause_or_fail(call, response, verdict)
            elif verdict is None and response.status_code in _THROTTLED_STATUSES:
                self._pause_or_fail(call, response, None)
            elif isinstance(verdict, errors.ProviderUnavailableError) or (
                verdict is None and response.status_code in _TRANSIENT_STATUSES
            ):
                call.failures.append(f"{call.url.host} answered {response.status_code}")
                await self._sleep(_next_retry_delay(call, _retry_after_seconds(response)))
            elif verdict is not None:
                raise verdict
            else:
                return response

    def _pause_or_fail(
        self, call: _PendingRequest, response: httpx2.Response, error: errors.RateLimitedError | None
    ) -> None:
        """Pause all requests of the connector as the provider asks, or raise if that takes too long."""
        call.failures.append(f"{call.url.host} answered {response.status_code}")
        requested_wait = (
            error.retry_after.total_seconds()
            if error is not None and error.retry_after
            else _retry_after_seconds(response)
        )
        wait = _jittered_backoff(len(call.failures)) if requested_wait is None else requested_wait
        if wait <= MAX_RETRY_WAIT.total_seconds() and len(call.failures) < MAX_ATTEMPTS:
            self._throttle.pause(wait)
        elif error is None and response.status_code == 503:
            raise errors.ProviderUnavailableError(f"{call.failures[-1]}. The next run tries again.")
        else:
            raise errors.RateLimitedError(
                f"{call.url.host} allows no more requests for now. The next run continues.", timedelta(seconds=wait)
            )

    async def _refresh_token(self, call: _PendingRequest) -> None:
        if self._token_source is None or call.token_refreshed or call.token is None:
            raise errors.AuthExpiredError(
                f"{call.url.host} does not accept the credentials any more. Connect it again with valid ones."
            )
        call.token_refreshed = True
        await self._token_source.refresh(call.token)

    async def _send(self, call: _PendingRequest) -> httpx2.Response:
        async with self._throttle.slot():
            headers = {name.lower(): value for name, value in call.headers.items()}
            own = self._is_api_origin(call)
            if call.without_token or not (own or call.signed):
                headers.pop("authorization", None)
            elif self._token_source is not None and "authorization" not in headers:
                call.token = await self._token_source.token()
                headers["authorization"] = f"Bearer {call.token}"
            client = self._clients.provider_client if own else self._clients.guarded_client
            client.cookies.clear()
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS * 2):
                    async with client.stream(call.method, call.url, headers=headers, **call.options) as answer:
                        return await _read_body(answer, call.max_bytes)
            except ParsingError as error:  # the guard's refusal; its message is for users
                raise errors.ResourceFetchError(str(error)) from error
            except (httpx2.InvalidURL, httpx2.DecodingError, httpx2.UnsupportedProtocol) as error:
                raise errors.ResourceFetchError(f"{mask_secrets(str(call.url))} can't be fetched: {error}.") from error

    def _is_api_origin(self, call: _PendingRequest) -> bool:
        return origin(call.url) in self._api_origins


def _parsed_url(url: str, params: Mapping[str, Any] | None) -> httpx2.URL:
    try:
        return httpx2.URL(url).copy_merge_params(params) if params else httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise errors.ResourceFetchError(f"{mask_secrets(url)} is not an address: {error}.") from error


def _redirect_target(url: httpx2.URL, location: str) -> httpx2.URL:
    try:
        return url.join(location)
    except httpx2.InvalidURL as error:
        raise errors.ResourceFetchError(f"{url.host} redirects to something other than an address: {error}.") from error


async def _read_body(answer: httpx2.Response, max_bytes: int) -> httpx2.Response:
    """Read the body; the body of an error response may be truncated at `max_bytes`."""
    data = bytearray()
    async for part in answer.aiter_bytes():
        data += part
        if len(data) > max_bytes:
            if answer.status_code >= 400:
                break
            raise errors.ResourceFetchError(f"{answer.url.host} sent more than {max_bytes:,} bytes.", code="too_large")
    # As bytes: servers also send names of files in Latin-1 or UTF-8, which a new response does not encode again.
    headers = [(name, value) for name, value in answer.headers.raw if name.lower() not in _HEADERS_OF_TRANSFER]
    return httpx2.Response(answer.status_code, headers=headers, content=bytes(data), request=answer.request)


async def fetch_public_document(url: str) -> bytes:
    """Fetch a small document from a public address; ConnectorError on any failure."""
    clients = HttpClients.open()
    try:
        answer = await HttpClient(clients, api_origins=frozenset()).get(url, max_bytes=_MAX_DOCUMENT_BYTES)
    except errors.ResourceFetchError as error:
        raise errors.ProviderUnavailableError(str(error)) from error
    finally:
        await clients.aclose()
    if answer.status_code >= 400:
        raise errors.ProviderUnavailableError(f"{answer.url.host} answered {answer.status_code}.")
    return answer.content


def answered_at(response: httpx2.Response) -> datetime | None:
    """Return the time of a response by the clock of its server; None if it does not tell."""
    return parse_header_time(response.headers.get("date", ""))


def _retry_after_seconds(response: httpx2.Response) -> float | None:
    """Return the wait that a response asks for, as seconds or a date (RFC 9110, 10.2.3), up to the longest."""
    value = response.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        wait = float(value)
    elif (at := parse_header_time(value)) is not None:
        wait = (at - datetime.now(UTC)).total_seconds()
    else:
        return None
    return min(max(wait, 0.0), errors.MAX_RETRY_AFTER.total_seconds())


def _next_retry_delay(call: _PendingRequest, retry_after: float | None) -> float:
    """Return seconds until the next attempt; ProviderUnavailableError if none is left."""
    if not call.idempotent or len(call.failures) >= MAX_ATTEMPTS:
        raise errors.ProviderUnavailableError(f"{call.failures[-1]}. The next run tries again.")
    return (
        min(retry_after, MAX_RETRY_WAIT.total_seconds())
        if retry_after is not None
        else _jittered_backoff(len(call.failures))
    )


def _jittered_backoff(failures: int) -> float:
    return secrets.SystemRandom().uniform(0.5, 1.0) * exponential_backoff(1.0, failures, 30.0)
