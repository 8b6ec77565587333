"""Endpoint /webhooks for change notifications: verified, answered at once, coalesced into runs."""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from connectors.accounts.connection_factory import ConnectionFactory
from connectors.accounts.webhook_subscriptions import load_subscription
from connectors.errors import ConnectorError, WebhookVerificationError
from connectors.provider_interface import ChangeHint, Provider, VerifiedDelivery, WebhookDelivery, WebhookSubscription
from pipeline.connector_registry import ConnectorRegistry
from schemas.events import ConnectorChanged

TIMEOUT_SECONDS: Final = 8.0
"""Time limit of verification; providers wait ten seconds at most."""
MAX_DELIVERY_AGE: Final = timedelta(minutes=10)
_MAX_REMEMBERED_DELIVERIES: Final = 10_000
_MAX_CONCURRENT: Final = 8
_MAX_VERIFICATION_TOKEN_LENGTH: Final = 1024
"""Anybody may send one before the webhook is set up, and it is stored."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    registry: ConnectorRegistry
    connection_factory: ConnectionFactory
    _recent_deliveries: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_CONCURRENT))

    async def handle(self, request: Request) -> Response:
        """Verify a delivery and answer as the provider expects; 401 if forged, 413 if too large."""
        name, connector = request.path_params["provider"], request.path_params.get("connector")
        provider = self.connection_factory.providers.get(name)
        row = None if connector is None else self.registry.find_active(connector)
        if provider is None or (connector is not None and (row is None or row.provider != name)):
            return PlainTextResponse("There is nobody here for this.", 404)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                # Read before a slot is taken: whoever sends slowly must not keep others from being verified.
                body = await _read_body(request, provider.max_delivery_bytes)
                if body is None:
                    return PlainTextResponse(f"More than {provider.max_delivery_bytes:,} bytes.", 413)
                async with self._slots:
                    return await self._verify(request, body, provider, row)
        except TimeoutError:
            return PlainTextResponse("Too busy. Send it again.", 503)
        except ClientDisconnect:
            return PlainTextResponse("The request ended early.", 400)

    async def _verify(
        self, request: Request, body: bytes, provider: Provider, row: ConnectorChanged | None
    ) -> Response:
        try:
            receipt = await provider.verify_delivery(
                WebhookDelivery(
                    headers={key.lower(): value for key, value in request.headers.items()},
                    query=dict(request.query_params),
                    body=body,
                    received_at=self.registry.now(),
                    subscription=await self._subscription(row),
                ),
            )
            _reject_stale(receipt, self.registry.now())
            await self._process(receipt, provider, row)
        except WebhookVerificationError as error:
            log.warning("A delivery to %s was refused: %s", request.url.path, error)
            return PlainTextResponse("This is not genuine.", 401)
        except ConnectorError as error:
            log.warning("A delivery to %s could not be checked: %s", request.url.path, error)
            return PlainTextResponse("This can't be checked now. Send it again.", 503)
        reply = receipt.response
        return Response(reply.body, reply.status, media_type=reply.media_type)

    async def _process(self, receipt: VerifiedDelivery, provider: Provider, row: ConnectorChanged | None) -> None:
        if receipt.verification_token is not None:
            if len(receipt.verification_token) > _MAX_VERIFICATION_TOKEN_LENGTH:
                raise WebhookVerificationError("Its verification token is longer than any provider's.")
            await self.connection_factory.secret_store.store_verification_token(
                provider.name, receipt.verification_token
            )
            log.info("%s sent its verification token: `recollect connectors handshakes`.", provider.name)
        if receipt.delivery_id is not None and self._is_duplicate(f"{provider.name}/{receipt.delivery_id}"):
            return
        for hint in receipt.hints:
            for connector in self._target_connectors(hint, provider, row):
                await self._trigger_sync(connector, hint)

    def _target_connectors(
        self, hint: ChangeHint, provider: Provider, row: ConnectorChanged | None
    ) -> list[ConnectorChanged]:
        if hint.target == "connector":
            return [row] if row is not None and row.status == "active" else []
        return [
            connector
            for connector in self.registry.catalog.connectors()
            if connector.provider == provider.name
            and connector.status == "active"
            and self.registry.is_active(connector)
            and (_is_account(connector, hint.key) if hint.target == "account" else _has_selected(connector, hint.key))
        ]

    async def _trigger_sync(self, row: ConnectorChanged, hint: ChangeHint) -> None:
        """Request a run unless one is queued already, which will include this change."""
        async with self.registry.locks.acquire(f"connector-ask/{row.id}"):
            waiting = [run for run in (await self.registry.load_runs(row.id)).runs if run.queued]
            if not any(run.full or not hint.requires_full_sync for run in waiting):
                await self.registry.request_sync(row, "event", full=hint.requires_full_sync)

    async def _subscription(self, row: ConnectorChanged | None) -> WebhookSubscription | None:
        if row is None:
            return None
        kept = (await self.connection_factory.secret_store.read(row.id)).get("subscription")
        return None if kept is None else load_subscription(kept)

    def _is_duplicate(self, delivery: str) -> bool:
        """Return whether a delivery id was seen recently; a forgotten duplicate only costs a run."""
        is_known = delivery in self._recent_deliveries
        self._recent_deliveries[delivery] = None
        self._recent_deliveries.move_to_end(delivery)
        if len(self._recent_deliveries) > _MAX_REMEMBERED_DELIVERIES:
            self._recent_deliveries.popitem(last=False)
        return is_known


def _is_account(row: ConnectorChanged, key: str) -> bool:
    return row.account is not None and row.account.webhook_id == key


def _has_selected(row: ConnectorChanged, key: str) -> bool:
    return any(choice.id == key for choices in (row.selection or {}).values() for choice in choices)


def _reject_stale(receipt: VerifiedDelivery, now: datetime) -> None:
    """Reject a delivery older than the allowed age: it may be replayed."""
    if receipt.sent_at is not None and abs(now - receipt.sent_at) > MAX_DELIVERY_AGE:
        raise WebhookVerificationError(f"It was sent at {receipt.sent_at.isoformat()}.")


async def _read_body(request: Request, max_bytes: int) -> bytes | None:
    """Read the request's body; None if it is larger than `max_bytes`."""
    content_length = request.headers.get("content-length", "")
    if content_length.isdigit() and int(content_length) > max_bytes:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            return None
    return bytes(body)
