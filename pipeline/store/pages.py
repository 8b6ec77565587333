"""A page of a list: what LanceDB holds and what it does not hold yet, in one order that never wavers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.store.codec import among
from pipeline.store.readable import SHARD, Readable
from pipeline.store.tables import PLACE

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
    table: Readable[Row], question: Question[Row], *, sort: str, descending: bool, offset: int, limit: int
) -> Page[Row]:
    """Rows `offset` to `offset + limit` by `sort`; ties by id, so that pages never overlap."""
    codec = table.codec
    light = list(dict.fromkeys([codec.id, codec.group, sort]))
    overlay, base = await table.places(question.spaces, question.full_where, [*light, *question.needs])
    fresh = {codec.id_of(row): row for row in table.unflushed(overlay, question.spaces) if question.keep(row)}
    candidates = question.narrow(base).select([*light, PLACE, SHARD])
    if fresh:
        waiting = codec.encode(list(fresh.values())).select(light)
        candidates = pa.concat_tables([candidates, waiting], promote_options="default")
    shown = _slice(candidates, codec.id, sort, descending=descending, offset=offset, limit=limit)
    chosen: list[str] = shown.column(codec.id).to_pylist()
    rows = fresh | await _rows(table, question, shown.filter(shown.column(PLACE).is_valid()))
    return Page([rows[one] for one in chosen if one in rows], candidates.num_rows)


def _slice(
    candidates: pa.Table, id_: str, sort: str, *, descending: bool, offset: int, limit: int
) -> pa.Table:
    if offset >= candidates.num_rows or limit <= 0:
        return candidates.slice(0, 0)
    keys = [(sort, "descending" if descending else "ascending"), (id_, "ascending")]
    end = min(offset + limit, candidates.num_rows)
    first = pc.select_k_unstable(candidates, k=end, sort_keys=keys)
    return candidates.take(first.slice(offset))


async def _rows(table: Readable[Row], question: Question[Row], shown: pa.Table) -> dict[str, Row]:
    """Those that are held in memory need no second read."""
    codec = table.codec
    ids: list[str] = shown.column(codec.id).to_pylist()
    held = table.held(ids) if codec.single else {}
    here = [row for rows in held.values() for row in rows]
    if here and question.columns is not None:
        here = codec.decode(codec.encode(here).select(list(question.columns)))
    rows = {codec.id_of(row): row for row in here}
    left = [one for one in ids if one not in held]
    if not left:
        return rows
    rest = shown.filter(pc.is_in(shown.column(codec.id), pa.array(left, pa.string())))
    return rows | await _taken(table, question, rest, left)


async def _taken(
    table: Readable[Row], question: Question[Row], shown: pa.Table, ids: list[str]
) -> dict[str, Row]:
    overlay, base = await table.take(shown, question.columns)
    if base.num_rows < len(ids):  # some were changed, or merged elsewhere, since the first read
        where = f"{among('space', question.spaces)} AND {among(table.codec.id, ids)}"
        overlay, base = await table.scan(question.spaces, where, question.columns)
    # Changed since the first read: shown as it is now, unless it is gone.
    moved = {table.codec.id_of(row): row for row in table.unflushed(overlay, question.spaces)}
    rows = {table.codec.id_of(row): row for row in table.codec.decode(base)}
    return rows | {one: moved[one] for one in ids if one in moved}
