"""Security headers of every response."""

from collections.abc import Callable

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from api.application import create_app
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio


def broken(_: Request) -> Response:
    raise AssertionError("nobody foresaw this")


async def headers_of(answering: Callable[[Request], Response], *, public_url: str | None = None) -> httpx2.Headers:
    """Return the headers of a page."""
    routes = [Route("/page", answering)]
    app = create_app(lambda: pytest.fail("not started here"), routes, serve_api=False, public_url=public_url)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        return (await client.get("/page")).headers


async def test_answers_tell_browsers_to_be_careful(client: ContractClient) -> None:
    headers = (await client("GET", "/organization")).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "strict-transport-security" not in headers


async def test_failures_have_the_same_headers(client: ContractClient) -> None:
    refused = await client.as_key("wrong")("GET", "/organization")
    assert refused.headers["x-content-type-options"] == "nosniff"
    unforeseen = await headers_of(broken)
    assert unforeseen["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("own", [{}, {"content-security-policy": "default-src 'self'", "cache-control": "max-age=9"}])
async def test_what_an_answer_says_itself_stays(own: dict[str, str]) -> None:
    headers = await headers_of(lambda _: HTMLResponse("", headers=own))
    assert headers.get_list("content-security-policy") == [
        own.get("content-security-policy", "object-src 'none'; base-uri 'self'; frame-ancestors 'none'")
    ]
    assert headers.get_list("cache-control") == [own.get("cache-control", "no-store")]


async def test_behind_tls_browsers_are_told_to_stay_there() -> None:
    headers = await headers_of(lambda _: HTMLResponse(""), public_url="https://memory.example")
    assert "max-age" in headers["strict-transport-security"]
