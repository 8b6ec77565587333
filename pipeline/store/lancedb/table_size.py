"""Size of a table."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows and files of a table; `bytes`, `files` and `versions` are None at an object store."""

    rows: int
    bytes: int | None = None
    files: int | None = None
    versions: int | None = None


def sum_sizes(parts: Iterable[TableSize]) -> TableSize:
    """Add up the sizes of several shards."""
    sizes = list(parts)
    return TableSize(
        rows=sum(size.rows for size in sizes),
        bytes=_sum_known(size.bytes for size in sizes),
        files=_sum_known(size.files for size in sizes),
        versions=_sum_known(size.versions for size in sizes),
    )


def _sum_known(values: Iterable[int | None]) -> int | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values) if known_values else None
