"""Forgetting: what a memory looks like afterwards. One rule for the request and for the log."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.keeper import Edit
from pipeline.rows import MemoryRow


@dataclass(frozen=True, slots=True)
class Forgetting:
    """When and why."""

    at: datetime
    reason: str = ""


def forgotten(row: MemoryRow, forgetting: Forgetting) -> MemoryRow:
    """The memory hidden from recall. The version before it does not come back; its history stays."""
    if row.forgotten_at is not None:
        return row
    return replace(row, forgotten_at=forgetting.at, forget_reason=forgetting.reason, is_latest=False)


def hidden(spaces: Collection[str], forgetting: Forgetting) -> Edit:
    """As an edit of a memory that must belong to one of these spaces."""

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        return row if row is None or row.space not in spaces else forgotten(row, forgetting)

    return edit
