"""The document of the log is shown as it was given."""

import httpx2
import pytest

from api.application import create_app

pytestmark = pytest.mark.anyio


def _client(asyncapi: bytes | None) -> httpx2.AsyncClient:
    app = create_app(lambda: pytest.fail("not started here"), asyncapi=asyncapi)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here")


async def test_it_is_shown_without_a_key() -> None:
    async with _client(b'{"asyncapi": "3.0.0"}') as client:
        answer = await client.get("/asyncapi.json")
    assert (answer.status_code, answer.json()) == (200, {"asyncapi": "3.0.0"})
    assert answer.headers["content-type"] == "application/json"


async def test_where_there_is_none_there_is_no_such_path() -> None:
    async with _client(None) as client:
        assert (await client.get("/asyncapi.json")).status_code == 404
