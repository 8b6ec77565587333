"""Pub/Sub's pushes: an OpenID Connect token says that it is Google who calls, and for whom."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.util import urlsafe_b64decode

from connectors.errors import ForgedError
from pipeline.ports import Clock

_ISSUERS = ["https://accounts.google.com", "accounts.google.com"]
_KEPT = timedelta(hours=6)
_AGAIN = timedelta(minutes=1)
_LEEWAY = 60

Fetch = Callable[[str], Awaitable[bytes]]


@dataclass(slots=True)
class GoogleKeys:
    """Google's keys: fetched when they are needed, kept for hours, asked for again when one is unknown."""

    url: str
    fetch: Fetch
    clock: Clock
    _keys: KeySet | None = None
    _at: datetime | None = None

    async def having(self, kid: str) -> KeySet:
        """The keys, with this one among them where Google has it. At most once a minute asked for anew."""
        now = self.clock.now()
        age = now - self._at if self._at is not None else None
        known = self._keys is not None and kid in {key.kid for key in self._keys.keys}
        if self._keys is None or age is None or age > _KEPT or (not known and age > _AGAIN):
            self._keys = KeySet.import_key_set(json.loads(await self.fetch(self.url)))
            self._at = now
        return self._keys


async def checked_push(
    authorization: str, *, keys: GoogleKeys, audience: str, account: str, now: datetime
) -> Mapping[str, Any]:
    """The claims of a genuine push. ForgedError for any other."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or token.count(".") != 2:
        raise ForgedError("A push without a token.")
    registry = jwt.JWTClaimsRegistry(
        now=int(now.timestamp()),
        leeway=_LEEWAY,
        iss={"essential": True, "values": _ISSUERS},
        aud={"essential": True, "value": audience},
        email={"essential": True, "value": account},
        email_verified={"essential": True, "value": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    try:
        found = jwt.decode(token, await keys.having(_kid(token)), algorithms=["RS256"])
        registry.validate(found.claims)
    except (JoseError, ValueError) as error:
        raise ForgedError(f"A push with a token that is not good: {error}") from error
    return found.claims


def _kid(token: str) -> str:
    header = json.loads(urlsafe_b64decode(token.partition(".")[0].encode()))
    return str(header.get("kid", "")) if isinstance(header, dict) else ""


def members(value: object, names: Collection[str]) -> dict[str, str]:
    """The text members of an object, ForgedError where one is missing."""
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in names):
        raise ForgedError("A push that is none of Gmail's.")
    return {name: value[name] for name in names}
