"""/webhooks: what providers send when something changed. Checked, answered at once, one run for many."""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from connectors import handshakes
from connectors.connecting import Connecting
from connectors.errors import ConnectorError, ForgedError
from connectors.ports import Delivery, Hint, Provider, Receipt, Subscription
from connectors.subscriptions import subscription_of
from pipeline.connections import Connections
from schemas.events import ConnectorChanged

SECONDS: Final = 8.0
"""For the whole check: providers wait for ten at most."""
OLDEST: Final = timedelta(minutes=10)
_REMEMBERED: Final = 10_000
_AT_ONCE: Final = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The route's parts."""

    connections: Connections
    connecting: Connecting
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def answer(self, request: Request) -> Response:
        """What the provider wants to hear; 401 for what is not genuine, 413 for what is too large."""
        name, connector = request.path_params["provider"], request.path_params.get("connector")
        provider = self.connecting.providers.get(name)
        row = None if connector is None else self.connections.found(connector)
        if provider is None or (connector is not None and (row is None or row.provider != name)):
            return _said(404, "There is nobody here for this.")
        try:
            async with asyncio.timeout(SECONDS), self._slots:
                return await self._received(request, provider, row)
        except TimeoutError:
            return _said(503, "Too busy. Send it again.")
        except ClientDisconnect:
            return _said(400, "The request ended early.")

    async def _received(self, request: Request, provider: Provider, row: ConnectorChanged | None) -> Response:
        body = await _body(request, provider.delivery_bytes)
        if body is None:
            return _said(413, f"More than {provider.delivery_bytes:,} bytes.")
        try:
            receipt = await provider.receive(
                Delivery(
                    method=request.method,
                    headers={key.lower(): value for key, value in request.headers.items()},
                    query=dict(request.query_params),
                    body=body,
                    at=self.connections.now(),
                    subscription=await self._subscription(row),
                )
            )
            _refuse_late(receipt, self.connections.now())
            await self._take(receipt, provider, row)
        except ForgedError as error:
            log.warning("A delivery to %s was refused: %s", request.url.path, error)
            return _said(401, "This is not genuine.")
        except ConnectorError as error:
            log.warning("A delivery to %s could not be checked: %s", request.url.path, error)
            return _said(503, "This can't be checked now. Send it again.")
        reply = receipt.reply
        return Response(reply.body, reply.status, media_type=reply.media_type)

    async def _take(self, receipt: Receipt, provider: Provider, row: ConnectorChanged | None) -> None:
        if receipt.handshake is not None:
            await handshakes.keep(self.connecting.secrets, provider.name, receipt.handshake)
            log.info("%s sent its verification token: `recollect connectors handshakes`.", provider.name)
        if receipt.id is not None and self._is_known(f"{provider.name}/{receipt.id}"):
            return
        for hint in receipt.hints:
            for one in self._meant(hint, provider, row):
                await self._ask(one, hint)

    def _meant(self, hint: Hint, provider: Provider, row: ConnectorChanged | None) -> list[ConnectorChanged]:
        if hint.by == "connector":
            return [row] if row is not None and row.status == "active" else []
        return [
            one
            for one in self.connections.catalog.connectors()
            if one.provider == provider.name
            and one.status == "active"
            and self.connections.is_alive(one)
            and (_is_account(one, hint.key) if hint.by == "account" else _has_selected(one, hint.key))
        ]

    async def _ask(self, row: ConnectorChanged, hint: Hint) -> None:
        """A run, unless one waits already: that will see this change too."""
        async with self.connections.locks.hold(f"connector-ask/{row.id}"):
            waiting = [run for run in (await self.connections.runs(row.id)).runs if run.queued]
            if not any(run.full or not hint.full for run in waiting):
                await self.connections.trigger(row, "event", full=hint.full)

    async def _subscription(self, row: ConnectorChanged | None) -> Subscription | None:
        if row is None:
            return None
        kept = (await self.connecting.secrets.read(row.id)).get("subscription")
        return None if kept is None else subscription_of(kept)

    def _is_known(self, delivery: str) -> bool:
        """Whether it was taken before; a repetition beyond what is remembered costs a run, no more."""
        known = delivery in self._seen
        self._seen[delivery] = None
        self._seen.move_to_end(delivery)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return known


def _is_account(row: ConnectorChanged, key: str) -> bool:
    return row.account is not None and row.account.key == key


def _has_selected(row: ConnectorChanged, key: str) -> bool:
    return any(choice.id == key for choices in (row.selection or {}).values() for choice in choices)


def _refuse_late(receipt: Receipt, now: datetime) -> None:
    """A signature is good for minutes: later it is somebody's recording."""
    if receipt.sent_at is not None and abs(now - receipt.sent_at) > OLDEST:
        raise ForgedError(f"It was sent at {receipt.sent_at.isoformat()}.")


async def _body(request: Request, limit: int) -> bytes | None:
    """None: it is larger than that."""
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > limit:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            return None
    return bytes(body)


def _said(status: int, text: str) -> Response:
    return PlainTextResponse(text, status)
