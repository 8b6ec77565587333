"""How large a table is."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Rows in LanceDB, and its files; None where they are at an object store."""

    rows: int
    bytes: int | None = None
    files: int | None = None
    versions: int | None = None


def together(parts: Iterable[Size]) -> Size:
    """Several shards as one table."""
    members = list(parts)
    return Size(
        rows=sum(part.rows for part in members),
        bytes=_sum(part.bytes for part in members),
        files=_sum(part.files for part in members),
        versions=_sum(part.versions for part in members),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
