"""Forgetting: what a memory looks like afterwards. One rule for the request and for the log."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.statements import Edit, composed, statements_of
from pipeline.rows import MemoryRow, Statement


@dataclass(frozen=True, slots=True)
class Forgetting:
    """When and why. `sources`: who stated the memory then, and as of which text; None: whoever had by `at`.

    What a document states anew after it had taken it back is another statement, and is not forgotten.
    """

    at: datetime
    reason: str = ""
    sources: Mapping[str, int] | None = None

    def covers(self, statement: Statement) -> bool:
        """Whether this statement is among what was forgotten."""
        if self.sources is None:
            return statement.since <= self.at
        return statement.since_seq <= self.sources.get(statement.document, -2)


def hidden(spaces: Collection[str], forgetting: Forgetting) -> Edit:
    """As an edit of a memory that must belong to one of these spaces.

    The version before it does not come back; its history stays.
    """

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        if row is None or row.space not in spaces:
            return row
        before = statements_of(row)
        after = [_forgotten(one, forgetting) for one in before]
        return row if after == list(before) else composed(row, after)

    return edit


def sources_of(row: MemoryRow) -> dict[str, int]:
    """Who states a memory now, for the event that forgets it."""
    return {one.document: one.seq for one in statements_of(row)}


def _forgotten(statement: Statement, forgetting: Forgetting) -> Statement:
    if statement.forgotten_at is not None or not forgetting.covers(statement):
        return statement
    return replace(statement, forgotten_at=forgetting.at, forget_reason=forgetting.reason)
