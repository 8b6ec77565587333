"""The access token that the HTTP client sends to a provider."""

import asyncio
from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import Final, Protocol

from pipeline.ports import Clock

_RENEWAL_MARGIN: Final = timedelta(minutes=5)
"""Remaining lifetime from which a token is replaced, so that no request outlives it."""


class AccessTokenSource(Protocol):
    """OAuth access token of a connector, refreshed before it expires."""

    async def token(self) -> str:
        """Return a token that should work; AuthExpiredError if the user has to authorize again."""

    async def refresh(self, rejected_token: str) -> str:
        """Replace a token that the provider rejected; AuthExpiredError if that is impossible."""


class RenewedTokenSource(ABC):
    """`AccessTokenSource` of tokens that end: one is replaced before its end, or once the provider rejects it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires_at: datetime | None = None

    async def token(self) -> str:
        """Return a token with some time left; see `AccessTokenSource.token`."""
        async with self._lock:
            if self._expires_at is None or self._expires_at - self._clock.now() < _RENEWAL_MARGIN:
                self._token, self._expires_at = await self._fetch_token()
            return self._token

    async def refresh(self, rejected_token: str) -> str:
        """Replace a rejected token; if another request already did, return its token."""
        async with self._lock:
            if self._token == rejected_token:
                self._token, self._expires_at = await self._fetch_token()
            return self._token

    @abstractmethod
    async def _fetch_token(self) -> tuple[str, datetime]:
        """Return a new token and its end."""
