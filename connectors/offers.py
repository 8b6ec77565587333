"""What the interface asks of connectors: what can be connected, and the links that lead to people."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final
from urllib.parse import urlencode

from connectors import handshakes
from connectors.connecting import Connecting
from connectors.vault import VaultKeyError
from pipeline.connections import Connections
from schemas.events import ConnectorChanged

PICK_FOR: Final = timedelta(hours=1)
PICKER: Final = "/picker"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a provider can do here. `kinds`: what can be selected."""

    kinds: Sequence[str]
    webhooks: bool
    authorizes: bool


@dataclass(frozen=True, slots=True)
class Offers:
    """`api.ports.Connectors`."""

    connections: Connections
    connecting: Connecting

    def offer(self, provider: str) -> Offer | None:
        """None where the operator has not set the provider up."""
        found = self.connecting.providers.get(provider)
        if found is None or not self.connecting.secrets.ready:
            return None
        webhooks = found.webhooks and self.connecting.address.startswith("https://")
        return Offer(found.kinds, webhooks, found.oauth is not None)

    async def handshakes(self) -> Mapping[str, str]:
        """Verification tokens that providers sent for the operator."""
        return await handshakes.sent(self.connecting.secrets)

    async def reseal(self) -> tuple[int, list[str]]:
        """As `reseal` below."""
        return await reseal(self.connections, self.connecting)

    async def keep(self, connector: str, config: Mapping[str, str]) -> None:
        """Seal the secret part of a config."""
        await self.connecting.secrets.put(connector, "config", dict(config))

    async def authorize(self, row: ConnectorChanged, redirect_url: str | None) -> str:
        """A link that works once."""
        secret = {"state": token_urlsafe(32), "verifier": token_urlsafe(48), "redirect_url": redirect_url}
        await self.connecting.secrets.put(row.id, "authorization", secret)
        return self._link(row, secret)

    async def authorization(self, row: ConnectorChanged) -> str | None:
        """The link again; None where it was used, or the provider was taken away."""
        secret = (await self.connecting.secrets.read(row.id)).get("authorization")
        if secret is None or row.provider not in self.connecting.providers:
            return None
        return self._link(row, secret)

    async def pick(self, row: ConnectorChanged, return_url: str | None) -> tuple[str, datetime]:
        """A link to the picker that works once, and until when."""
        until = self.connections.now() + PICK_FOR
        token = token_urlsafe(32)
        kept = {"token": digest(token), "until": until.isoformat(), "return_url": return_url}
        await self.connecting.secrets.put(row.id, "picker", kept)
        return f"{self.connecting.address}{PICKER}/{row.id}?{urlencode({'token': token})}", until

    def _link(self, row: ConnectorChanged, secret: Mapping[str, Any]) -> str:
        authority = self.connecting.authority(row.provider)
        return authority.link(f"{row.id}.{secret['state']}", secret["verifier"])


async def reseal(connections: Connections, connecting: Connecting) -> tuple[int, list[str]]:
    """Seal with the newest key what an older one sealed: how many, and whose (connectors) no key opens."""
    secrets = connecting.secrets
    places = [handshakes.PLACE, *(row.id for row in connections.catalog.connectors())]
    anew, closed = 0, []
    for place in places:
        try:
            anew += await secrets.rotate(place)
        except VaultKeyError as error:
            log.warning("%s", error)
            closed.append(place)
    return anew, closed


def digest(token: str) -> str:
    """What is kept of a token that a link carries."""
    return sha256(token.encode()).hexdigest()
