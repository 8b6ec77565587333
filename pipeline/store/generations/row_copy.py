"""Copying rows from one generation's table to another's in batches, within bounded memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from pipeline.store.lancedb.row_codec import in_incarnations
from pipeline.store.lancedb.sharded_table import ShardedTable

Row = TypeVar("Row")
RowTransform = Callable[[list[Row]], Awaitable[list[Row]]]
KEYS_PER_BATCH = 1024


async def copy_rows(
    source: ShardedTable[Row], target: ShardedTable[Row], incarnations: Sequence[str], transform: RowTransform[Row]
) -> AsyncIterator[int]:
    """Copy the rows of these incarnations; yields the number of keys of each batch.

    `transform` makes the new rows of a batch. Keys deleted meanwhile are left out.
    """
    key_column = source.codec.entity_key_column
    snapshot, stored = await source.scan(incarnations, in_incarnations(incarnations), [key_column])
    fresh = (source.codec.entity_key_of(row) for row in source.unflushed_rows(snapshot, incarnations))
    keys = sorted({*stored.column(key_column).to_pylist(), *fresh})
    for begin in range(0, len(keys), KEYS_PER_BATCH):
        found = await source.get(keys[begin : begin + KEYS_PER_BATCH])
        rows = await transform([row for members in found.values() for row in members])
        rows_by_key = target.codec.group_by_entity_key(rows)
        await target.update(list(rows_by_key), _replace_by(rows_by_key))
        yield len(found)


def _replace_by(rows_by_key: dict[str, list[Row]]) -> Callable[[str, list[Row]], Sequence[Row]]:
    return lambda key, _: rows_by_key[key]
