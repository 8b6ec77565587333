"""Signed requests to the receivers of webhooks, as Standard Webhooks describes them, through the outgoing guard.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import asyncio
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

import httpx2

from pipeline.errors import ParsingError, RetryableError, reason_of
from pipeline.parsing.url_fetcher import GuardedTransport, Resolver, resolve_allowed, resolve_host
from schemas.address_secrets import MASK, is_masked
from schemas.public_addresses import Address, is_public

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how a secret begins, none itself
TIMEOUT_SECONDS = 10.0
"""Time from the first byte sent to the status of the answer."""
USER_AGENT = "recollect/0.1 (+self-hosted memory service; standing questions)"


def sign(secret: str, id: str, at: datetime, body: bytes) -> dict[str, str]:  # noqa: A002 - the message's own word
    """Return the headers that prove sender, time and body: HMAC-SHA256 over id, timestamp and body."""
    timestamp = str(int(at.timestamp()))
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signature = hmac.new(key, f"{id}.{timestamp}.".encode() + body, sha256).digest()
    return {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }


_NOT_ALLOWED = "Its host has no address, or a private or reserved one. Deliveries go to public addresses only."


class WebhookSender:
    """HTTP client for receivers: public addresses only, no redirects, no connection kept."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
        resolver: Resolver = resolve_host,
    ) -> None:
        self._is_allowed: Callable[[Address], bool] = (lambda _: True) if allow_private else is_public
        self._timeout_seconds = timeout_seconds
        self._resolver = resolver
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(resolver, self._is_allowed),
            headers={"User-Agent": USER_AGENT, "Content-Type": "application/json"},
            follow_redirects=False,
            trust_env=False,
            timeout=httpx2.Timeout(timeout_seconds),
        )

    async def find_fault(self, url: str) -> str | None:
        """Return why nothing can be sent to a URL; None if nothing speaks against it."""
        try:
            httpx2.URL(url)
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except (httpx2.InvalidURL, ValueError):
            return "It is no URL."
        if is_masked(url):
            return f"It has {MASK} in place of a secret. Give the secret itself."
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            return "It is not an http or https address."
        if parts.username is not None or parts.password is not None:
            return "It carries credentials. Deliveries are signed: check the signature instead."
        try:
            with suppress(RetryableError):  # it may be resolved later
                await resolve_allowed(parts.hostname, port, self._resolver, self._is_allowed)
        except (ParsingError, ValueError):
            return _NOT_ALLOWED
        return None

    async def send(self, url: str, body: bytes, headers: dict[str, str]) -> str | None:
        """Post a body; return why it failed, None if the receiver took it with a status of 2xx."""
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._client.stream("POST", url, content=body, headers=headers) as answer,
            ):
                # The body is not read: only the status counts.
                return None if answer.is_success else f"The receiver answered {answer.status_code}."
        except (TimeoutError, httpx2.TimeoutException):
            return f"The receiver did not answer within {self._timeout_seconds:g} s."
        except ParsingError:
            return _NOT_ALLOWED
        except RetryableError as error:
            return str(error)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            return f"The receiver could not be reached: {reason_of(error)}."

    async def aclose(self) -> None:
        await self._client.aclose()
