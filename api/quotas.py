"""What a key and the organization may use in a month (UTC). A used up quota is 402."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from api.keys import ADMIN_ID, Principal, principal_of
from api.problems import UsedUpError
from pipeline.ports import Clock
from pipeline.rows import KeyRow
from pipeline.usage import Counts, Usage, month_of

Unit = Literal["documents", "searches"]
NOBODY = "unknown"
"""Whose documents are those of connectors that are older than the note of who made them."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Of each at most so many in a month; None: any number."""

    documents: int | None = None
    searches: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """A quota, of a key or of the organization, that does not allow what is asked for."""

    of_key: bool
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Quotas:
    """`key`: of one that has none of its own."""

    usage: Usage = field(default_factory=Usage)
    organization: Quota = field(default_factory=Quota)
    key: Quota = field(default_factory=Quota)

    def of(self, principal: Principal) -> Quota:
        """The quota of a key."""
        return Quota(
            self.key.documents if principal.monthly_documents is None else principal.monthly_documents,
            self.key.searches if principal.monthly_searches is None else principal.monthly_searches,
        )

    def require(self, principal: Principal, clock: Clock, unit: Unit, wanted: int = 1) -> None:
        """UsedUpError unless there is so much left. What is under way at the same time is not counted yet."""
        month = month_of(clock.now())
        spent = self.spent(principal.id, self.of(principal), month, unit, wanted)
        if spent is not None:
            whose = "This key's" if spent.of_key else "The organization's"
            raise UsedUpError(
                f"{whose} {unit} of this month are used up",
                f"{spent.used:,} of {spent.limit:,} were used in {month} (UTC),"
                f" {wanted:,} more are asked for.",
            )

    def spent(self, key: str, quota: Quota, month: str, unit: Unit, wanted: int) -> Spent | None:
        """The quota that does not allow so much more, the key's first; None: both do."""
        for of_key, limits in ((True, quota), (False, self.organization)):
            limit: int | None = getattr(limits, unit)
            if limit is None:
                continue
            counts = self.usage.of_key(key, month) if of_key else self.usage.of_all(month)
            used: int = getattr(counts, unit)
            if used + wanted > limit:
                return Spent(of_key, used, limit)
        return None

    def count(self, principal: Principal, clock: Clock, *, documents: int = 0, searches: int = 0) -> None:
        """Add to what a key used."""
        if documents or searches:
            self.usage.count(principal.id, clock.now(), Counts(documents, searches))


@dataclass(frozen=True, slots=True)
class OfConnectors:
    """`connectors.allowance.Allowance`: a connector's documents are those of the key that made it.

    One of an unknown key, or of a key that is gone, is held to the organization's quota alone.
    """

    quotas: Quotas
    key: Callable[[str], KeyRow | None]
    clock: Clock

    def refusal(self, key: str | None, wanted: int) -> str | None:
        """For whoever looks at the run."""
        month = month_of(self.clock.now())
        spent = self.quotas.spent(key or NOBODY, self._quota(key), month, "documents", wanted)
        if spent is None:
            return None
        whose = "the key that made this connector" if spent.of_key else "the organization"
        return (
            f"The {spent.limit:,} documents that {whose} may have in {month} (UTC) are used up."
            " The next run goes on from here."
        )

    def count(self, key: str | None, documents: int) -> None:
        """Add to what the key used."""
        if documents:
            self.quotas.usage.count(key or NOBODY, self.clock.now(), Counts(documents, 0))

    def _quota(self, key: str | None) -> Quota:
        if key == ADMIN_ID:
            return self.quotas.key
        row = None if key is None else self.key(key)
        return Quota() if row is None else self.quotas.of(principal_of(row))
