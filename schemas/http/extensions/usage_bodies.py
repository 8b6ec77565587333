"""Bodies of monthly usage (extension of the contract)."""

from schemas.base import ResponseBody
from schemas.http.field_types import Count


class QuotaUsage(ResponseBody):
    """Usage and limit; `limit` null: unlimited."""

    used: Count
    limit: Count | None


class KeyUsage(ResponseBody):
    """Monthly usage of a key, and its limit of requests per minute."""

    id: str
    name: str
    documents: QuotaUsage
    searches: QuotaUsage
    bytes: QuotaUsage
    """Of the texts and files that it added."""
    tokens: QuotaUsage
    """Of the answers to its reads, at four characters each; counted for keys with a budget, or below one."""
    rate_limit: int | None


class UsageResponse(ResponseBody):
    """Usage of a month (`2026-01`, UTC).

    `documents`, `searches`: totals of all keys; null unless the caller is an operator.
    """

    month: str
    documents: QuotaUsage | None
    searches: QuotaUsage | None
    keys: list[KeyUsage]
