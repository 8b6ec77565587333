"""What keys used in a month. Ours, and outside the contract."""

from schemas.base import Answer
from schemas.http.parts import Count


class Used(Answer):
    """How much was used; `limit` null: there is none."""

    used: Count
    limit: Count | None


class KeyUsage(Answer):
    """A key's month, and how many requests a minute it may make."""

    id: str
    name: str
    documents: Used
    searches: Used
    rate_limit: int | None


class UsageAnswer(Answer):
    """A month (`2026-01`, UTC).

    `documents`, `searches`: of all keys together; null where whoever asks may not see all of them.
    """

    month: str
    documents: Used | None
    searches: Used | None
    keys: list[KeyUsage]
