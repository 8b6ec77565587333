"""Observer of record delivery, for metrics and readiness."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from pipeline.stage import Record


class Observer(Protocol):
    """Callbacks about batches and records. Called on the event loop; must return at once."""

    def on_batch_start(self, stage: str, partition: int) -> None:
        """Handle the start of a batch."""

    def on_batch_end(self, stage: str, partition: int) -> None:
        """Handle the end of a batch, whether it succeeded or not."""

    def on_retry(self, stage: str, partition: int, error: Exception) -> None:
        """Handle a failed attempt that will be repeated."""

    def on_batch_handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None:
        """Handle the success of a batch; `seconds` is the stage's time."""

    def on_dead_letter(self, stage: str) -> None:
        """Handle a record that went to the dead letter queue."""

    def on_erased(self, stage: str) -> None:
        """Handle a record that was passed over because its key was destroyed."""


class NullObserver:
    """Observer that ignores every call."""

    def on_batch_start(self, stage: str, partition: int) -> None: ...

    def on_batch_end(self, stage: str, partition: int) -> None: ...

    def on_retry(self, stage: str, partition: int, error: Exception) -> None: ...

    def on_batch_handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None: ...

    def on_dead_letter(self, stage: str) -> None: ...

    def on_erased(self, stage: str) -> None: ...
