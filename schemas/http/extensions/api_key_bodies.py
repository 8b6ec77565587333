"""Bodies of API key administration (extension of the contract)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from schemas.base import PatchBody, RequestBody, ResponseBody
from schemas.http.field_types import COERCE_WHOLE_FLOAT, Omittable, Text, Timestamp
from schemas.limits import (
    MAX_MONTHLY_BUDGET,
    MAX_MONTHLY_QUOTA,
    MAX_NAMESPACE_LENGTH,
    MAX_REQUESTS_PER_MINUTE,
    NAMESPACE_SCOPE_PATTERN,
)

Role = Literal["admin", "write", "read"]
Scope = Literal["read", "write", "forget", "connect", "admin"]
KeyScopes = Annotated[list[Scope], Field(min_length=1, max_length=5)]
ROLE_SCOPES: Mapping[Role, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write", "forget", "connect"}),
    "admin": frozenset({"read", "write", "forget", "connect", "admin"}),
}
"""What a role may do, and at most what a key of this role may be limited to."""
KeyName = Annotated[Text, Field(min_length=1, max_length=200)]
ExpiryDays = Annotated[StrictInt, Field(ge=1, le=3650), COERCE_WHOLE_FLOAT]
RequestsPerMinute = Annotated[StrictInt, Field(ge=1, le=MAX_REQUESTS_PER_MINUTE), COERCE_WHOLE_FLOAT]
QuotaLimit = Annotated[StrictInt, Field(ge=0, le=MAX_MONTHLY_QUOTA), COERCE_WHOLE_FLOAT]
BudgetLimit = Annotated[StrictInt, Field(ge=0, le=MAX_MONTHLY_BUDGET), COERCE_WHOLE_FLOAT]
NamespaceScopePattern = Annotated[
    str, Field(pattern=NAMESPACE_SCOPE_PATTERN, min_length=1, max_length=MAX_NAMESPACE_LENGTH + 1)
]
"""Namespace, or a prefix of namespaces: `team-a:*`."""


class KeyCreateBody(RequestBody):
    """Key to issue. Without `namespaces` it opens all of them."""

    name: KeyName
    role: Role = "write"
    scopes: Omittable[KeyScopes] = None
    """What the key may do, of what its role may; default: all of it."""
    namespaces: Omittable[Annotated[list[NamespaceScopePattern], Field(min_length=1, max_length=1000)]] = None
    expires_in_days: Omittable[ExpiryDays] = None
    rate_limit: Omittable[RequestsPerMinute] = None
    """Requests per minute; default: the settings, also for the next two limits."""
    monthly_documents: Omittable[QuotaLimit] = None
    monthly_searches: Omittable[QuotaLimit] = None
    monthly_bytes: Omittable[BudgetLimit] = None
    """Bytes of texts and files that it may add; default: unlimited, as the next one."""
    monthly_tokens: Omittable[BudgetLimit] = None
    """Tokens of the answers to its reads, at four characters each."""

    @model_validator(mode="after")
    def _require_scopes_of_role(self) -> "KeyCreateBody":
        if self.scopes is not None and (beyond := sorted(set(self.scopes) - ROLE_SCOPES[self.role])):
            raise ValueError(f"the role {self.role} has no scope {' or '.join(beyond)}")
        return self


class KeyPatch(PatchBody):
    """Changes of a key. null: the default of the settings; for `expiresInDays`: no expiry; `scopes`: the role's."""

    name: Omittable[KeyName] = None
    scopes: KeyScopes | None = None
    expires_in_days: ExpiryDays | None = None
    rate_limit: RequestsPerMinute | None = None
    monthly_documents: QuotaLimit | None = None
    monthly_searches: QuotaLimit | None = None
    monthly_bytes: BudgetLimit | None = None
    monthly_tokens: BudgetLimit | None = None


class KeyRotationBody(RequestBody):
    """Rotation of a key. `overlap_hours`: how long the previous secret stays valid; 0: not at all."""

    overlap_hours: Annotated[StrictInt, Field(ge=0, le=24 * 90), COERCE_WHOLE_FLOAT] = 24
    expires_in_days: Omittable[ExpiryDays] = None
    """Days from now; default: unchanged."""


class KeyResponse(ResponseBody):
    """Key without its secret."""

    id: str
    name: str
    role: Role
    scopes: list[Scope]
    """What it may do, as far as the keys above it still may."""
    namespaces: list[str] | None
    created_at: Timestamp
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    previous_until: Timestamp | None
    """End of the previous secret's validity."""
    rate_limit: int | None
    monthly_documents: int | None
    monthly_searches: int | None
    monthly_bytes: int | None
    monthly_tokens: int | None
    issuer: str | None
    """Id of the key that issued this one; null: not recorded."""


class CallerResponse(ResponseBody):
    """Caller's key. `namespaces` null: all; `operator`: it may administer the service."""

    id: str
    name: str
    role: Role
    scopes: list[Scope]
    namespaces: list[str] | None
    operator: bool
    expires_at: Timestamp | None


class KeyIssued(KeyResponse):
    """New key or secret; the secret is shown only here."""

    key: str


class KeysResponse(ResponseBody):
    """Keys, newest first."""

    keys: list[KeyResponse]


class KeyRevoked(ResponseBody):
    """Revoked key."""

    id: str
    revoked: Literal[True]
