"""Debounce policy of deferred extraction. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class DebouncePolicy:
    """Extract after a quiet period without new documents, or at the latest `max_wait` after the first one."""

    quiet_period: timedelta
    max_wait: timedelta

    @classmethod
    def from_seconds(cls, quiet_seconds: float, max_wait_seconds: float) -> "DebouncePolicy":
        """Build a policy from settings; the maximum wait is at least the quiet period."""
        quiet_period = timedelta(seconds=quiet_seconds)
        return cls(quiet_period, max(quiet_period, timedelta(seconds=max_wait_seconds)))

    def due_at(self, first_submitted_at: datetime, last_submitted_at: datetime) -> datetime:
        """Return when documents are due whose first and last were submitted at these times."""
        return min(last_submitted_at + self.quiet_period, first_submitted_at + self.max_wait)
