"""The HTTP client that every provider shares: patient, bounded, and careful about who sees the token."""

from collections.abc import Callable
from datetime import timedelta

import httpx2
import pytest

from connectors.client.http_client import MAX_ATTEMPTS, HttpClient, HttpClients
from connectors.client.json_answers import json_or_raise
from connectors.client.request_throttle import RateLimit
from connectors.errors import (
    AuthExpiredError,
    ConnectorError,
    ProviderUnavailableError,
    RateLimitedError,
    ResourceFetchError,
)

OWN, OTHER = "https://api.test", "https://files.test"
Handler = Callable[[httpx2.Request], httpx2.Response]


class SequenceTokenSource:
    """An access token that can be renewed as often as it has successors."""

    def __init__(self, *successors: str) -> None:
        self.now = "first"
        self.left = list(successors)

    async def token(self) -> str:
        return self.now

    async def refresh(self, rejected_token: str) -> str:
        assert rejected_token == self.now
        if not self.left:
            raise AuthExpiredError("Connect it again.")
        self.now = self.left.pop(0)
        return self.now


class HttpHarness:
    """A client over a handler: what was asked, and how long it slept."""

    def __init__(self, handler: Handler, *tokens: str, judge: Callable[..., Exception | None] | None = None) -> None:
        self.asked: list[httpx2.Request] = []
        self.slept: list[float] = []

        def seen(request: httpx2.Request) -> httpx2.Response:
            self.asked.append(request)
            return handler(request)

        client = httpx2.AsyncClient(transport=httpx2.MockTransport(seen))
        self.http = HttpClient(
            HttpClients(client, client, httpx2.MockTransport(seen)),
            api_origins=frozenset({OWN}),
            token_source=SequenceTokenSource(*tokens),
            classify_error=judge or (lambda _: None),
            rate_limit=RateLimit(requests_per_second=1e6, burst=1000),
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.http._throttle._paused_until = 0.0


def _respond_always(status: int, **headers: str) -> Handler:
    return lambda _: httpx2.Response(status, headers=headers)


def _respond_in_turn(*answers: httpx2.Response) -> Handler:
    left = list(answers)
    return lambda _: left.pop(0)


@pytest.mark.anyio
async def test_the_token_goes_to_the_providers_own_origin_only() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "api.test":
            return httpx2.Response(302, headers={"location": f"{OTHER}/file"})
        return httpx2.Response(200, content=b"text")

    world = HttpHarness(handler)
    assert (await world.http.get(f"{OWN}/file")).content == b"text"
    assert [request.headers.get("authorization") for request in world.asked] == ["Bearer first", None]
    await world.http.get("https://api.test.evil.test/file", headers={"Authorization": "Bearer mine"})
    assert "authorization" not in world.asked[-1].headers


@pytest.mark.anyio
async def test_a_refused_token_is_renewed_once() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200 if request.headers["authorization"] == "Bearer second" else 401)

    assert (await HttpHarness(handler, "second").http.get(OWN)).status_code == 200
    world = HttpHarness(_respond_always(401), "second", "third")
    with pytest.raises(AuthExpiredError):
        await world.http.get(OWN)
    assert len(world.asked) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("status", [429, 503])
async def test_it_waits_as_long_as_it_is_asked_to(status: int) -> None:
    world = HttpHarness(_respond_in_turn(httpx2.Response(status, headers={"Retry-After": "7"}), httpx2.Response(200)))
    assert (await world.http.get(OWN)).status_code == 200
    assert [round(seconds) for seconds in world.slept] == [7]


@pytest.mark.anyio
async def test_what_asks_for_too_long_a_pause_ends_the_run() -> None:
    with pytest.raises(RateLimitedError) as caught:
        await HttpHarness(_respond_always(429, **{"Retry-After": "3600"})).http.get(OWN)
    assert caught.value.retry_after == timedelta(hours=1)
    with pytest.raises(ProviderUnavailableError):
        await HttpHarness(_respond_always(503, **{"Retry-After": "3600"})).http.get(OWN)


@pytest.mark.anyio
@pytest.mark.parametrize("asked", ["9" * 400, "99999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_pause_of_years_is_one_of_a_day(asked: str) -> None:
    with pytest.raises(RateLimitedError) as caught:
        await HttpHarness(_respond_always(429, **{"Retry-After": asked})).http.get(OWN)
    assert caught.value.retry_after == timedelta(days=1)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("asked", "waits"), [("1.5", 1.5), ("0", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("Wed, 21 Oct 2015 07:28:00", 0)]
)
async def test_a_pause_is_a_number_of_seconds_or_a_date(asked: str, waits: float) -> None:
    answer = httpx2.Response(429, headers={"Retry-After": asked})
    world = HttpHarness(_respond_in_turn(answer, httpx2.Response(200)))
    assert (await world.http.get(OWN)).status_code == 200
    assert max(world.slept, default=0) == pytest.approx(waits, abs=0.1)


@pytest.mark.anyio
@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "\xb2", "1e9", ""])
async def test_a_pause_that_nobody_understands_is_an_own_one(asked: str) -> None:
    answer = httpx2.Response(429, headers=[(b"Retry-After", asked.encode("latin-1"))])
    world = HttpHarness(_respond_in_turn(answer, httpx2.Response(200)))
    assert (await world.http.get(OWN)).status_code == 200
    assert 0.5 <= max(world.slept) <= 1


@pytest.mark.anyio
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
async def test_a_header_outside_of_ascii_arrives_as_it_was_sent(encoding: str) -> None:
    named = 'inline; filename="Übersicht.html"'
    answer = httpx2.Response(200, headers=[(b"Content-Disposition", named.encode(encoding))], content=b"text")
    got = await HttpHarness(lambda _: answer).http.get(OWN)
    assert (got.content, got.headers["content-disposition"]) == (b"text", named)


@pytest.mark.anyio
@pytest.mark.parametrize("address", ["https://\N{GRINNING FACE}.test/", "https://a\x00.test/"])
async def test_what_is_no_address_is_not_fetched_nor_redirected_to(address: str) -> None:
    with pytest.raises(ResourceFetchError, match="address"):
        await HttpHarness(_respond_always(200)).http.get(address)
    moved = httpx2.Response(302, headers=[(b"Location", address.encode())])
    with pytest.raises(ResourceFetchError, match="address"):
        await HttpHarness(lambda _: moved).http.get(OWN)


@pytest.mark.anyio
async def test_a_broken_answer_is_tried_again_with_longer_pauses() -> None:
    world = HttpHarness(_respond_always(500))
    with pytest.raises(ProviderUnavailableError):
        await world.http.get(OWN)
    assert len(world.asked) == MAX_ATTEMPTS
    assert world.slept == sorted(world.slept)


@pytest.mark.anyio
async def test_what_may_not_be_repeated_is_not() -> None:
    world = HttpHarness(_respond_always(500))
    with pytest.raises(ProviderUnavailableError):
        await world.http.request("POST", OWN, json={})
    assert len(world.asked) == 1
    world = HttpHarness(_respond_always(500))
    with pytest.raises(ProviderUnavailableError):
        await world.http.request("POST", OWN, json={}, idempotent=True)
    assert len(world.asked) == MAX_ATTEMPTS


@pytest.mark.anyio
async def test_a_peer_that_is_not_there_is_unavailable() -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(ProviderUnavailableError, match="refused"):
        await HttpHarness(handler).http.get(OWN)


@pytest.mark.anyio
async def test_a_provider_may_judge_by_more_than_the_status() -> None:
    def judge(response: httpx2.Response) -> Exception | None:
        if "slow" in response.text:
            return RateLimitedError("Too fast.", timedelta(seconds=3))
        return AuthExpiredError("Withdrawn.") if "gone" in response.text else None

    slow, gone, no = (httpx2.Response(403, text=text) for text in ("slow down", "gone", "no"))
    world = HttpHarness(_respond_in_turn(slow, no), judge=judge)
    assert (await world.http.get(OWN)).status_code == 403
    assert [round(seconds) for seconds in world.slept] == [3]
    with pytest.raises(AuthExpiredError, match="Withdrawn"):
        await HttpHarness(_respond_in_turn(gone), judge=judge).http.get(OWN)


@pytest.mark.anyio
async def test_no_answer_is_read_without_a_bound() -> None:
    world = HttpHarness(lambda _: httpx2.Response(200, content=b"x" * 1001))
    with pytest.raises(ResourceFetchError, match="1,000 bytes"):
        await world.http.get(OWN, max_bytes=1000)


@pytest.mark.anyio
async def test_redirects_come_to_an_end() -> None:
    with pytest.raises(ResourceFetchError, match="redirects"):
        await HttpHarness(_respond_always(302, location=OWN)).http.get(OWN)


@pytest.mark.anyio
async def test_what_is_not_json_is_no_answer() -> None:
    answer = await HttpHarness(lambda _: httpx2.Response(200, text="<html>")).http.get(OWN)
    with pytest.raises(ProviderUnavailableError):
        json_or_raise(answer)


def test_a_missing_permission_is_for_the_customer_to_grant() -> None:
    refused = httpx2.Response(403, request=httpx2.Request("GET", "https://api.test/me"))
    with pytest.raises(ConnectorError, match=r"api\.test answered 403 to a request for /me") as error:
        json_or_raise(refused)
    assert error.value.code == "auth_expired"


@pytest.mark.anyio
async def test_what_leads_outside_may_not_lead_inside() -> None:
    clients = HttpClients.open(transport=httpx2.MockTransport(_respond_always(200)))
    http = HttpClient(clients, api_origins=frozenset({OWN}))
    assert (await http.get(OWN)).status_code == 200
    with pytest.raises(ResourceFetchError, match="private or reserved"):
        await http.get("http://127.0.0.1/secret")
    await clients.aclose()


@pytest.mark.anyio
async def test_a_signature_goes_where_it_was_made_for_and_no_further() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "files.test":
            return httpx2.Response(302, headers={"location": "https://elsewhere.test/x"})
        return httpx2.Response(200)

    world = HttpHarness(handler)
    await world.http.get(f"{OTHER}/x", headers={"authorization": "AWS4-HMAC-SHA256"}, signed=True)
    first, second = world.asked
    assert first.headers["authorization"] == "AWS4-HMAC-SHA256"
    assert "authorization" not in second.headers
    assert "Bearer" not in str(first.headers) + str(second.headers)
