"""Being told what becomes of records."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from pipeline.stage import Record


class Observer(Protocol):
    """Is told what becomes of records, for metrics and readiness. Called on the loop; must return at once."""

    def began(self, stage: str, partition: int) -> None:
        """A batch was handed to a stage."""
        ...

    def ended(self, stage: str, partition: int) -> None:
        """It is done with, or was given up."""
        ...

    def waits(self, stage: str, partition: int, error: Exception) -> None:
        """It failed and will be tried again."""
        ...

    def handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None:
        """These were handled together in so many seconds."""
        ...

    def parked(self, stage: str) -> None:
        """A record became a dead letter."""
        ...


class Unobserved:
    """An `Observer` for whoever needs none."""

    def began(self, stage: str, partition: int) -> None:
        """Nothing."""

    def ended(self, stage: str, partition: int) -> None:
        """Nothing."""

    def waits(self, stage: str, partition: int, error: Exception) -> None:
        """Nothing."""

    def handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None:
        """Nothing."""

    def parked(self, stage: str) -> None:
        """Nothing."""
