"""Pages of a table: stored and unflushed rows in one stable order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ports import Row
from pipeline.store.lancedb.row_codec import in_condition, in_incarnations
from pipeline.store.lancedb.sharded_table import SHARD_COLUMN, ShardedTable
from pipeline.store.lancedb.table_access import ROW_ID_COLUMN


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows of one page, and the total on all pages."""

    rows: list[Row]
    total: int


@dataclass(frozen=True, slots=True)
class PageQuery(Generic[Row]):
    """Query of a list: `where` in SQL, then `filter_table`; `row_matches` tests both on an unflushed row."""

    incarnations: Sequence[str]
    where: str
    row_matches: Callable[[Row], bool]
    filter_table: Callable[[pa.Table], pa.Table] = lambda table: table
    filter_columns: Sequence[str] = ()
    columns: Sequence[str] | None = None
    """Columns to read of the rows on the page; None for all."""

    @property
    def scoped_where(self) -> str:
        """The condition, limited to the incarnations."""
        return in_incarnations(self.incarnations, self.where)


async def read_page(
    table: ShardedTable[Row], query: PageQuery[Row], *, sort: str, descending: bool, offset: int, limit: int
) -> Page[Row]:
    """Read rows `offset` to `offset + limit` by `sort`; ties by id, so that pages never overlap."""
    codec = table.codec
    sort_columns = list(dict.fromkeys([codec.id_column, codec.entity_key_column, sort]))
    snapshot, stored = await table.scan_row_ids(
        query.incarnations, query.scoped_where, [*sort_columns, *query.filter_columns]
    )
    fresh = {
        codec.id_of(row): row for row in table.unflushed_rows(snapshot, query.incarnations) if query.row_matches(row)
    }
    candidates = query.filter_table(stored).select([*sort_columns, ROW_ID_COLUMN, SHARD_COLUMN])
    if fresh:
        unflushed = codec.encode(list(fresh.values()), sort_columns)
        candidates = pa.concat_tables([candidates, unflushed], promote_options="default")
    page_rows = _select_page(candidates, codec.id_column, sort, descending=descending, offset=offset, limit=limit)
    page_ids: list[str] = page_rows.column(codec.id_column).to_pylist()
    rows = fresh | await _read_rows(table, query, page_rows.filter(page_rows.column(ROW_ID_COLUMN).is_valid()))
    return Page([rows[row_id] for row_id in page_ids if row_id in rows], candidates.num_rows)


def _select_page(candidates: pa.Table, id_: str, sort: str, *, descending: bool, offset: int, limit: int) -> pa.Table:
    if offset >= candidates.num_rows or limit <= 0:
        return candidates.slice(0, 0)
    keys = [(sort, "descending" if descending else "ascending"), (id_, "ascending")]
    end = min(offset + limit, candidates.num_rows)
    first = pc.select_k_unstable(candidates, k=end, sort_keys=keys)
    return candidates.take(first.slice(offset))


async def _read_rows(table: ShardedTable[Row], query: PageQuery[Row], page_rows: pa.Table) -> dict[str, Row]:
    """Read the rows of a page; those in memory need no second read."""
    codec = table.codec
    ids: list[str] = page_rows.column(codec.id_column).to_pylist()
    cached = table.cached_rows(ids) if codec.has_single_rows else {}
    cached_rows = [row for rows in cached.values() for row in rows]
    if cached_rows and query.columns is not None:
        cached_rows = codec.decode(codec.encode(cached_rows, query.columns))
    rows = {codec.id_of(row): row for row in cached_rows}
    missing_ids = [row_id for row_id in ids if row_id not in cached]
    if not missing_ids:
        return rows
    missing_rows = page_rows.filter(pc.is_in(page_rows.column(codec.id_column), pa.array(missing_ids, pa.string())))
    return rows | await _read_stored_rows(table, query, missing_rows, missing_ids)


async def _read_stored_rows(
    table: ShardedTable[Row], query: PageQuery[Row], page_rows: pa.Table, ids: list[str]
) -> dict[str, Row]:
    snapshot, stored = await table.take_rows(page_rows, query.columns)
    if stored.num_rows < len(ids):  # rows changed or moved since the first read
        where = in_incarnations(query.incarnations, in_condition(table.codec.id_column, ids))
        snapshot, stored = await table.scan(query.incarnations, where, query.columns)
    # Rows changed since the first read are shown in their current state, unless deleted.
    changed_rows = {table.codec.id_of(row): row for row in table.unflushed_rows(snapshot, query.incarnations)}
    rows = {table.codec.id_of(row): row for row in table.codec.decode(stored)}
    return rows | {row_id: changed_rows[row_id] for row_id in ids if row_id in changed_rows}
