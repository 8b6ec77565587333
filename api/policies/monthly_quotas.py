"""Monthly quotas (UTC) of keys and of the organization; an exceeded quota is 402."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from api.errors.http_errors import QuotaExceededError
from api.policies.api_keys import OPERATOR_KEY_ID, KeyFamily, Principal, principal_from_row
from pipeline.ports import Clock
from pipeline.usage_counter import UsageCounter, UsageCounts, month_of
from schemas.events import KeyChanged

QuotaUnit = Literal["documents", "searches", "bytes", "tokens"]
QuotaOwner = Literal["key", "issuer", "organization"]
_WHOSE: Mapping[QuotaOwner, str] = {
    "key": "This key's",
    "issuer": "The issuing key's",
    "organization": "The organization's",
}
UNKNOWN_KEY_ID = "unknown"
"""Key charged for connectors that were created before their key was recorded."""


@dataclass(frozen=True, slots=True)
class MonthlyQuota:
    """Limits per month; None: unlimited."""

    documents: int | None = None
    searches: int | None = None
    bytes: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ExceededQuota:
    """Quota that a request would exceed. `issuer`: of a key above, which the keys below it use together."""

    owner: QuotaOwner
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class MonthlyQuotas:
    """Usage and limits. `default_key_quota`: of keys without limits of their own."""

    usage: UsageCounter = field(default_factory=UsageCounter)
    organization_quota: MonthlyQuota = field(default_factory=MonthlyQuota)
    default_key_quota: MonthlyQuota = field(default_factory=MonthlyQuota)

    def key_quota(self, principal: Principal) -> MonthlyQuota:
        return MonthlyQuota(
            self.default_key_quota.documents if principal.monthly_documents is None else principal.monthly_documents,
            self.default_key_quota.searches if principal.monthly_searches is None else principal.monthly_searches,
            principal.monthly_bytes,
            principal.monthly_tokens,
        )

    def require(
        self,
        principal: Principal,
        clock: Clock,
        unit: QuotaUnit,
        requested: int = 1,
        families: Iterable[KeyFamily] = (),
    ) -> None:
        """Raise QuotaExceededError if `requested` more would exceed a quota, without concurrent requests."""
        month = month_of(clock.now())
        exceeded = self.exceeded(principal.id, self.key_quota(principal), month, unit, requested, families=families)
        if exceeded is not None:
            whose = _WHOSE[exceeded.owner]
            raise QuotaExceededError(
                f"{whose} monthly quota of {unit} is used up",
                f"{exceeded.used:,} of {exceeded.limit:,} were used in {month} (UTC),"
                f" {requested:,} more were requested.",
            )

    def exceeded(
        self,
        key: str,
        quota: MonthlyQuota,
        month: str,
        unit: QuotaUnit,
        requested: int,
        *,
        families: Iterable[KeyFamily] = (),
    ) -> ExceededQuota | None:
        """Return the quota that `requested` more would exceed: the key's, a family's, the organization's; else None."""
        if exceeded := _exceeded("key", quota, self.usage.for_key(key, month), unit, requested):
            return exceeded
        for family in families:
            used = sum((self.usage.for_key(member, month) for member in family.members), UsageCounts())
            limits = self.key_quota(principal_from_row(family.head))
            owner: QuotaOwner = "key" if family.head.id == key else "issuer"
            if exceeded := _exceeded(owner, limits, used, unit, requested):
                return exceeded
        return _exceeded("organization", self.organization_quota, self.usage.total(month), unit, requested)

    def count(self, principal: Principal, clock: Clock, counts: UsageCounts) -> None:
        if counts != UsageCounts():
            self.usage.count(principal.id, clock.now(), counts)


def _exceeded(
    owner: QuotaOwner, quota: MonthlyQuota, counts: UsageCounts, unit: QuotaUnit, requested: int
) -> ExceededQuota | None:
    limit: int | None = getattr(quota, unit)
    used: int = getattr(counts, unit)
    return None if limit is None or used + requested <= limit else ExceededQuota(owner, used, limit)


@dataclass(frozen=True, slots=True)
class ConnectorQuota:
    """Quota of connectors: their documents count for the key that created them.

    If that key is unknown or deleted, only the organization's quota applies. Implements
    `connectors.sync.sync_runner.DocumentQuota`.
    """

    quotas: MonthlyQuotas
    find_key: Callable[[str], KeyChanged | None]
    clock: Clock
    find_families: Callable[[str], Iterable[KeyFamily]] = lambda _: ()

    def check(self, api_key_id: str | None, requested: int) -> str | None:
        """Return why `requested` more documents are not allowed, for the run's report; None if they are."""
        month = month_of(self.clock.now())
        exceeded = self.quotas.exceeded(
            api_key_id or UNKNOWN_KEY_ID,
            self._quota_for_key(api_key_id),
            month,
            "documents",
            requested,
            families=() if api_key_id is None else self.find_families(api_key_id),
        )
        if exceeded is None:
            return None
        whose = {
            "key": "the key that created this connector",
            "issuer": "the keys of one issuer",
            "organization": "the organization",
        }[exceeded.owner]
        return (
            f"The {exceeded.limit:,} documents that {whose} may add in {month} (UTC) are used up."
            " The next run continues from here."
        )

    def record_documents(self, api_key_id: str | None, documents: int) -> None:
        if documents:
            self.quotas.usage.count(api_key_id or UNKNOWN_KEY_ID, self.clock.now(), UsageCounts(documents, 0))

    def _quota_for_key(self, key: str | None) -> MonthlyQuota:
        if key == OPERATOR_KEY_ID:
            return self.quotas.default_key_quota
        row = None if key is None else self.find_key(key)
        return MonthlyQuota() if row is None else self.quotas.key_quota(principal_from_row(row))
