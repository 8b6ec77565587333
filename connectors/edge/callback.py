"""/oauth/callback: where a user comes back from the provider. A state is good once, for one connector."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from connectors.connecting import Connecting
from connectors.edge.page import HEADERS, message
from connectors.errors import ConnectorError, UnavailableError
from pipeline.connections import Connections
from schemas.events import ConnectorAccount, ConnectorChanged

_LATE = "This link was used already or is too old. Ask for a new one."


@dataclass(frozen=True, slots=True)
class Callback:
    """The route's parts."""

    connections: Connections
    connecting: Connecting

    async def answer(self, request: Request) -> Response:
        """Back to where the user came from, or a page that says how it went."""
        connector, _, secret = request.query_params.get("state", "").partition(".")
        row = self.connections.found(connector)
        if row is None or row.status != "pending":
            return message("Not connected", _LATE, 400)
        if (denied := request.query_params.get("error")) is not None:
            return await self._denied(row, secret, denied)
        taken = await self._taken(row, secret)
        if taken is None:
            return message("Not connected", _LATE, 400)
        try:
            await self._connect(row, request.query_params.get("code", ""), taken["verifier"])
        except UnavailableError as error:
            # Nobody's fault: the same link may be tried again.
            await self.connecting.secrets.put(row.id, "authorization", taken)
            return _back(taken, "provider_unavailable", str(error))
        except ConnectorError as error:
            return _back(taken, error.code, str(error))
        return _back(taken, None, "You can close this window.", connector=row.id)

    async def _denied(self, row: ConnectorChanged, secret: str, reason: str) -> Response:
        """The user said no, or the provider did; the link stays good."""
        kept = (await self.connecting.secrets.read(row.id)).get("authorization")
        if kept is None or not _same(kept["state"], secret):
            return message("Not connected", _LATE, 400)
        code = "access_denied" if reason == "access_denied" else "provider_refused"
        return _back(kept, code, f"{row.provider} gave no access.")

    async def _taken(self, row: ConnectorChanged, secret: str) -> Mapping[str, Any] | None:
        """What the link was made with, which nobody gets a second time."""
        taken: list[Mapping[str, Any]] = []

        def take(values: dict[str, Any]) -> dict[str, Any] | None:
            kept = values.get("authorization")
            if kept is None or not _same(kept["state"], secret):
                return None
            taken.append(values.pop("authorization"))
            return values

        await self.connecting.secrets.change(row.id, take)
        return taken[0] if taken else None

    async def _connect(self, row: ConnectorChanged, code: str, verifier: str) -> None:
        token = await self.connecting.authority(row.provider).exchange(code, verifier)
        await self.connecting.secrets.put(row.id, "tokens", dict(token))
        provider = self.connecting.provider(row.provider)
        account = await provider.account(await self.connecting.connection(row))
        told = None if account is None else ConnectorAccount(name=account.name, key=account.key)
        update = {"status": "active", "account": told, "authorize_until": None}
        active = await self.connections.change(
            row.id, lambda one: one.model_copy(update=update) if one.status == "pending" else one
        )
        if active is not None and active.status == "active":
            await self.connections.trigger(active, "manual")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _back(link: Mapping[str, Any], error: str | None, text: str, connector: str | None = None) -> Response:
    title = "Connected" if error is None else "Not connected"
    if link["redirect_url"] is None:
        return message(title, text, 200 if error is None else 400)
    parts = urlsplit(link["redirect_url"])
    told = {"connector": connector, "error": error, "error_description": text if error else None}
    query = urlencode({name: value for name, value in told.items() if value is not None})
    url = urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))
    return RedirectResponse(
        url, 303, {"Referrer-Policy": "no-referrer", "Cache-Control": HEADERS["Cache-Control"]}
    )
