"""Verification of Pub/Sub pushes by their OpenID Connect token."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.util import urlsafe_b64decode

from connectors.errors import WebhookVerificationError
from pipeline.ports import Clock

_ISSUERS = ["https://accounts.google.com", "accounts.google.com"]
_KEY_LIFETIME = timedelta(hours=6)
_MIN_REFETCH_INTERVAL = timedelta(minutes=1)
_CLOCK_LEEWAY_SECONDS = 60

FetchFunction = Callable[[str], Awaitable[bytes]]


@dataclass(slots=True)
class GoogleSigningKeys:
    """Cache of Google's signing keys, refreshed after hours or for an unknown key id."""

    url: str
    fetch: FetchFunction
    clock: Clock
    _keys: KeySet | None = None
    _fetched_at: datetime | None = None

    async def key_set_with(self, kid: str) -> KeySet:
        """Return the key set, refreshed at most once a minute if `kid` is missing."""
        now = self.clock.now()
        age = now - self._fetched_at if self._fetched_at is not None else None
        is_known = self._keys is not None and kid in {key.kid for key in self._keys.keys}
        if self._keys is None or age is None or age > _KEY_LIFETIME or (not is_known and age > _MIN_REFETCH_INTERVAL):
            self._keys = KeySet.import_key_set(json.loads(await self.fetch(self.url)))
            self._fetched_at = now
        return self._keys


async def verify_push(
    authorization: str, *, keys: GoogleSigningKeys, audience: str, service_account: str, now: datetime
) -> Mapping[str, Any]:
    """Return the claims of an authentic push; WebhookVerificationError for any other."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or token.count(".") != 2:
        raise WebhookVerificationError("A push without a token.")
    registry = jwt.JWTClaimsRegistry(
        now=int(now.timestamp()),
        leeway=_CLOCK_LEEWAY_SECONDS,
        iss={"essential": True, "values": _ISSUERS},
        aud={"essential": True, "value": audience},
        email={"essential": True, "value": service_account},
        email_verified={"essential": True, "value": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    key_id = str(json.loads(urlsafe_b64decode(token.partition(".")[0].encode())).get("kid", ""))
    try:
        found = jwt.decode(token, await keys.key_set_with(key_id), algorithms=["RS256"])
        registry.validate(found.claims)
    except (JoseError, ValueError) as error:
        raise WebhookVerificationError(f"A push with an invalid token: {error}") from error
    return found.claims
