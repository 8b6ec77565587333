"""Record of an item's failed attempts, kept across runs: how many there were, and when the next one is due."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pipeline.runtime.backoff import exponential_backoff
from pipeline.store.tables.connector_state_table import ConnectorStateRow
from schemas.base import format_timestamp

_FIRST_PAUSE: Final = timedelta(hours=1)
_LONGEST_PAUSE: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Failed attempts of one version of an item; without `due_at` only a new version is tried."""

    attempts: int = 0
    due_at: datetime | None = None

    @classmethod
    def parse(cls, row: ConnectorStateRow) -> "FailureRecord":
        """Parse the value of a failed item's row."""
        attempts, _, due_at = row.value.partition(" ")
        return cls(int(attempts), datetime.fromisoformat(due_at)) if due_at else cls()

    def __str__(self) -> str:
        return "" if self.due_at is None else f"{self.attempts} {format_timestamp(self.due_at)}"

    def is_due(self, now: datetime) -> bool:
        """Return whether the item is to be asked for again."""
        return self.due_at is not None and self.due_at <= now

    def failed_again(self, now: datetime) -> "FailureRecord":
        """Return the record after a further failure: due in the next run, later after 1, 2, 4 ... hours."""
        pause = (
            exponential_backoff(_FIRST_PAUSE.total_seconds(), self.attempts, _LONGEST_PAUSE.total_seconds())
            if self.attempts
            else 0.0
        )
        return FailureRecord(self.attempts + 1, now + timedelta(seconds=pause))
