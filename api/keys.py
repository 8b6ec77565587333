"""API keys: making, finding and revoking them. `rk_<id>_<secret>`; only the SHA-256 of the whole is kept."""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Protocol

from pipeline.ports import Catalog, Publisher
from pipeline.rows import KeyRow
from pipeline.settings import Settings
from schemas.events import KeyChanged, SettingsChanged
from schemas.http.keys import Role
from schemas.topics import SETTINGS_CHANGED

PREFIX = "rk_"
ADMIN_ID = "admin"
"""The id of the key that the operator gave by setting."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking, and what they may do. `namespaces`: names and prefixes (`team-a:*`); None: all."""

    id: str
    role: Role
    namespaces: tuple[str, ...] | None = None
    rate_limit: int | None = None
    monthly_documents: int | None = None
    monthly_searches: int | None = None
    """What is its own of these; None: as the settings say."""

    @property
    def is_admin(self) -> bool:
        """Whether the key may issue and revoke keys within its own scope."""
        return self.role == "admin"

    @property
    def is_operator(self) -> bool:
        """Whether the key may see and change what belongs to no namespace: an admin key for all of them."""
        return self.is_admin and self.namespaces is None

    def may_issue(self, namespaces: Sequence[str] | None) -> bool:
        """Whether a key for these (None: for all) opens nothing that this one does not."""
        if self.namespaces is None:
            return True
        own = self.namespaces
        return namespaces is not None and all(any(_within(one, scope) for scope in own) for one in namespaces)

    def may_read(self, namespace: str) -> bool:
        """Whether the namespace is within the key's scope."""
        if self.namespaces is None:
            return True
        return any(_covers(scope, namespace) for scope in self.namespaces)

    def may_write(self, namespace: str) -> bool:
        """Whether the key may change the namespace."""
        return self.role != "read" and self.may_read(namespace)


def _covers(scope: str, namespace: str) -> bool:
    return namespace.startswith(scope[:-1]) if scope.endswith("*") else namespace == scope


def _within(inner: str, outer: str) -> bool:
    return inner == outer or (outer.endswith("*") and inner.removesuffix("*").startswith(outer[:-1]))


class _Keys(Protocol):
    def key(self, id: str) -> KeyRow | None: ...  # noqa: A002 - a key's own word


class Keyring:
    """Finds whom a secret belongs to. `admin`: the operator's own secrets, separated by commas."""

    def __init__(self, keys: _Keys, admin: str | None = None) -> None:
        self._keys = keys
        self._admin = [digest(one) for one in Settings.listed(admin)]

    def principal(self, secret: str, now: datetime) -> Principal | None:
        """None: unknown, expired or revoked."""
        hashed = digest(secret)
        if any(hmac.compare_digest(hashed, own) for own in self._admin):
            return Principal(id=ADMIN_ID, role="admin")
        row = self._keys.key(_id_of(secret))
        # Compared also where there is no such key, so that time tells nothing about ids.
        fits = hmac.compare_digest(hashed, row.sha256 if row else _NOBODYS)
        before = hmac.compare_digest(hashed, _before(row, now))
        fits = fits or before
        if row is None or not fits or ended(row, now):
            return None
        return principal_of(row)


def principal_of(row: KeyRow) -> Principal:
    """Whom a key stands for."""
    return Principal(
        id=row.id,
        role=row.role,
        namespaces=row.namespaces,
        rate_limit=row.rate_limit,
        monthly_documents=row.monthly_documents,
        monthly_searches=row.monthly_searches,
    )


def _before(row: KeyRow | None, now: datetime) -> str:
    """What is kept of the secret before the newest, as long as it opens anything."""
    if row is None or row.previous_sha256 is None or row.previous_until is None or row.previous_until <= now:
        return _NOBODYS
    return row.previous_sha256


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


_NOBODYS = digest("")


def _id_of(secret: str) -> str:
    return secret.removeprefix(PREFIX).partition("_")[0]


def mint(
    name: str,
    role: Role,
    namespaces: Sequence[str] | None,
    *,
    now: datetime,
    expires_in_days: int | None = None,
    rate_limit: int | None = None,
    monthly_documents: int | None = None,
    monthly_searches: int | None = None,
) -> tuple[KeyChanged, str]:
    """A new key and its secret, which is nowhere else."""
    key = secrets.token_hex(6)
    secret = _secret(key)
    change = KeyChanged(
        id=key,
        name=name,
        sha256=digest(secret),
        role=role,
        namespaces=None if namespaces is None else tuple(namespaces),
        created_at=now,
        expires_at=_after(now, expires_in_days),
        rate_limit=rate_limit,
        monthly_documents=monthly_documents,
        monthly_searches=monthly_searches,
    )
    return change, secret


def _secret(key: str) -> str:
    return f"{PREFIX}{key}_{secrets.token_urlsafe(32)}"


def rotated(
    row: KeyRow, *, now: datetime, overlap: timedelta, expires_in_days: int | None = None
) -> tuple[KeyChanged, str]:
    """A new secret for a key; the one before opens as much for as long as `overlap`."""
    secret = _secret(row.id)
    fields: dict[str, Any] = {
        "sha256": digest(secret),
        "previous_sha256": row.sha256 if overlap else None,
        "previous_until": now + overlap if overlap else None,
        "changed_at": now,
    }
    if expires_in_days is not None:
        fields["expires_at"] = _after(now, expires_in_days)
    return _changed(row, **fields), secret


def changed(row: KeyRow, fields: Mapping[str, Any], *, now: datetime) -> KeyChanged:
    """The change of a key's name and limits. `fields`: by their names in the row, and `expires_in_days`."""
    given = dict(fields)
    if "expires_in_days" in given:
        given["expires_at"] = _after(now, given.pop("expires_in_days"))
    return _changed(row, **given, changed_at=now)


def _after(now: datetime, days: int | None) -> datetime | None:
    return None if days is None else now + timedelta(days=days)


def ended(row: KeyRow, now: datetime) -> bool:
    """Whether it is revoked or expired."""
    return row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now)


def revoked(row: KeyRow, now: datetime) -> KeyChanged:
    """The change that ends a key; a key that has ended stays as it is."""
    return _changed(row, revoked_at=row.revoked_at or now, changed_at=now)


def _changed(row: KeyRow, **fields: Any) -> KeyChanged:
    return KeyChanged.model_validate({**asdict(row), **fields})


def row_of(change: KeyChanged) -> KeyRow:
    """The row that a change makes."""
    return KeyRow(**{name: getattr(change, name) for name in KeyRow.__dataclass_fields__})


async def save(change: KeyChanged, publisher: Publisher, catalog: Catalog) -> None:
    """Write a key to the log and let it count at once."""
    event = SettingsChanged(change=change)
    await publisher.publish(SETTINGS_CHANGED, [(f"key/{change.id}", event)])
    catalog.apply(event)
