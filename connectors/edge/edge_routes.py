"""Routes of the edge: picker, webhooks, and /oauth/callback, to which a provider returns the user."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from connectors.accounts.account_linking import PICKER_PATH
from connectors.accounts.connection_factory import OAUTH_CALLBACK_PATH, ConnectionFactory
from connectors.accounts.webhook_subscriptions import WEBHOOKS_PATH
from connectors.edge.html_page import SECURITY_HEADERS, message_page
from connectors.edge.picker import LINK_EXPIRED_MESSAGE, Picker
from connectors.edge.webhooks import WebhookReceiver
from connectors.errors import ConnectorError, ProviderUnavailableError
from pipeline.connector_registry import ConnectorRegistry
from schemas.events import ConnectorChanged

_LINKABLE = frozenset({"pending", "active"})
"""Statuses of connectors that a user may authorize, also anew."""


@dataclass(frozen=True, slots=True)
class OAuthCallback:
    registry: ConnectorRegistry
    connection_factory: ConnectionFactory

    async def handle(self, request: Request) -> Response:
        """Exchange the code, then redirect to the application or show a page with the outcome."""
        connector, _, secret = request.query_params.get("state", "").partition(".")
        row = self.registry.find_active(connector)
        if row is None or row.status not in _LINKABLE:
            return message_page("Not connected", LINK_EXPIRED_MESSAGE, 400)
        if (denied := request.query_params.get("error")) is not None:
            return await self._denied(row, secret, denied)
        taken = await self.connection_factory.secret_store.take(
            row.id, "authorization", lambda kept: _equal_in_constant_time(kept["state"], secret)
        )
        if taken is None:
            return message_page("Not connected", LINK_EXPIRED_MESSAGE, 400)
        try:
            await self._activate(row, request.query_params.get("code", ""), taken["verifier"])
        except ProviderUnavailableError as error:
            # A passing failure: the same link may be tried again.
            await self.connection_factory.secret_store.set_value(row.id, "authorization", taken)
            return _redirect_back(taken, "provider_unavailable", str(error))
        except ConnectorError as error:
            return _redirect_back(taken, error.code, str(error))
        return _redirect_back(taken, None, "You can close this window.", connector=row.id)

    async def _denied(self, row: ConnectorChanged, secret: str, reason: str) -> Response:
        """Report a denied authorization; the link stays valid."""
        kept = (await self.connection_factory.secret_store.read(row.id)).get("authorization")
        if kept is None or not _equal_in_constant_time(kept["state"], secret):
            return message_page("Not connected", LINK_EXPIRED_MESSAGE, 400)
        code = "access_denied" if reason == "access_denied" else "provider_refused"
        return _redirect_back(kept, code, f"{row.provider} gave no access.")

    async def _activate(self, row: ConnectorChanged, code: str, verifier: str) -> None:
        token = await self.connection_factory.authorization_server(row.provider).exchange_code(code, verifier)
        await self.connection_factory.secret_store.set_value(row.id, "tokens", dict(token))
        provider = self.connection_factory.provider_named(row.provider)
        account = await provider.fetch_account(await self.connection_factory.connect(row))
        update: dict[str, Any] = {"status": "active", "account": account, "authorization_expires_at": None}
        if row.status == "active" and row.account != account:
            # Another account: its items are listed anew, and those of the former one removed.
            update["selection_revision"] = row.selection_revision + 1
        active = await self.registry.modify(
            row.id, lambda current: current.model_copy(update=update) if current.status in _LINKABLE else current
        )
        if active is not None and active.status == "active":
            await self.registry.request_sync(active, "manual")


def _equal_in_constant_time(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())


def _redirect_back(pending: Mapping[str, Any], error: str | None, text: str, connector: str | None = None) -> Response:
    title = "Connected" if error is None else "Not connected"
    if pending["redirect_url"] is None:
        return message_page(title, text, 200 if error is None else 400)
    parts = urlsplit(pending["redirect_url"])
    parameters = {"connector": connector, "error": error, "error_description": text if error else None}
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    url = urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))
    return RedirectResponse(
        url, 303, {"Referrer-Policy": "no-referrer", "Cache-Control": SECURITY_HEADERS["Cache-Control"]}
    )


def edge_routes(
    registry: ConnectorRegistry, connection_factory: ConnectionFactory, webhooks: WebhookReceiver
) -> list[BaseRoute]:
    """Build the routes, to be mounted at the root of the service's public URL."""
    picker = Picker(registry, connection_factory)
    return [
        Route(OAUTH_CALLBACK_PATH, OAuthCallback(registry, connection_factory).handle, methods=["GET"]),
        Route(f"{WEBHOOKS_PATH}/{{provider}}", webhooks.handle, methods=["GET", "POST"]),
        Route(f"{WEBHOOKS_PATH}/{{provider}}/{{connector}}", webhooks.handle, methods=["GET", "POST"]),
        Route(f"{PICKER_PATH}/assets/{{name}}", picker.asset, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}", picker.page, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}/entries", picker.entries, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}/selection", picker.selection, methods=["GET", "PUT"]),
    ]
