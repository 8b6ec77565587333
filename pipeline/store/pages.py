"""A page of a list: what LanceDB holds and what it does not hold yet, in one order that never wavers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.store.codec import among
from pipeline.store.table import Table

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """The rows of one page, and how many there are on all pages."""

    rows: list[Row]
    total: int


@dataclass(frozen=True, slots=True)
class Question(Generic[Row]):
    """What a list asks. The base is asked `where`, then thinned by `narrow`; `keep` says both of one row."""

    spaces: Sequence[str]
    where: str
    keep: Callable[[Row], bool]
    narrow: Callable[[pa.Table], pa.Table] = lambda table: table
    needs: Sequence[str] = ()
    columns: Sequence[str] | None = None
    """The columns to read of the rows that are shown; None: all."""

    @property
    def full_where(self) -> str:
        """The condition with its spaces."""
        return f"{among('space', self.spaces)} AND {self.where}"


async def page(
    table: Table[Row], question: Question[Row], *, sort: str, descending: bool, offset: int, limit: int
) -> Page[Row]:
    """Rows `offset` to `offset + limit` by `sort`; ties by id, so that pages never overlap."""
    codec = table.codec
    light = list(dict.fromkeys([codec.id, codec.group, sort]))
    overlay, base = await table.scan(question.spaces, question.full_where, [*light, *question.needs])
    fresh = {codec.id_of(row): row for row in table.unflushed(overlay, question.spaces) if question.keep(row)}
    candidates = question.narrow(base).select(light)
    if fresh:
        candidates = pa.concat_tables([candidates, codec.encode(list(fresh.values())).select(light)])
    chosen = _slice(candidates, codec.id, sort, descending=descending, offset=offset, limit=limit)
    rows = fresh | await _rows(table, question, [one for one in chosen if one not in fresh])
    return Page([rows[one] for one in chosen if one in rows], candidates.num_rows)


def _slice(
    candidates: pa.Table, id_: str, sort: str, *, descending: bool, offset: int, limit: int
) -> list[str]:
    if offset >= candidates.num_rows or limit <= 0:
        return []
    keys = [(sort, "descending" if descending else "ascending"), (id_, "ascending")]
    end = min(offset + limit, candidates.num_rows)
    first = pc.select_k_unstable(candidates, k=end, sort_keys=keys)
    chosen: list[str] = candidates.column(id_).take(first.slice(offset)).to_pylist()
    return chosen


async def _rows(table: Table[Row], question: Question[Row], ids: Collection[str]) -> dict[str, Row]:
    if not ids:
        return {}
    where = f"{among('space', question.spaces)} AND {among(table.codec.id, ids)}"
    overlay, base = await table.scan(question.spaces, where, question.columns)
    # Changed since the first read: shown as it is now, unless it is gone.
    moved = {table.codec.id_of(row): row for row in table.unflushed(overlay, question.spaces)}
    rows = {table.codec.id_of(row): row for row in table.codec.decode(base)}
    return rows | {one: moved[one] for one in ids if one in moved}
