"""Tokens: refreshed by one, read by all, and lost only when the user must act."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from connectors.errors import AuthExpiredError, OperatorMistakeError, UnavailableError
from connectors.oauth import Authority, Tokens
from connectors.ports import OAuth
from connectors.vault import Secrets, Vault, VaultKeyError, new_key
from pipeline.locks import LocalLocks
from pipeline.store.connector_state import ConnectorStates
from tests.connectors.shelf import ORIGIN, SECRET, Shelf
from tests.connectors.world import connected

BACK = "https://memory.test/oauth/callback"


def _authority(transport: httpx2.AsyncBaseTransport, **fields: Any) -> Authority:
    given: dict[str, Any] = {"client_id": "recollect", "client_secret": SECRET, "scopes": ("read", "more")}
    oauth = OAuth(f"{ORIGIN}/authorize", f"{ORIGIN}/token", **{**given, **fields})
    return Authority("shelf", oauth, BACK, transport)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


async def _kept(folder: Path, tokens: dict[str, Any]) -> tuple[Secrets, LocalLocks]:
    locks = LocalLocks()
    secrets = Secrets(await ConnectorStates.open(str(folder)), Vault(new_key()), locks)
    await secrets.put("con_1", "tokens", tokens)
    return secrets, locks


def test_a_link_carries_state_challenge_scopes_and_the_exact_redirect(shelf: Shelf) -> None:
    asked = parse_qs(urlsplit(_authority(shelf.transport()).link("the-state", "v" * 43)).query)
    assert asked["state"] == ["the-state"]
    assert asked["redirect_uri"] == [BACK]
    assert asked["scope"] == ["read more"]
    assert asked["code_challenge_method"] == ["S256"]
    assert "v" * 43 not in asked["code_challenge"]


@pytest.mark.anyio
async def test_two_that_find_a_token_refused_refresh_it_once(tmp_path: Path, shelf: Shelf) -> None:
    token = await _authority(shelf.transport()).exchange("a-code", "v" * 43)
    secrets, locks = await _kept(tmp_path, dict(token))
    users = [Tokens("con_1", _authority(shelf.transport()), secrets, locks) for _ in range(5)]
    shelf.expire()
    rejected = str(token["access_token"])
    fresh = await asyncio.gather(*(user.renew(rejected) for user in users))
    assert set(fresh) == {"planted-access-2"}
    assert shelf.calls.count("POST /token") == 2


@pytest.mark.anyio
async def test_a_token_about_to_end_is_refreshed_before_it_is_used(tmp_path: Path, shelf: Shelf) -> None:
    token = await _authority(shelf.transport()).exchange("a-code", "v" * 43)
    secrets, locks = await _kept(tmp_path, {**token, "expires_at": 0})
    tokens = Tokens("con_1", _authority(shelf.transport()), secrets, locks)
    assert await tokens.token() == await tokens.token() == "planted-access-2"
    assert (await secrets.read("con_1"))["tokens"]["refresh_token"] == "planted-refresh-2"


@pytest.mark.anyio
async def test_a_refresh_token_that_is_refused_is_the_users_turn(tmp_path: Path, shelf: Shelf) -> None:
    secrets, locks = await _kept(tmp_path, {"access_token": "a", "refresh_token": "gone", "expires_at": 0})
    with pytest.raises(AuthExpiredError):
        await Tokens("con_1", _authority(shelf.transport()), secrets, locks).token()
    secrets, locks = await _kept(tmp_path / "other", {"access_token": "a"})
    with pytest.raises(AuthExpiredError):
        await Tokens("con_1", _authority(shelf.transport()), secrets, locks).renew("a")


@pytest.mark.anyio
async def test_a_wrong_client_secret_is_the_operators_turn(shelf: Shelf) -> None:
    authority = _authority(shelf.transport(), client_secret="wrong")
    with pytest.raises(OperatorMistakeError):
        await authority.exchange("a-code", "v" * 43)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, {}, UnavailableError),
        (200, "no token here", UnavailableError),
        (200, {"hello": "there"}, UnavailableError),
        (400, {"error": "temporarily_unavailable"}, UnavailableError),
        (200, {"error": "bad_refresh_token"}, AuthExpiredError),
        (400, {"error": "invalid_grant", "error_description": "AADSTS7000222: secret"}, OperatorMistakeError),
        (401, {"error": "invalid_client"}, OperatorMistakeError),
    ],
)
async def test_each_answer_of_a_token_endpoint_is_somebodys_turn(
    status: int, body: Any, error: type[Exception]
) -> None:
    async def answer(_: Request) -> Response:
        return JSONResponse(body, status)

    app = Starlette(routes=[Route("/token", answer, methods=["POST"])])
    authority = _authority(httpx2.ASGITransport(app), operator_errors=frozenset({"AADSTS7000222"}))
    with pytest.raises(error):
        await authority.refresh({"access_token": "a", "refresh_token": "planted-b"})


@pytest.mark.anyio
async def test_a_provider_may_want_json_with_the_secret_in_basic() -> None:
    asked: list[tuple[str, Any]] = []

    async def answer(request: Request) -> Response:
        asked.append((request.headers["authorization"], await request.json()))
        return JSONResponse({"access_token": "a", "token_type": "bearer", "refresh_token": None})

    app = Starlette(routes=[Route("/token", answer, methods=["POST"])])
    authority = _authority(httpx2.ASGITransport(app), client_in="basic", body="json", pkce=False)
    assert "refresh_token" not in await authority.exchange("a-code", "unused")
    assert asked[0][0].startswith("Basic ")
    assert asked[0][1] == {"grant_type": "authorization_code", "code": "a-code", "redirect_uri": BACK}


def test_credentials_open_for_their_connector_with_any_key_that_is_left() -> None:
    old, new = new_key(), new_key()
    sealed = Vault(old).seal("con_1", {"config": {"apiKey": "planted"}})
    assert "planted" not in sealed
    rotated = Vault(f"{new},{old}")
    assert rotated.open("con_1", sealed) == {"config": {"apiKey": "planted"}}
    assert not rotated.is_current(sealed)
    with pytest.raises(VaultKeyError, match="another one"):
        rotated.open("con_2", sealed)
    with pytest.raises(VaultKeyError, match="can't be opened"):
        Vault(new).open("con_1", sealed)
    with pytest.raises(VaultKeyError, match="not a list of keys"):
        Vault("short")


@pytest.mark.anyio
async def test_rotation_seals_anew_what_an_older_key_sealed(tmp_path: Path) -> None:
    old, new = new_key(), new_key()
    states = await ConnectorStates.open(str(tmp_path))
    await Secrets(states, Vault(old), LocalLocks()).put("con_1", "config", {"apiKey": "planted"})
    rotating = Secrets(states, Vault(f"{new},{old}"), LocalLocks())
    assert await rotating.rotate("con_1")
    assert not await rotating.rotate("con_1")
    assert await Secrets(states, Vault(new), LocalLocks()).read("con_1") == {"config": {"apiKey": "planted"}}


@pytest.mark.anyio
async def test_an_operator_seals_everything_anew_and_hears_what_no_key_opens(
    tmp_path: Path,
) -> None:
    old, new, lost = new_key(), new_key(), new_key()
    async with connected(tmp_path, {}, secret_key=old, running=False) as world:
        await world.connectors.offers.keep("handshakes", {"apiKey": "planted"})
    async with connected(tmp_path, {}, secret_key=f"{new},{old}", running=False) as world:
        assert await world.client.ok("POST", "/admin/connectors/reseal") == {"resealed": 1, "unreadable": []}
        assert await world.client.ok("POST", "/admin/connectors/reseal") == {"resealed": 0, "unreadable": []}
    async with connected(tmp_path, {}, secret_key=new, running=False) as world:
        secrets = world.connectors.engine.connecting.secrets
        assert await secrets.read("handshakes") == {"config": {"apiKey": "planted"}}
    async with connected(tmp_path, {}, secret_key=lost, running=False) as world:
        answer = await world.client.ok("POST", "/admin/connectors/reseal")
        assert answer == {"resealed": 0, "unreadable": ["handshakes"]}
