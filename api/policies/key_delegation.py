"""Grants of API keys: a key gives others at most its own namespaces, scopes, limits and time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.policies.api_keys import LIMIT_NAMES, OPERATOR_KEY_ID, KeyLimits, Principal, issuers_of, scopes_of
from schemas.events import KeyChanged
from schemas.http.extensions.api_key_bodies import ROLE_SCOPES

_LIMITS = {
    "rate_limit": "requests a minute",
    "monthly_documents": "documents a month",
    "monthly_searches": "searches a month",
    "monthly_bytes": "bytes a month",
    "monthly_tokens": "tokens a month",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(KeyLimits):
    """The most that a key may grant: its own limits, with the defaults of the settings. None: unlimited."""

    scopes: frozenset[str] = ROLE_SCOPES["admin"]

    @classmethod
    def of_row(cls, row: KeyChanged, default: "Grant") -> "Grant":
        limits = {name: getattr(default, name) if value is None else value for name, value in limits_of(row).items()}
        return cls(**limits)

    def inherited(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a new key; what is not given is as the issuer has it."""
        own = {name: getattr(self, name) for name in LIMIT_NAMES}
        return {name: own[name] if fields.get(name) is None else fields[name] for name in own}

    def refusal(self, fields: Mapping[str, Any]) -> str | None:
        """Return which of the fields given exceeds this grant, for people; None: none does."""
        for name, unit in _LIMITS.items():
            most = getattr(self, name)
            if name in fields and most is not None and (fields[name] is None or fields[name] > most):
                return f"Your key has {most:,} {unit}."
        if beyond := fields.get("scopes", frozenset()) - self.scopes:
            return f"Your key has no scope {' or '.join(sorted(beyond))}."
        if "expires_at" in fields and self.expires_at is not None:
            expires_at: datetime | None = fields["expires_at"]
            is_later = expires_at is None or expires_at > self.expires_at
            return f"Your key expires at {self.expires_at.isoformat()}." if is_later else None
        return None


def grant_of(principal: Principal, default: Grant) -> Grant:
    """Return what a key may grant; an operator's key may grant everything while it lasts."""
    if principal.is_operator:
        return Grant(expires_at=principal.expires_at, scopes=principal.granted)
    limits = {
        name: getattr(default, name) if getattr(principal, name) is None else getattr(principal, name)
        for name in _LIMITS
    }
    return Grant(**limits, expires_at=principal.expires_at, scopes=principal.granted)


def limits_of(row: KeyChanged) -> dict[str, Any]:
    """Return a key's limits, scopes and end, as far as they are its own."""
    return {name: getattr(row, name) for name in LIMIT_NAMES} | {"scopes": scopes_of(row)}


def may_enlarge(principal: Principal, row: KeyChanged, keys: Iterable[KeyChanged]) -> bool:
    """Return whether a key may get more, or a new secret, by this one: it is the same, or below it.

    What another key got would outlast this one's revocation, and has a quota of its own.
    """
    if principal.id in {OPERATOR_KEY_ID, row.id}:
        return True
    return is_issuer_of(principal.id, row.id, keys)


def is_issuer_of(issuer: str, key: str, keys: Iterable[KeyChanged]) -> bool:
    """Return whether a key issued the other, or issued one of its issuers."""
    by_id = {known.id: known for known in keys}
    return any(row.id == issuer for row in issuers_of(key, by_id.get))


def adopted(key: KeyChanged, importer: str, find: Callable[[str], KeyChanged | None]) -> KeyChanged:
    """Return an imported key with the importing key as its issuer; the operator imports keys unchanged."""
    issuers = [] if key.issuer is None else [key.issuer, *(row.id for row in issuers_of(key.issuer, find))]
    return key if importer in {OPERATOR_KEY_ID, *issuers} else key.model_copy(update={"issuer": importer})


def issued_by(row: KeyChanged, keys: Iterable[KeyChanged]) -> list[KeyChanged]:
    """Return all keys that a key issued, itself or through others."""
    by_id = {known.id: known for known in keys}
    return [known for known in by_id.values() if any(row.id == issuer.id for issuer in issuers_of(known.id, by_id.get))]
