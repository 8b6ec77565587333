"""When the documents of a namespace are dreamt about: pure, from times that their rows keep."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Schedule:
    """After so long without anything new, or so long after the first that waits, whatever comes."""

    quiet: timedelta
    longest: timedelta

    @classmethod
    def of(cls, quiet_seconds: float, longest_seconds: float) -> "Schedule":
        """From settings; nobody waits less than for a quiet moment."""
        quiet = timedelta(seconds=quiet_seconds)
        return cls(quiet, max(quiet, timedelta(seconds=longest_seconds)))

    def due(self, first: datetime, last: datetime) -> datetime:
        """When documents are due of which the first came then, and the last then."""
        return min(last + self.quiet, first + self.longest)
