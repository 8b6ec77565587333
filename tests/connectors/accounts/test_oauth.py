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

from bench.doubles.sample_source import ORIGIN, SECRET, SampleSource
from connectors.accounts.credential_vault import CredentialCipher, SecretStore, VaultKeyError, generate_key
from connectors.accounts.oauth import AuthorizationServer, RefreshingTokenSource
from connectors.errors import AuthExpiredError, MisconfigurationError, ProviderUnavailableError
from connectors.provider_interface import OAuthConfig
from pipeline.runtime.local_locks import LocalLocks
from pipeline.store.tables.connector_state_table import ConnectorStateStore
from tests.support.connectors.connected_service import run_connected_service

BACK = "https://memory.test/oauth/callback"


def _authorization_server(transport: httpx2.AsyncBaseTransport, **fields: Any) -> AuthorizationServer:
    given: dict[str, Any] = {"client_id": "recollect", "client_secret": SECRET, "scopes": ("read", "more")}
    oauth = OAuthConfig(f"{ORIGIN}/authorize", f"{ORIGIN}/token", **{**given, **fields})
    return AuthorizationServer("shelf", oauth, BACK, transport)


@pytest.fixture
def shelf() -> SampleSource:
    return SampleSource()


async def _secret_store_with(folder: Path, tokens: dict[str, Any]) -> tuple[SecretStore, LocalLocks]:
    locks = LocalLocks()
    secrets = SecretStore(await ConnectorStateStore.open(str(folder)), CredentialCipher(generate_key()), locks)
    await secrets.set_value("con_1", "tokens", tokens)
    return secrets, locks


def test_a_link_carries_state_challenge_scopes_and_the_exact_redirect(shelf: SampleSource) -> None:
    asked = parse_qs(urlsplit(_authorization_server(shelf.transport()).authorization_url("the-state", "v" * 43)).query)
    assert asked["state"] == ["the-state"]
    assert asked["redirect_uri"] == [BACK]
    assert asked["scope"] == ["read more"]
    assert asked["code_challenge_method"] == ["S256"]
    assert "v" * 43 not in asked["code_challenge"]


@pytest.mark.anyio
async def test_two_that_find_a_token_refused_refresh_it_once(tmp_path: Path, shelf: SampleSource) -> None:
    token = await _authorization_server(shelf.transport()).exchange_code("a-code", "v" * 43)
    secrets, locks = await _secret_store_with(tmp_path, dict(token))
    users = [RefreshingTokenSource("con_1", _authorization_server(shelf.transport()), secrets, locks) for _ in range(5)]
    shelf.expire()
    rejected = str(token["access_token"])
    fresh = await asyncio.gather(*(user.refresh(rejected) for user in users))
    assert set(fresh) == {"planted-access-2"}
    assert shelf.calls.count("POST /token") == 2


@pytest.mark.anyio
async def test_a_token_about_to_end_is_refreshed_before_it_is_used(tmp_path: Path, shelf: SampleSource) -> None:
    token = await _authorization_server(shelf.transport()).exchange_code("a-code", "v" * 43)
    secrets, locks = await _secret_store_with(tmp_path, {**token, "expires_at": 0})
    tokens = RefreshingTokenSource("con_1", _authorization_server(shelf.transport()), secrets, locks)
    assert await tokens.token() == await tokens.token() == "planted-access-2"
    assert (await secrets.read("con_1"))["tokens"]["refresh_token"] == "planted-refresh-2"


@pytest.mark.anyio
async def test_a_refresh_token_that_is_refused_is_the_users_turn(tmp_path: Path, shelf: SampleSource) -> None:
    secrets, locks = await _secret_store_with(tmp_path, {"access_token": "a", "refresh_token": "gone", "expires_at": 0})
    with pytest.raises(AuthExpiredError):
        await RefreshingTokenSource("con_1", _authorization_server(shelf.transport()), secrets, locks).token()
    secrets, locks = await _secret_store_with(tmp_path / "other", {"access_token": "a"})
    with pytest.raises(AuthExpiredError):
        await RefreshingTokenSource("con_1", _authorization_server(shelf.transport()), secrets, locks).refresh("a")


@pytest.mark.anyio
async def test_a_wrong_client_secret_is_the_operators_turn(shelf: SampleSource) -> None:
    authority = _authorization_server(shelf.transport(), client_secret="wrong")
    with pytest.raises(MisconfigurationError):
        await authority.exchange_code("a-code", "v" * 43)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, {}, ProviderUnavailableError),
        (200, "no token here", ProviderUnavailableError),
        (200, {"hello": "there"}, ProviderUnavailableError),
        (400, {"error": "temporarily_unavailable"}, ProviderUnavailableError),
        (200, {"error": "bad_refresh_token"}, AuthExpiredError),
        (
            400,
            {"error": "invalid_grant", "error_description": "AADSTS7000222: secret"},
            MisconfigurationError,
        ),
        (401, {"error": "invalid_client"}, MisconfigurationError),
    ],
)
async def test_each_answer_of_a_token_endpoint_is_somebodys_turn(
    status: int, body: Any, error: type[Exception]
) -> None:
    async def answer(_: Request) -> Response:
        return JSONResponse(body, status)

    app = Starlette(routes=[Route("/token", answer, methods=["POST"])])
    authority = _authorization_server(httpx2.ASGITransport(app), misconfiguration_codes=frozenset({"AADSTS7000222"}))
    with pytest.raises(error):
        await authority.refresh({"access_token": "a", "refresh_token": "planted-b"})


@pytest.mark.anyio
async def test_a_provider_may_want_json_with_the_secret_in_basic() -> None:
    asked: list[tuple[str, Any]] = []

    async def answer(request: Request) -> Response:
        asked.append((request.headers["authorization"], await request.json()))
        return JSONResponse({"access_token": "a", "token_type": "bearer", "refresh_token": None})

    app = Starlette(routes=[Route("/token", answer, methods=["POST"])])
    authority = _authorization_server(httpx2.ASGITransport(app), token_auth_method="json_basic", pkce=False)
    assert "refresh_token" not in await authority.exchange_code("a-code", "unused")
    assert asked[0][0].startswith("Basic ")
    assert asked[0][1] == {"grant_type": "authorization_code", "code": "a-code", "redirect_uri": BACK}


def test_credentials_open_for_their_connector_with_any_key_that_is_left() -> None:
    old, new = generate_key(), generate_key()
    sealed = CredentialCipher(old).encrypt("con_1", {"config": {"apiKey": "planted"}})
    assert "planted" not in sealed
    rotated = CredentialCipher(f"{new},{old}")
    assert rotated.decrypt("con_1", sealed) == {"config": {"apiKey": "planted"}}
    assert not rotated.uses_current_key(sealed)
    with pytest.raises(VaultKeyError, match="another one"):
        rotated.decrypt("con_2", sealed)
    with pytest.raises(VaultKeyError, match="can't be opened"):
        CredentialCipher(new).decrypt("con_1", sealed)
    with pytest.raises(VaultKeyError, match="not a list of keys"):
        CredentialCipher("short")


@pytest.mark.anyio
async def test_rotation_seals_anew_what_an_older_key_sealed(tmp_path: Path) -> None:
    old, new = generate_key(), generate_key()
    states = await ConnectorStateStore.open(str(tmp_path))
    await SecretStore(states, CredentialCipher(old), LocalLocks()).set_value("con_1", "config", {"apiKey": "planted"})
    rotating = SecretStore(states, CredentialCipher(f"{new},{old}"), LocalLocks())
    assert await rotating.rotate_keys(["con_1"]) == (1, [])
    assert await rotating.rotate_keys(["con_1"]) == (0, [])
    assert await SecretStore(states, CredentialCipher(new), LocalLocks()).read("con_1") == {
        "config": {"apiKey": "planted"}
    }


@pytest.mark.anyio
async def test_an_operator_seals_everything_anew_and_hears_what_no_key_opens(
    tmp_path: Path,
) -> None:
    old, new, lost = generate_key(), generate_key(), generate_key()
    async with run_connected_service(tmp_path, {}, secret_key=old, running=False) as world:
        await world.connectors.account_linking.store_config_secrets("verification_tokens", {"apiKey": "planted"})
    async with run_connected_service(tmp_path, {}, secret_key=f"{new},{old}", running=False) as world:
        assert await world.client.ok("POST", "/admin/connectors/rotate-credentials") == {"rotated": 1, "unreadable": []}
        assert await world.client.ok("POST", "/admin/connectors/rotate-credentials") == {"rotated": 0, "unreadable": []}
    async with run_connected_service(tmp_path, {}, secret_key=new, running=False) as world:
        secrets = world.connectors.scheduler.connection_factory.secret_store
        assert await secrets.read("verification_tokens") == {"config": {"apiKey": "planted"}}
    async with run_connected_service(tmp_path, {}, secret_key=lost, running=False) as world:
        answer = await world.client.ok("POST", "/admin/connectors/rotate-credentials")
        assert answer == {"rotated": 0, "unreadable": ["verification_tokens"]}
