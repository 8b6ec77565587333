"""The one HTTP client of every provider: paced, retried, bounded, and careful about who sees the token.

Requests to the provider's own origins go over pooled connections and carry the token. Everything else, where
a redirect or a customer's URL leads, goes without it and only to public addresses.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, Final

import httpx2

from connectors.errors import (
    AuthExpiredError,
    ConnectorError,
    NotFetchedError,
    RateLimitedError,
    UnavailableError,
)
from connectors.pace import Pacer, Sleep
from connectors.ports import Access, Pace
from pipeline.errors import ExtractionError, RetryableError
from pipeline.extraction.fetch import GuardedTransport, is_public, resolved, trusted

USER_AGENT: Final = "recollect/0.1 (+self-hosted memory service)"
RESPONSE_BYTES: Final = 32 * 1024 * 1024
_DOCUMENT_BYTES: Final = 256 * 1024
ATTEMPTS: Final = 5
REDIRECTS: Final = 5
PATIENCE: Final = timedelta(minutes=2)
"""The longest that a run waits for a provider; what asks for more ends it, and it continues later."""
_SECONDS: Final = 60.0
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_BUSY: Final = frozenset({429, 503, 529})
_BROKEN: Final = frozenset({408, 500, 502, 504})

Judge = Callable[[httpx2.Response], Exception | None]


def origin(url: httpx2.URL | str) -> str:
    """`scheme://host[:port]` of a URL."""
    parsed = httpx2.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


@dataclass(frozen=True, slots=True)
class Clients:
    """The two ways out: `own` for origins that the operator configured, `outside` for everything else."""

    own: httpx2.AsyncClient
    outside: httpx2.AsyncClient
    transport: httpx2.AsyncBaseTransport
    """Under `own`, for whoever brings a client of their own."""

    @classmethod
    def open(
        cls, *, allow_private: bool = False, transport: httpx2.AsyncBaseTransport | None = None
    ) -> "Clients":
        """`transport` stands in for the network in tests; `allow_private` lets URLs lead anywhere."""
        guarded = GuardedTransport(resolved, (lambda _: True) if allow_private else is_public)
        own = transport or httpx2.AsyncHTTPTransport(verify=trusted())
        return cls(_client(own), _client(guarded), own)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.own.aclose()
        await self.outside.aclose()


def _client(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=transport,
        headers={"User-Agent": USER_AGENT},
        follow_redirects=False,
        trust_env=False,
        timeout=httpx2.Timeout(_SECONDS, connect=10.0),
    )


def _unjudged(response: httpx2.Response) -> Exception | None:
    del response
    return None


@dataclass(slots=True)
class _Call:
    """A request and what may be done about its failures."""

    method: str
    url: httpx2.URL
    options: Mapping[str, Any]
    headers: Mapping[str, str]
    limit: int
    repeatable: bool
    bare: bool
    signed: bool = False
    token: str | None = None
    renewed: bool = False
    failures: list[str] = field(default_factory=list)


class Http:
    """Requests of one connector. Any status below 400, and those nobody made an error of, are returned."""

    def __init__(
        self,
        clients: Clients,
        *,
        origins: frozenset[str],
        judge: Judge = _unjudged,
        access: Access | None = None,
        pace: Pace | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clients = clients
        self._origins = origins
        self._judge = judge
        self._access = access
        self._pacer = Pacer(pace or Pace(), clock=clock, sleep=sleep)
        self._sleep = sleep

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = RESPONSE_BYTES,
        bare: bool = False,
        signed: bool = False,
        follow: bool = True,
    ) -> httpx2.Response:
        """GET, redirects followed; the body read, `limit` bytes decoded at most (NotFetchedError)."""
        return await self.request(
            "GET", url, params=params, headers=headers, limit=limit, bare=bare, signed=signed, follow=follow
        )

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        limit: int = RESPONSE_BYTES,
        repeatable: bool | None = None,
        bare: bool = False,
        signed: bool = False,
        follow: bool = True,
    ) -> httpx2.Response:
        """As `get`. `repeatable`: a POST that may be sent again, such as a query. `bare`: never a token.

        `signed`: the authorization is a signature of this very request; wherever it goes it may keep it, and
        where it is redirected to it is of no use.
        """
        options = {"json": json} if json is not None else {"data": data} if data is not None else {}
        call = _Call(
            method,
            httpx2.URL(url).copy_merge_params(params) if params else httpx2.URL(url),
            options,
            dict(headers or {}),
            limit,
            method in _SAFE if repeatable is None else repeatable,
            bare,
            signed,
        )
        for _ in range(REDIRECTS + 1):
            response = await self._tried(call)
            if not (follow and response.has_redirect_location and method in {"GET", "HEAD"}):
                return response
            call.url, call.signed = call.url.join(response.headers["location"]), False
        raise NotFetchedError(f"{url} redirects more than {REDIRECTS} times.")

    async def _tried(self, call: _Call) -> httpx2.Response:
        """Once, and again for as long as there is hope."""
        while True:
            try:
                response = await self._sent(call)
            except (httpx2.TransportError, RetryableError, TimeoutError) as error:
                call.failures.append(
                    f"{call.url.host} could not be reached: {str(error) or type(error).__name__}"
                )
                await self._sleep(_next_wait(call, None))
                continue
            if response.status_code < 400:
                return response
            verdict = self._judge(response) if call.signed or self._is_own(call) else None
            if verdict is None and response.status_code == 401 and self._is_own(call) and not call.bare:
                await self._renew(call)
            elif isinstance(verdict, RateLimitedError):
                self._rest(call, response, verdict)
            elif verdict is None and response.status_code in _BUSY:
                self._rest(call, response, None)
            elif isinstance(verdict, UnavailableError) or (
                verdict is None and response.status_code in _BROKEN
            ):
                call.failures.append(f"{call.url.host} answered {response.status_code}")
                await self._sleep(_next_wait(call, _asked(response)))
            elif verdict is not None:
                raise verdict
            else:
                return response

    def _rest(self, call: _Call, response: httpx2.Response, verdict: RateLimitedError | None) -> None:
        """Let the whole connector wait as long as the provider asks, within reason."""
        call.failures.append(f"{call.url.host} answered {response.status_code}")
        given = verdict.after.total_seconds() if verdict is not None and verdict.after else _asked(response)
        wait = _backoff(len(call.failures)) if given is None else given
        if wait <= PATIENCE.total_seconds() and len(call.failures) < ATTEMPTS:
            self._pacer.rest(wait)
        elif verdict is None and response.status_code == 503:
            raise UnavailableError(f"{call.failures[-1]}. The next run tries again.")
        else:
            raise RateLimitedError(
                f"{call.url.host} allows no more requests for now. The next run continues.",
                timedelta(seconds=wait),
            )

    async def _renew(self, call: _Call) -> None:
        if self._access is None or call.renewed or call.token is None:
            raise AuthExpiredError(
                f"{call.url.host} does not accept the credentials any more. Connect it again with valid ones."
            )
        call.renewed = True
        await self._access.renew(call.token)

    async def _sent(self, call: _Call) -> httpx2.Response:
        async with self._pacer.turn():
            headers = {name.lower(): value for name, value in call.headers.items()}
            own = self._is_own(call)
            if call.bare or not (own or call.signed):
                headers.pop("authorization", None)
            elif self._access is not None and "authorization" not in headers:
                call.token = await self._access.token()
                headers["authorization"] = f"Bearer {call.token}"
            client = self._clients.own if own else self._clients.outside
            client.cookies.clear()
            try:
                async with asyncio.timeout(_SECONDS * 2):
                    async with client.stream(
                        call.method, call.url, headers=headers, **call.options
                    ) as answer:
                        return await _read(answer, call.limit)
            except ExtractionError as error:  # the guard's refusal, already for people
                raise NotFetchedError(str(error)) from error
            except (httpx2.InvalidURL, httpx2.DecodingError, httpx2.UnsupportedProtocol) as error:
                raise NotFetchedError(f"{call.url} can't be fetched: {error}.") from error

    def _is_own(self, call: _Call) -> bool:
        return origin(call.url) in self._origins


async def _read(answer: httpx2.Response, limit: int) -> httpx2.Response:
    """The answer with its body; the body of an error may be cut, it is only read for its reason."""
    data = bytearray()
    async for part in answer.aiter_bytes():
        data += part
        if len(data) > limit:
            if answer.status_code >= 400:
                break
            raise NotFetchedError(f"{answer.url.host} sent more than {limit:,} bytes.")
    headers = [
        (k, v)
        for k, v in answer.headers.multi_items()
        if k.lower() not in {"content-encoding", "content-length", "transfer-encoding"}
    ]
    return httpx2.Response(answer.status_code, headers=headers, content=bytes(data), request=answer.request)


async def fetched(url: str) -> bytes:
    """A small document at a public address. ConnectorError where it can't be had."""
    clients = Clients.open()
    try:
        answer = await Http(clients, origins=frozenset()).get(url, limit=_DOCUMENT_BYTES)
    except NotFetchedError as error:
        raise UnavailableError(str(error)) from error
    finally:
        await clients.aclose()
    if answer.status_code >= 400:
        raise UnavailableError(f"{answer.url.host} answered {answer.status_code}.")
    return answer.content


def checked(response: httpx2.Response) -> Any:
    """The JSON of an answer below 400; ConnectorError for any other, UnavailableError where it is no JSON."""
    if response.status_code >= 400:
        raise ConnectorError(
            f"{response.url.host} answered {response.status_code} to a request for {response.url.path}."
        )
    try:
        return response.json()
    except ValueError as error:
        raise UnavailableError(f"{response.url.host} sent an answer that is not JSON.") from error


def _asked(response: httpx2.Response) -> float | None:
    """Seconds that Retry-After asks for."""
    value = response.headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _next_wait(call: _Call, asked: float | None) -> float:
    """Seconds until the next attempt; UnavailableError after the last one."""
    if not call.repeatable or len(call.failures) >= ATTEMPTS:
        raise UnavailableError(f"{call.failures[-1]}. The next run tries again.")
    return min(asked, PATIENCE.total_seconds()) if asked is not None else _backoff(len(call.failures))


def _backoff(failures: int) -> float:
    """Half a second, doubled each time, up to half a minute, and jittered."""
    return secrets.SystemRandom().uniform(0.5, 1.0) * min(30.0, 0.5 * float(2**failures))
