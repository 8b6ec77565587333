"""API keys: the administration interface, which is ours and outside the contract."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from schemas.base import Answer, Body
from schemas.http.parts import WHOLE, Maybe, Text, Timestamp
from schemas.limits import NAMESPACE_LENGTH, QUOTA, RATE

Role = Literal["admin", "write", "read"]
Name = Annotated[Text, Field(min_length=1, max_length=200)]
Days = Annotated[StrictInt, Field(ge=1, le=3650), WHOLE]
Rate = Annotated[StrictInt, Field(ge=1, le=RATE), WHOLE]
Quota = Annotated[StrictInt, Field(ge=0, le=QUOTA), WHOLE]
Scope = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_:-]*\*?$", min_length=1, max_length=NAMESPACE_LENGTH + 1)]
"""A namespace, or a prefix of namespaces: `team-a:*`."""


class KeyBody(Body):
    """A key to issue. Without `namespaces` it opens all of them."""

    name: Name
    role: Role = "write"
    namespaces: Maybe[Annotated[list[Scope], Field(min_length=1, max_length=1000)]] = None
    expires_in_days: Maybe[Days] = None
    rate_limit: Maybe[Rate] = None
    """Requests a minute; as the settings say where it is not given, like the next two."""
    monthly_documents: Maybe[Quota] = None
    monthly_searches: Maybe[Quota] = None


class KeyPatch(Body):
    """What changes of a key. null: as the settings say; of `expiresInDays`, which count from now: never."""

    name: Maybe[Name] = None
    expires_in_days: Days | None = None
    rate_limit: Rate | None = None
    monthly_documents: Quota | None = None
    monthly_searches: Quota | None = None

    @classmethod
    def nullable(cls) -> frozenset[str]:
        """All that need not be there."""
        return frozenset({"expiresInDays", "rateLimit", "monthlyDocuments", "monthlySearches"})

    @model_validator(mode="after")
    def _changes_something(self) -> "KeyPatch":
        if not self.model_fields_set:
            raise ValueError(
                "give at least one of name, expiresInDays, rateLimit, monthlyDocuments and monthlySearches: "
                "there is nothing to change"
            )
        return self


class KeyRotation(Body):
    """How long the secret before opens as much as the new one; 0: from now on nothing."""

    overlap_hours: Annotated[StrictInt, Field(ge=0, le=24 * 90), WHOLE] = 24
    expires_in_days: Maybe[Days] = None
    """From now; left out: as it was."""


class KeyAnswer(Answer):
    """A key without its secret."""

    id: str
    name: str
    role: Role
    namespaces: list[str] | None
    created_at: Timestamp
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    previous_until: Timestamp | None
    """Until when the secret before the newest opens as much."""
    rate_limit: int | None
    monthly_documents: int | None
    monthly_searches: int | None


class WhoAmI(Answer):
    """The key that asks. `namespaces` null: all of them; `operator`: it may see what belongs to none."""

    id: str
    name: str
    role: Role
    namespaces: list[str] | None
    operator: bool
    expires_at: Timestamp | None


class KeyIssued(KeyAnswer):
    """A new key with its secret, which is shown only now."""

    key: str


class KeysAnswer(Answer):
    """All keys, newest first."""

    keys: list[KeyAnswer]


class KeyRevoked(Answer):
    """The key opens nothing from now on."""

    id: str
    revoked: Literal[True]
