"""A config that can't be right is refused with what to correct; credentials are tried before they are kept."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from connectors.accounts.connection_check import config_fault, connection_fault, credential_fault
from connectors.client.http_client import HttpClient, HttpClients
from connectors.errors import AuthExpiredError, ProviderUnavailableError
from connectors.provider_interface import Connection, Provider
from connectors.sync_messages import Checkpoint, Cursor, SyncMessage, SyncState


@pytest.mark.parametrize(
    ("provider", "config"),
    [
        ("web-crawler", {"startUrl": "ftp://x"}),
        ("web-crawler", {"startUrl": "https://"}),
        ("web-crawler", {"startUrl": "https://[x"}),
        ("web-crawler", {"startUrl": "javascript:alert(1)"}),
        ("s3", {"bucket": "s3://nope"}),
        ("s3", {"bucket": "Up"}),
        ("s3", {"bucket": "a..b"}),
        ("s3", {"bucket": "192.168.0.1"}),
        ("s3", {"bucket": "fine", "endpoint": "ftp://x"}),
    ],
)
def test_a_config_that_can_not_be_right_says_what_to_correct(provider: str, config: dict[str, str]) -> None:
    fault = config_fault(provider, config)
    assert fault is not None
    assert fault.endswith(".")


@pytest.mark.parametrize(
    ("provider", "config"),
    [
        ("web-crawler", {"startUrl": "https://example.test:8443/docs?x=1"}),
        ("s3", {"bucket": "my.bucket-1", "endpoint": "http://127.0.0.1:9000"}),
        ("granola", {}),
    ],
)
def test_a_config_that_may_be_right_has_no_fault(provider: str, config: dict[str, str]) -> None:
    assert config_fault(provider, config) is None


@pytest.mark.parametrize("key", ["grn_…", "grn_a\n", "grn_\x00", "grn_ä"])
def test_a_key_with_characters_that_no_request_can_carry_is_named_and_not_repeated(key: str) -> None:
    fault = credential_fault({"apiKey": key})
    assert fault is not None
    assert fault.startswith("apiKey ")
    assert key not in fault
    assert credential_fault({"apiKey": "grn_Good-1/+=", "secretAccessKey": "ä"}) is None


class ListingProvider(Provider):
    """Lists two items, or fails."""

    name = "granola"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.fetched = 0

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        if self.error is not None:
            raise self.error
        for _ in await state.select_changed([("a", "1"), ("b", "1")]):
            self.fetched += 1
        yield Checkpoint({})


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (None, None),
        (AuthExpiredError("The key is wrong. Take another."), "The key is wrong. Take another."),
        (ProviderUnavailableError("Nobody answers."), None),
    ],
)
def test_the_provider_is_asked_and_nothing_is_fetched(error: Exception | None, fault: str | None) -> None:
    async def check() -> str | None:
        clients = HttpClients.open()
        await clients.aclose()
        return await connection_fault(provider, Connection("con_1", HttpClient(clients, api_origins=frozenset())))

    provider = ListingProvider(error)
    assert asyncio.run(check()) == fault
    assert provider.fetched == 0
