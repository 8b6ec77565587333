"""Check of a connector before its first run: a config that can't be right, credentials that don't work."""

import asyncio
import ipaddress
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from connectors.errors import ConnectorError, CursorExpiredError, ItemError, ProviderUnavailableError, RateLimitedError
from connectors.provider_interface import Connection, Provider

_TIMEOUT_SECONDS: Final = 15.0
_BUCKET_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])")


def config_fault(provider: str, config: Mapping[str, str | float | bool]) -> str | None:
    """Return what can't be right in a config and how to correct it, None if it may be right."""
    if provider == "web-crawler":
        return _address_fault("startUrl", str(config.get("startUrl", "")))
    if provider == "s3":
        bucket, endpoint = str(config.get("bucket", "")), config.get("endpoint")
        return _bucket_fault(bucket) or (_address_fault("endpoint", str(endpoint)) if endpoint else None)
    return None


def credential_fault(secrets: Mapping[str, str]) -> str | None:
    """Return which credential holds characters that no request can carry, None if none does."""
    for name, value in sorted(secrets.items()):
        sent = name != "secretAccessKey"  # that one only signs
        if sent and not (value.isascii() and value.isprintable()):
            return f"{name} holds characters that no key has, such as … or ä. Copy the whole key from the provider."
    return None


def _address_fault(name: str, url: str) -> str | None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
        usable = usable and parts.username is None and not any(character.isspace() for character in url)
    except ValueError:
        usable = False
    return None if usable else f"{name} {url[:100]!r} is not a web address. It begins with https:// and names a host."


def _bucket_fault(bucket: str) -> str | None:
    named = 3 <= len(bucket) <= 63 and _BUCKET_NAME.fullmatch(bucket) and ".." not in bucket
    if named and not _is_ip_address(bucket):
        return None
    return (
        f"{bucket[:100]!r} is not a bucket's name. Give the name alone, without s3:// or a path: 3 to 63 lower-case"
        " letters, digits, dots and hyphens."
    )


def _is_ip_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


async def connection_fault(provider: Provider, connection: Connection) -> str | None:
    """Ask the provider; return why the connection does not work, None if it does or can't be told now."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            if provider.oauth is not None or provider.has_service_access:
                await provider.fetch_account(connection)
            else:
                await _list_first_page(provider, connection)
    except (TimeoutError, CursorExpiredError, ProviderUnavailableError, RateLimitedError):
        return None
    except (ConnectorError, ItemError) as error:
        return str(error)
    return None


async def _list_first_page(provider: Provider, connection: Connection) -> None:
    """Run a sync until it knows what there is; nothing is fetched or kept."""
    steps = provider.sync(connection, None, _EmptyState())
    try:
        async for _ in steps:
            break
    except _ListedError:
        return
    finally:
        if isinstance(steps, AsyncGenerator):
            await steps.aclose()


class _ListedError(Exception):
    """The provider listed items."""


class _EmptyState:
    """`SyncState` without items, which ends the sync at its first page."""

    async def select_changed(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        raise _ListedError

    async def item_versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for nothing in tuple[tuple[str, str]]():
            yield nothing

    async def retryable_failures(self) -> list[str]:
        return []

    async def provider_state(self, keys: Sequence[str]) -> dict[str, str]:
        return {}

    async def scan_provider_state(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for nothing in tuple[tuple[str, str]]():
            yield nothing
