"""API keys `rk_<id>_<secret>`: issue, authenticate, rotate and revoke; only the SHA-256 is stored.

What a limited admin key and all keys below it use counts against its limits.
"""

import hmac
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from functools import reduce
from hashlib import sha256
from typing import Any

from pipeline.ports import Publisher
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.settings import Settings
from pipeline.store import SettingsCatalog
from schemas.events import KeyChanged, SettingsChanged
from schemas.http.extensions.api_key_bodies import ROLE_SCOPES, Role, Scope

SECRET_PREFIX = "rk_"  # noqa: S105 - every key begins with it
OPERATOR_KEY_ID = "admin"
"""Id of the operator's key, which comes from a setting."""
KEYS_LOCK = "keys"
"""One lock for changes of all keys: what a key may depends on those that issued it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """Limits and end of a key. None: the default of the settings, for what it adds and is answered unlimited."""

    rate_limit: int | None = None
    monthly_documents: int | None = None
    monthly_searches: int | None = None
    monthly_bytes: int | None = None
    monthly_tokens: int | None = None
    expires_at: datetime | None = None


LIMIT_NAMES = tuple(field.name for field in fields(KeyLimits))


@dataclass(frozen=True, slots=True)
class Principal(KeyLimits):
    """Authenticated key and its permissions. `namespaces`: names and prefixes (`team-a:*`); None: all.

    `scopes` None: those of the role.
    """

    id: str
    role: Role
    namespaces: tuple[str, ...] | None = None
    scopes: frozenset[str] | None = None

    @property
    def granted(self) -> frozenset[str]:
        return ROLE_SCOPES[self.role] if self.scopes is None else self.scopes & ROLE_SCOPES[self.role]

    @property
    def is_admin(self) -> bool:
        """Return whether the key may issue and revoke keys within its scope."""
        return "admin" in self.granted

    @property
    def is_operator(self) -> bool:
        """Return whether this is an admin key for all namespaces, which may administer the service itself."""
        return self.is_admin and self.namespaces is None

    def may_issue(self, namespaces: Sequence[str] | None) -> bool:
        """Return whether the scope `namespaces` (None: all) lies within this key's scope."""
        if self.namespaces is None:
            return True
        own = self.namespaces
        return namespaces is not None and all(
            any(_pattern_includes(pattern, scope) for scope in own) for pattern in namespaces
        )

    def covers(self, namespace: str) -> bool:
        """Return whether the key is for the namespace, whatever it may do there."""
        if self.namespaces is None:
            return True
        return any(_pattern_matches(pattern, namespace) for pattern in self.namespaces)

    def may(self, scope: Scope, namespace: str) -> bool:
        return scope in self.granted and self.covers(namespace)

    def may_read(self, namespace: str) -> bool:
        return self.may("read", namespace)

    @property
    def readable(self) -> tuple[str, ...] | None:
        """Names and prefixes of the namespaces that the key may read; None: all."""
        return self.namespaces if "read" in self.granted else ()


def _pattern_matches(scope: str, namespace: str) -> bool:
    return namespace.startswith(scope[:-1]) if scope.endswith("*") else namespace == scope


def _pattern_includes(inner: str, outer: str) -> bool:
    return inner == outer or (outer.endswith("*") and inner.removesuffix("*").startswith(outer[:-1]))


class ApiKeyAuthenticator:
    """Authenticates secrets. `admin`: the operator's own secrets, separated by commas."""

    def __init__(self, keys: SettingsCatalog, admin: str | None = None) -> None:
        self._keys = keys
        self._admin = [hash_secret(secret) for secret in Settings.split_list(admin)]

    def authenticate(self, secret: str, now: datetime) -> Principal | None:
        """Return the principal of a secret; None if it is unknown, expired or revoked."""
        hashed = hash_secret(secret)
        if any(hmac.compare_digest(hashed, own) for own in self._admin):
            return Principal(id=OPERATOR_KEY_ID, role="admin")
        row = self._keys.key(secret.removeprefix(SECRET_PREFIX).partition("_")[0])
        # Compare even if the key does not exist, so that response times reveal nothing about ids.
        is_current = hmac.compare_digest(hashed, row.sha256 if row else _UNMATCHABLE_DIGEST)
        is_previous = hmac.compare_digest(hashed, _previous_digest(row, now))
        if row is None or not (is_current or is_previous) or is_inactive(row, now):
            return None
        issuers = list(issuers_of(row.id, self._keys.key))
        if any(is_inactive(issuer, now) for issuer in issuers):
            return None
        return principal_from_row(row, issuers)


def principal_from_row(row: KeyChanged, issuers: Iterable[KeyChanged] = ()) -> Principal:
    """Build the principal of a stored key, which has no scope that a key above it lacks."""
    return Principal(
        scopes=reduce(frozenset.intersection, map(scopes_of, issuers), scopes_of(row)),
        id=row.id,
        role=row.role,
        namespaces=row.namespaces,
        **{name: getattr(row, name) for name in LIMIT_NAMES},
    )


def scopes_of(row: KeyChanged) -> frozenset[str]:
    """Return the scopes of a stored key, without regard to the keys above it."""
    own = ROLE_SCOPES[row.role]
    return own if row.scopes is None else own.intersection(row.scopes)


def issuers_of(key: str, find: Callable[[str], KeyChanged | None]) -> Iterator[KeyChanged]:
    """Yield the key that issued this one, then the issuer's own, up to one without a recorded issuer."""
    row, seen = find(key), {key}
    while row is not None and row.issuer is not None and row.issuer not in seen:
        seen.add(row.issuer)
        row = find(row.issuer)
        if row is not None:
            yield row


def find_key_obstacle(key: str, namespace: str, find: Callable[[str], KeyChanged | None], now: datetime) -> str | None:
    """Return why what a key asked for in a namespace may not be told any more; None if it may."""
    if key == OPERATOR_KEY_ID:
        return None
    row = find(key)
    if row is None or any(is_inactive(held, now) for held in (row, *issuers_of(key, find))):
        return "The key that asked it is revoked or expired. Delete it and ask it again with another key."
    if not principal_from_row(row, issuers_of(key, find)).may_read(namespace):
        return "The key that asked it may not read this namespace any more."
    return None


def _previous_digest(row: KeyChanged | None, now: datetime) -> str:
    """Return the digest of the previous secret while its overlap lasts."""
    if row is None or row.previous_sha256 is None or row.previous_until is None or row.previous_until <= now:
        return _UNMATCHABLE_DIGEST
    return row.previous_sha256


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a secret, in hex."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


_UNMATCHABLE_DIGEST = hash_secret("")


def create_key(
    name: str,
    role: Role,
    namespaces: Sequence[str] | None,
    *,
    now: datetime,
    issuer: str | None = None,
    scopes: tuple[str, ...] | None = None,
    **limits: Any,
) -> tuple[KeyChanged, str]:
    """Create a key; return its event and its secret, which is stored nowhere. `limits`: as in `KeyLimits`."""
    key = secrets.token_hex(6)
    secret = _new_secret(key)
    change = KeyChanged(
        id=key,
        name=name,
        sha256=hash_secret(secret),
        role=role,
        namespaces=None if namespaces is None else tuple(namespaces),
        created_at=now,
        issuer=issuer,
        scopes=scopes,
        **asdict(KeyLimits(**limits)),
    )
    return change, secret


def _new_secret(key: str) -> str:
    return f"{SECRET_PREFIX}{key}_{secrets.token_urlsafe(32)}"


def rotate_secret(
    row: KeyChanged, *, now: datetime, overlap: timedelta, expires_at: datetime | None = None
) -> tuple[KeyChanged, str]:
    """Give a key a new secret; the previous secret stays valid for `overlap`."""
    secret = _new_secret(row.id)
    changes: dict[str, Any] = {
        "sha256": hash_secret(secret),
        "previous_sha256": row.sha256 if overlap else None,
        "previous_until": now + overlap if overlap else None,
        "changed_at": now,
    }
    if expires_at is not None:
        changes["expires_at"] = expires_at
    return row.model_copy(update=changes), secret


def expiry(now: datetime, days: int | None) -> datetime | None:
    return None if days is None else now + timedelta(days=days)


def is_inactive(row: KeyChanged, now: datetime) -> bool:
    """Return whether the key is revoked or expired."""
    return row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now)


def revoke_key(row: KeyChanged, now: datetime) -> KeyChanged:
    """Build the change that revokes a key; an earlier revocation time is kept."""
    return row.model_copy(update={"revoked_at": row.revoked_at or now, "changed_at": now})


async def publish_keys(changes: Iterable[KeyChanged], publisher: Publisher, settings_lock: SettingsLock) -> None:
    """Write keys to the log; applied here on return."""
    await settings_lock.publish(publisher, [(f"key/{key.id}", SettingsChanged(change=key)) for key in changes])


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """A limited admin key and all keys below it, revoked ones too."""

    head: KeyChanged
    members: frozenset[str]


class KeyTree:
    """Finds the families of a key. An operator's keys are none: they may lift any limit."""

    def __init__(self, keys: SettingsCatalog) -> None:
        self._keys = keys
        self._members: dict[str, set[str]] = {}
        self._known_count = -1

    def families(self, key: str) -> Iterator[KeyFamily]:
        """Yield the family that a key heads, and those of the keys above it."""
        own = self._keys.key(key)
        heads = [row for row in (own,) if row and _is_limited_admin(row)] + self.heads_above(key)
        if heads:
            self._refresh()
        for head in heads:
            yield KeyFamily(head, frozenset(self._members.get(head.id, ())) | {head.id})

    def heads_above(self, key: str) -> list[KeyChanged]:
        """Return the limited admin keys above a key, its issuer first."""
        return [row for row in issuers_of(key, self._keys.key) if _is_limited_admin(row)]

    def _refresh(self) -> None:
        # A key never changes its issuer and never goes, so the tree is the same while their number is.
        if self._known_count == self._keys.key_count:
            return
        members: defaultdict[str, set[str]] = defaultdict(set)
        rows = self._keys.keys()
        for row in rows:
            for issuer in issuers_of(row.id, self._keys.key):
                members[issuer.id].add(row.id)
        self._members, self._known_count = members, self._keys.key_count


def _is_limited_admin(row: KeyChanged) -> bool:
    return row.role == "admin" and row.namespaces is not None
