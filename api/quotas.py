"""What a key and the organization may use in a month (UTC). A used up quota is 402."""

from dataclasses import dataclass, field
from typing import Literal

from api.keys import Principal
from api.problems import UsedUpError
from pipeline.ports import Clock
from pipeline.usage import Counts, Usage, month_of

Unit = Literal["documents", "searches"]


@dataclass(frozen=True, slots=True)
class Quota:
    """Of each at most so many in a month; None: any number."""

    documents: int | None = None
    searches: int | None = None


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
        own: int | None = getattr(self.of(principal), unit)
        whole: int | None = getattr(self.organization, unit)
        if own is None and whole is None:
            return
        month = month_of(clock.now())
        for whose, used, limit in (
            ("This key's", self.usage.of_key(principal.id, month), own),
            ("The organization's", self.usage.of_all(month), whole),
        ):
            spent: int = getattr(used, unit)
            if limit is not None and spent + wanted > limit:
                raise UsedUpError(
                    f"{whose} {unit} of this month are used up",
                    f"{spent:,} of {limit:,} were used in {month} (UTC), {wanted:,} more are asked for.",
                )

    def count(self, principal: Principal, clock: Clock, *, documents: int = 0, searches: int = 0) -> None:
        """Add to what a key used."""
        if documents or searches:
            self.usage.count(principal.id, clock.now(), Counts(documents, searches))
